# SPDX-FileCopyrightText: 2026 The OpenCuTe authors
# SPDX-License-Identifier: Apache-2.0
"""A host function returns what Python can hold."""

import cutlass
import cutlass.cute as cute


@cute.jit
def host(n: cutlass.Int32):
    return cute.full((4,), n)


host(3)
