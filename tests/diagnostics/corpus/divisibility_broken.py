# SPDX-FileCopyrightText: 2026 The OpenCuTe authors
# SPDX-License-Identifier: Apache-2.0
"""A promise of divisibility holds for the example."""

import numpy as np

from cutlass.cute.runtime import from_dlpack

from_dlpack(np.zeros((4, 6), np.float32)).mark_compact_shape_dynamic(mode=1, divisibility=4)
