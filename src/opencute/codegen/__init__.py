# SPDX-FileCopyrightText: 2026 The OpenCuTe authors
# SPDX-License-Identifier: Apache-2.0
"""Rank 4: from llvm-level IR to machine code.

In the order in which data flows: `llvm_types`, `emitter` and the `ops_*` tables print LLVM IR
text, `device` drives kernels to PTX and cubin, `ptxas` assembles and reads its report, `sass`
disassembles, and `host` prints the host function that launches the kernels.
"""
