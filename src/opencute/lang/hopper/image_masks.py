# SPDX-FileCopyrightText: 2026 The OpenCuTe authors
# SPDX-License-Identifier: Apache-2.0
"""Blocks of a cluster as masks of their ranks.

make_layout_image_mask(make_layout((2, 2, 1)), (1, 0, 0), mode=1)      # 0b1010
"""

from __future__ import annotations

from typing import Any

from opencute.lang.hopper.tma_atoms import create_tma_multicast_mask

__all__ = ["make_layout_image_mask"]


def make_layout_image_mask(
    lay: Any, coord: Any, mode: int, *, loc: Any = None, ip: Any = None
) -> Any:
    """The offsets of a layout along one of its modes, as the bits of an Int16.

    Args:
        lay: a layout with offsets below 16, such as that of a cluster.
        coord: the coordinate in the other modes.
        mode: the mode.
    """
    return create_tma_multicast_mask(lay, coord, mode)
