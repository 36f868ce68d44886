# SPDX-FileCopyrightText: 2026 The OpenCuTe authors
# SPDX-License-Identifier: Apache-2.0
"""Compile options take certain values."""

import cutlass
import cutlass.cute as cute


@cute.jit
def host(n: cutlass.Int32):
    cute.printf("%d", n)


cute.compile(host, 3, options="--opt-level 9")
