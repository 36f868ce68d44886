# SPDX-FileCopyrightText: 2026 The OpenCuTe authors
# SPDX-License-Identifier: Apache-2.0
"""There are no complex numbers in the language."""

import numpy as np

from cutlass.cute.runtime import from_dlpack

from_dlpack(np.zeros(8, np.complex64))
