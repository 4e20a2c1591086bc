# SPDX-License-Identifier: Apache-2.0
"""Golden models and what drives blocks by them."""
