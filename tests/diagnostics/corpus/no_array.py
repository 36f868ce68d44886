# SPDX-FileCopyrightText: 2026 The OpenCuTe authors
# SPDX-License-Identifier: Apache-2.0
"""from_dlpack takes an array."""

from cutlass.cute.runtime import from_dlpack

from_dlpack([1.0, 2.0])
