# SPDX-FileCopyrightText: 2026 The OpenCuTe authors
# SPDX-License-Identifier: Apache-2.0
"""The frontend reads the source of a function."""

import numpy as np

import cutlass.cute as cute
from cutlass.cute.runtime import from_dlpack

names = {"cute": cute}
exec("def host(t):\n    t[0] = 1\n", names)
cute.jit(names["host"])(from_dlpack(np.zeros(8, np.float32)))
