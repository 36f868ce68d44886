# SPDX-FileCopyrightText: 2026 The OpenCuTe authors
# SPDX-License-Identifier: Apache-2.0
"""A function that calls itself with run-time arguments never ends while it is traced."""

import cutlass
import cutlass.cute as cute


@cute.jit
def power(x: cutlass.Int32, n: cutlass.Int32):
    if n > 0:
        power(x * x, n - 1)


@cute.jit
def host(x: cutlass.Int32):
    power(x, x)


host(3)
