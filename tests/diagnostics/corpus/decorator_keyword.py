# SPDX-FileCopyrightText: 2026 The OpenCuTe authors
# SPDX-License-Identifier: Apache-2.0
"""Decorators take few options."""

import cutlass.cute as cute


@cute.jit(preproces=False)
def host():
    pass
