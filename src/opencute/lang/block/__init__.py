# SPDX-FileCopyrightText: 2026 The OpenCuTe authors
# SPDX-License-Identifier: Apache-2.0
"""What one block of threads needs: barriers, warp exchanges, atomics, shared memory and structs.

The public names are those of `cutlass.cute.arch`; `cute.struct` and `cute.union` are here too.
"""
