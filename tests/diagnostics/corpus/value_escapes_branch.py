# SPDX-FileCopyrightText: 2026 The OpenCuTe authors
# SPDX-License-Identifier: Apache-2.0
"""A value of a branch that an object outside keeps cannot be used outside."""

import threading

import cutlass
import cutlass.cute as cute

kept = threading.local()


def put(n):
    kept.value = n + 1


@cute.jit
def host(n: cutlass.Int32):
    if n > 1:
        put(n)
    cute.printf("%d", kept.value)


host(3)
