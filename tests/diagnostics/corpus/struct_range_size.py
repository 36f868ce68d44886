# SPDX-FileCopyrightText: 2026 The OpenCuTe authors
# SPDX-License-Identifier: Apache-2.0
"""The length of a range is a compile-time number."""

import cutlass
import cutlass.cute as cute


@cute.struct
class Storage:
    values: cute.struct.MemRange[cutlass.Int32, -64]
