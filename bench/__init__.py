# SPDX-License-Identifier: Apache-2.0
"""The benchmarks, one module each: tools/bench.py runs them.

The root of the repository comes before tools/ on the path: this package and that program share a name.
"""
