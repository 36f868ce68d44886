# SPDX-FileCopyrightText: 2026 The OpenCuTe authors
# SPDX-License-Identifier: Apache-2.0
"""The leading mode is the one with stride 1."""

import numpy as np

from cutlass.cute.runtime import from_dlpack

x = np.lib.stride_tricks.as_strided(np.zeros(8, np.float32), (4, 4), (4, 4))
from_dlpack(x).mark_layout_dynamic()
