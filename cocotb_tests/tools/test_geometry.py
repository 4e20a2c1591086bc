# SPDX-License-Identifier: Apache-2.0
"""Geometries that no drive may have are refused in words."""

from dataclasses import replace

import pytest

from soc import geometry


@pytest.mark.parametrize("base", ["table_base", "frame_base"])
def test_memories_that_the_processor_would_cache_are_refused(base):
    with pytest.raises(geometry.GeometryError, match=r"must be 0x80000000 or more: the processor's data cache"):
        replace(geometry.preset("tiny"), **{base: 0x7FFF_F000})
