# SPDX-FileCopyrightText: 2026 The OpenCuTe authors
# SPDX-License-Identifier: Apache-2.0
"""The leading mode has stride 1."""

import numpy as np

from cutlass.cute.runtime import from_dlpack

from_dlpack(np.zeros((4, 8), np.float32)).mark_layout_dynamic(leading_dim=0)
