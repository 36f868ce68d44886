# SPDX-FileCopyrightText: 2026 The OpenCuTe authors
# SPDX-License-Identifier: Apache-2.0
"""DLPack has no negative strides."""

import numpy as np

from cutlass.cute.runtime import from_dlpack

from_dlpack(np.zeros(8, np.float32)[::-1])
