# SPDX-FileCopyrightText: 2026 The OpenCuTe authors
# SPDX-License-Identifier: Apache-2.0
"""A value of a branch that Python code keeps cannot be used outside."""

import cutlass
import cutlass.cute as cute


class Box:
    __slots__ = ("value",)


@cute.jit
def host(n: cutlass.Int32):
    box = Box()
    box.value = 0
    if n > 1:
        box.value = n + 1
    cute.printf("%d", box.value)


host(3)
