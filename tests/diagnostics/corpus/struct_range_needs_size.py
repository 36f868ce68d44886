# SPDX-FileCopyrightText: 2026 The OpenCuTe authors
# SPDX-License-Identifier: Apache-2.0
"""A range has a type and a length."""

import cutlass
import cutlass.cute as cute


@cute.struct
class Storage:
    values: cute.struct.MemRange[cutlass.Int32]
