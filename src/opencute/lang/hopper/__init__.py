# SPDX-FileCopyrightText: 2026 The OpenCuTe authors
# SPDX-License-Identifier: Apache-2.0
"""What came with sm_90.

fields         settings of an MMA that are read at run time
descriptors    tensors of shared-memory matrix descriptors
operations     warpgroup.MmaF16BF16Op and its kin
smem_layouts   layouts of shared memory that these read
wgmma          gemm by a warpgroup, fences, groups and waits
"""

from __future__ import annotations
