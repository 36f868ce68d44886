# SPDX-FileCopyrightText: 2026 The OpenCuTe authors
# SPDX-License-Identifier: Apache-2.0
"""assumed_align is checked."""

import numpy as np

from cutlass.cute.runtime import from_dlpack

x = np.zeros(65, np.float32)[1:]
from_dlpack(x, assumed_align=16)
