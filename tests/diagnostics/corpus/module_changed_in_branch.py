# SPDX-FileCopyrightText: 2026 The OpenCuTe authors
# SPDX-License-Identifier: Apache-2.0
"""An attribute of a module cannot change under a run-time condition."""

import types

import cutlass
import cutlass.cute as cute

kept = types.ModuleType("kept")


def put(n):
    kept.value = n + 1


@cute.jit
def host(n: cutlass.Int32):
    if n > 1:
        put(n)
    cute.printf("%d", kept.value)


host(3)
