# SPDX-FileCopyrightText: 2026 The OpenCuTe authors
# SPDX-License-Identifier: Apache-2.0
"""Each item of compile_many is a function and a tuple of arguments."""

import cutlass.cute as cute


@cute.jit
def host(n: int):
    cute.printf("%d", n)


cute.compile_many([(host, 3)])
