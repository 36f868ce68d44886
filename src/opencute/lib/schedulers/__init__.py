# SPDX-FileCopyrightText: 2026 The OpenCuTe authors
# SPDX-License-Identifier: Apache-2.0
"""Which block works on which tile.

raster      the order of clusters of tiles: along M or N, in swizzled bands
work        a tile of work, and whether there is one
static      persistent blocks that take every n-th tile
grouped     persistent blocks over the tiles of many problems
"""

from __future__ import annotations

__all__: list[str] = []
