# SPDX-FileCopyrightText: 2026 The OpenCuTe authors
# SPDX-License-Identifier: Apache-2.0
"""A number fits in the type that the function declares."""

import cutlass
import cutlass.cute as cute


@cute.jit
def host(n: cutlass.Int8):
    cute.printf("%d", n)


host(300)
