# SPDX-License-Identifier: Apache-2.0
"""The SoC around the controller: geometry, LiteX designs, ports."""
