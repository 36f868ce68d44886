# SPDX-FileCopyrightText: 2026 The OpenCuTe authors
# SPDX-License-Identifier: Apache-2.0
"""Rank 3: everything that touches LLVM, through llvmlite, which is imported on first use only.

`target` sets LLVM up, `nvptx` turns LLVM IR text into PTX, `jit` turns it into host functions, and
`helpers` are the simulator's hot loops, compiled once::

    from opencute.native.nvptx import ptx_version_for, to_ptx
    ptx = to_ptx(ir_text, "sm_90a", ptx_version_for("sm_90a")).ptx
"""
