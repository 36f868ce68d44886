# SPDX-FileCopyrightText: 2026 The OpenCuTe authors
# SPDX-License-Identifier: Apache-2.0
"""What kernels for Hopper are built with.

smem_layouts   staged layouts of operands and of the epilogue's buffers
tensor_maps    tensor maps that kernels change
exchange       numbers that the warps of a cluster tell each other
operations     trivial tiled MMAs, the epilogue's tile and its stores to shared memory
"""

from __future__ import annotations

__all__: list[str] = []
