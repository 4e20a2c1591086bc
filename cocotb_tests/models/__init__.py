# SPDX-License-Identifier: Apache-2.0
"""Golden models: what blocks must do, from docs/ alone.

They know no simulator and nothing of bench/, which drives the blocks.
"""
