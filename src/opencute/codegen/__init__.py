# SPDX-FileCopyrightText: 2026 The OpenCuTe authors
# SPDX-License-Identifier: Apache-2.0
"""Rank 4: LLVM IR text, PTX, ptxas and its diagnostics, disassembly."""
