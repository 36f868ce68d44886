# SPDX-FileCopyrightText: 2026 The OpenCuTe authors
# SPDX-License-Identifier: Apache-2.0
"""An argument fits its annotation."""

import cutlass.cute as cute


@cute.jit
def host(x: cute.Tensor):
    cute.printf("%d", cute.size(x))


host(3)
