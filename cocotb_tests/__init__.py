# SPDX-License-Identifier: Apache-2.0
"""Tests of the hardware and of the whole drive."""
