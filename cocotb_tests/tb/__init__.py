# SPDX-License-Identifier: Apache-2.0
"""Tops that only tests have."""
