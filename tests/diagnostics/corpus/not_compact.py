# SPDX-FileCopyrightText: 2026 The OpenCuTe authors
# SPDX-License-Identifier: Apache-2.0
"""mark_compact_shape_dynamic needs a compact tensor."""

import numpy as np

from cutlass.cute.runtime import from_dlpack

x = np.zeros((4, 16), np.float32)[:, ::2]
from_dlpack(x).mark_compact_shape_dynamic(mode=0)
