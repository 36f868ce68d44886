# SPDX-FileCopyrightText: 2026 The OpenCuTe authors
# SPDX-License-Identifier: Apache-2.0
"""A run-time value exists only in the function that is being traced."""

import cutlass
import cutlass.cute as cute

kept = []


@cute.jit
def host(n: cutlass.Int32):
    kept.append(n)


host(3)
kept[0] + 1
