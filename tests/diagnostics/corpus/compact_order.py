# SPDX-FileCopyrightText: 2026 The OpenCuTe authors
# SPDX-License-Identifier: Apache-2.0
"""A stride order lists all modes."""

import numpy as np

from cutlass.cute.runtime import from_dlpack

from_dlpack(np.zeros((4, 8), np.float32)).mark_compact_shape_dynamic(mode=0, stride_order=(0, 0))
