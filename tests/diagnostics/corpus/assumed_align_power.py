# SPDX-FileCopyrightText: 2026 The OpenCuTe authors
# SPDX-License-Identifier: Apache-2.0
"""An alignment is a power of two."""

import numpy as np

from cutlass.cute.runtime import from_dlpack

from_dlpack(np.zeros(8, np.float32), assumed_align=24)
