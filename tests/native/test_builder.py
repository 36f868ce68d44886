# SPDX-FileCopyrightText: 2026 The OpenCuTe authors
# SPDX-License-Identifier: Apache-2.0
"""Functions written with the builder do what their C would."""

from __future__ import annotations

import ctypes

import pytest

from opencute.native.builder import Fn
from opencute.native.jit import compile_host

pytestmark = pytest.mark.t1


def test_loops_conditions_and_variables() -> None:
    f = Fn("sum_even", "i64", "ptr p", "i64 n")
    total = f.var("i64", 0)
    with f.each("%n") as i:
        x = f.load("i64", f.word("%p", i))
        with f.when(f.cmp("slt", x, 0)):
            f.ret("i64", -1)
        with f.when(f.cmp("eq", f.op("and", x, 1), 0)):
            f.set(total, f.add(f.get(total), x))
    f.ret("i64", f.get(total))
    with compile_host(f.text()) as module:
        call = ctypes.CFUNCTYPE(ctypes.c_int64, ctypes.c_void_p, ctypes.c_int64)(
            module.address("sum_even")
        )
        for values, want in (([1, 2, 4, 7], 6), ([], 0), ([2, -1], -1)):
            data = (ctypes.c_int64 * max(len(values), 1))(*values)
            assert call(ctypes.addressof(data), len(values)) == want
