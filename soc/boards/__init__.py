# SPDX-License-Identifier: Apache-2.0
"""Boards, one module each."""
