# SPDX-FileCopyrightText: 2026 The OpenCuTe authors
# SPDX-License-Identifier: Apache-2.0
"""A value of a branch that a class keeps cannot be used outside."""

import cutlass
import cutlass.cute as cute


class Box:
    value = 0


@cute.jit
def host(n: cutlass.Int32):
    if n > 1:
        Box.value = n + 1
    cute.printf("%d", Box.value)


host(3)
