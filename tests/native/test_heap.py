# SPDX-FileCopyrightText: 2026 The OpenCuTe authors
# SPDX-License-Identifier: Apache-2.0
"""Freed memory stays in the process."""

from __future__ import annotations

import resource
import sys

import numpy as np
import pytest

from opencute.native.heap import keep_freed_memory

pytestmark = pytest.mark.t1


@pytest.mark.skipif(sys.platform != "linux", reason="a setting of the GNU C library")
def test_large_arrays_cost_no_page_faults_twice():
    assert keep_freed_memory()
    a = np.zeros(1 << 20, np.float32)
    for _ in range(4):
        a + 1.0
    before = resource.getrusage(resource.RUSAGE_SELF).ru_minflt
    for _ in range(20):
        a + 1.0
    assert resource.getrusage(resource.RUSAGE_SELF).ru_minflt - before < 1024
