# SPDX-FileCopyrightText: 2026 The OpenCuTe authors
# SPDX-License-Identifier: Apache-2.0
"""Names of MLIR's Python bindings that kernels use, over OpenCuTe's own IR.

`values` turns what users have in their hands (numbers, pointers, vectors) into SSA values and back;
the other modules are the bindings of one dialect each.
"""
