# SPDX-FileCopyrightText: 2026 The OpenCuTe authors
# SPDX-License-Identifier: Apache-2.0
"""Compile options are text."""

import cutlass.cute as cute


@cute.jit
def host():
    pass


cute.compile(host, options=2)
