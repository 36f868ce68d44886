# SPDX-FileCopyrightText: 2026 The OpenCuTe authors
# SPDX-License-Identifier: Apache-2.0
"""Only functions can be compiled."""

import cutlass.cute as cute


@cute.jit
class Host:
    pass
