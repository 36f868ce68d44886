# SPDX-FileCopyrightText: 2026 The OpenCuTe authors
# SPDX-License-Identifier: Apache-2.0
"""An integer argument is not given a float."""

import cutlass
import cutlass.cute as cute


@cute.jit
def host(n: cutlass.Int32):
    cute.printf("%d", n)


host(2.5)
