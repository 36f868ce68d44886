# SPDX-FileCopyrightText: 2026 The OpenCuTe authors
# SPDX-License-Identifier: Apache-2.0
"""A tensor map is an atom and a tensor; a parameter takes one of them."""

import numpy as np

import cutlass.cute as cute
from cutlass.cute.nvgpu import cpasync
from cutlass.cute.runtime import from_dlpack


@cute.kernel
def kernel(t: cute.Tensor):
    t[0] = t[1]


@cute.jit
def host(x: cute.Tensor):
    tile = cute.make_layout((8, 32), stride=(32, 1))
    load = cpasync.CopyBulkTensorTileG2SOp()
    atom, coordinates = cpasync.make_tiled_tma_atom(load, x, tile, (8, 32))
    kernel(atom).launch(grid=1, block=32)


host(from_dlpack(np.zeros((8, 32), np.float32), assumed_align=16))
