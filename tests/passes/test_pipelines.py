# SPDX-FileCopyrightText: 2026 The OpenCuTe authors
# SPDX-License-Identifier: Apache-2.0
"""Each pass leaves the meaning of kernels alone: the simulator runs them before and after it."""

from __future__ import annotations

from typing import Any

import ml_dtypes
import numpy as np
import pytest

from codegen.samples import elementwise_add, matvec_fragments, relu_2d, unary_tile, while_loop
from opencute.dialects import arith, math
from opencute.ir.types import BF16, F16, F32, I8, I32
from opencute.passes.pipelines import DEVICE, HOST
from passes.simulated import check_pipeline, run

pytestmark = pytest.mark.t0

RNG = np.random.default_rng(7)
DTYPES = {F16: np.float16, BF16: ml_dtypes.bfloat16, F32: np.float32}


def noise(shape: Any, dtype: Any) -> Any:
    return RNG.standard_normal(shape).astype(dtype)


def test_pass_names_are_file_names() -> None:
    for pass_ in (*DEVICE, *HOST):
        assert pass_.__module__.startswith("opencute.passes.")
        assert pass_.__module__.rpartition(".")[2] == pass_.__name__
        assert pass_.__doc__


@pytest.mark.parametrize("element", list(DTYPES), ids=str)
def test_relu(element: Any) -> None:
    vec = 16 * 8 // element.width
    rows, columns = 3, 2 * vec
    x = noise((rows, columns + vec), DTYPES[element])
    stride = columns + vec
    args = [x, np.zeros_like(x), rows, 2, stride, stride]
    lowered = check_pipeline(relu_2d(element, vec), 1, 256, args)
    (_, out) = run(lowered, 1, 256, args)
    want = np.where(x[:, :columns] > 0, x[:, :columns], 0)
    assert (out[:, :columns] == want).all() and (out[:, columns:] == 0).all()


@pytest.mark.parametrize("shape", [(16, 128), (3, 12), (17, 129), (1, 1)])
@pytest.mark.parametrize("name", ["sm_90a", "sm_100a"])
def test_elementwise_add(shape: tuple[int, int], name: str) -> None:
    rows, columns = shape
    a, b = noise(shape, np.float32), noise(shape, np.float32)
    c = np.full_like(a, 7)
    tiles_n = -(-columns // 128)
    grid = -(-rows // 16) * tiles_n
    args = [a, b, c, rows, columns, columns, tiles_n]
    lowered = check_pipeline(elementwise_add(F32, 4), grid, 128, args, name)
    assert (run(lowered, grid, 128, args)[2] == a + b).all()


def test_elementwise_add_of_offset_rows() -> None:
    """Rows that start at no vector boundary take the path of single elements."""
    a = noise((16, 129), np.float16)
    args = [a, a, np.zeros_like(a), 16, 128, 129, 1]
    lowered = check_pipeline(elementwise_add(F16, 8, align=2), 1, 128, args)
    out = run(lowered, 1, 128, args)[2]
    assert (out[:, :128] == (a + a)[:, :128]).all() and (out[:, 128] == 0).all()


def test_fragments_in_loops() -> None:
    a, x = noise((32, 8), np.float32), noise(8, np.float32)
    check_pipeline(matvec_fragments(8), 1, 32, [a, x, np.zeros(32, np.float32)])


def test_while_loop() -> None:
    n = np.arange(1, 33, dtype=np.int32)
    lowered = check_pipeline(while_loop(), 1, 32, [n, np.zeros_like(n)])
    assert run(lowered, 1, 32, [n, np.zeros_like(n)])[1][2] == 7  # 3 10 5 16 8 4 2 1


def test_integer_division() -> None:
    x = np.array([-9, -8, -1, 0, 1, 7, 8, 9], np.int32)
    for divisor in (8, 3, -3):
        for name in ("floordivsi", "ceildivsi"):
            module = unary_tile(
                I32, 8,
                lambda v, n=name, d=divisor: arith.binary(n, v, arith.constant(d, v.type)),
            )  # fmt: skip
            lowered = check_pipeline(module, 1, 1, [x, np.zeros_like(x)])
            out = run(lowered, 1, 1, [x, np.zeros_like(x)])[1]
            want = x // divisor if name == "floordivsi" else -(-x // divisor)
            assert (out == want).all()


def test_narrow_integers() -> None:
    x = np.arange(-8, 8, dtype=np.int8)
    module = unary_tile(I8, 16, lambda v: arith.binary("muli", v, v))
    check_pipeline(module, 1, 1, [x, np.zeros_like(x)])


@pytest.mark.parametrize("element", [F16, BF16], ids=str)
def test_functions_of_narrow_floats(element: Any) -> None:
    x = noise(8, DTYPES[element])
    module = unary_tile(element, 8, lambda v: math.unary("exp", v))
    before = run(module, 1, 1, [x, np.zeros_like(x)])[1].astype(np.float32)
    check = module.clone({})
    lowered = check_exp(check)
    after = run(lowered, 1, 1, [x, np.zeros_like(x)])[1].astype(np.float32)
    assert np.allclose(before, after, rtol=2.0**-7)


def check_exp(module: Any) -> Any:
    from opencute.arch.target import target
    from opencute.passes.pipelines import run_device_passes

    run_device_passes(module, target("sm_90a"))
    return module
