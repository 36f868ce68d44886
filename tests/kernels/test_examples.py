# SPDX-FileCopyrightText: 2026 The OpenCuTe authors
# SPDX-License-Identifier: Apache-2.0
"""The shipped examples in the simulator: every shape, type and layout, against NumPy."""

from __future__ import annotations

import importlib
import sys
from pathlib import Path
from typing import Any

import ml_dtypes
import numpy as np
import pytest

from opencute.base.knobs import KNOBS
from opencute.cute.runtime import from_dlpack

pytestmark = pytest.mark.t1

EXAMPLES = Path(__file__).parents[2] / "examples"
DTYPES = {"f32": np.float32, "f16": np.float16, "bf16": ml_dtypes.bfloat16}
SHAPES = {
    "relu_2d": [(64, 128), (7, 48), (1, 8)],
    "add_2d": [(64, 128), (3, 56), (1, 8)],
    "scale_inplace": [(16, 64), (5, 24)],
    "axpy_ragged": [(4096,), (1,), (1003,)],
    "gelu_3d": [(2, 3, 64), (1, 5, 16)],
    "add_tiled_copy": [(37, 300), (3, 12), (1, 1), (64, 256)],
}


@pytest.fixture(autouse=True)
def simulator() -> Any:
    with KNOBS.override(target="sim"):
        yield


@pytest.fixture
def example(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> Any:
    monkeypatch.syspath_prepend(str(EXAMPLES))
    name = request.node.callspec.params["name"]
    sys.modules.pop(name, None)
    yield importlib.import_module(name)
    sys.modules.pop(name, None)


def inputs_of(name: str, shape: tuple[int, ...], dtype: Any) -> list[Any]:
    rng = np.random.default_rng(len(name) + sum(shape))
    make = lambda: rng.standard_normal(shape).astype(dtype)  # noqa: E731
    if name == "scale_inplace":
        return [make(), 0.5]
    if name == "axpy_ragged":
        return [1.5, make(), make()]
    if name.startswith("add"):
        return [make(), make()]
    return [make()]


def copies(inputs: list[Any]) -> list[Any]:
    return [x.copy() if isinstance(x, np.ndarray) else x for x in inputs]


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize(
    ("name", "shape"), [(n, s) for n, shapes in SHAPES.items() for s in shapes], ids=str
)
def test_example_agrees_with_numpy(
    example: Any, name: str, shape: tuple[int, ...], dtype: str
) -> None:
    mine = inputs_of(name, shape, DTYPES[dtype])
    theirs = copies(mine)
    got, want = example.kernel_fn(*mine), example.reference_fn(*theirs)
    if got is None:
        got, want = mine[0], theirs[0]
    assert got.dtype == want.dtype and got.shape == want.shape
    if name in ("gelu_3d", "axpy_ragged"):
        # gelu is computed in f32; alpha * x + y is one fma, where NumPy rounds twice.
        tolerance = {"f32": 2e-6, "f16": 2e-3, "bf16": 2e-2}[dtype]
        np.testing.assert_allclose(
            got.astype(np.float64), want.astype(np.float64), rtol=tolerance, atol=tolerance
        )
    else:
        np.testing.assert_array_equal(got.view(np.uint8), want.view(np.uint8))


@pytest.mark.parametrize("marked", [True, False], ids=["dynamic", "static"])
@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("name", ["add_2d", "add_tiled_copy"])
def test_static_and_dynamic_layouts_agree(
    example: Any, name: str, dtype: str, marked: bool
) -> None:
    a, b = inputs_of(name, (24, 64), DTYPES[dtype])
    out = np.empty_like(a)
    args = [from_dlpack(t, assumed_align=16) for t in (a, b, out)]
    if marked:
        args = [t.mark_layout_dynamic() for t in args]
    example.add(*args)
    np.testing.assert_array_equal(out.view(np.uint8), (a + b).view(np.uint8))


@pytest.mark.parametrize("name", ["add_2d"])
def test_one_compiled_function_serves_other_shapes(example: Any, name: str) -> None:
    from opencute.base.counters import COUNTERS
    from opencute.cute import compile as cute_compile

    def wrapped(shape: tuple[int, int]) -> tuple[list[Any], list[Any]]:
        arrays = [*inputs_of(name, shape, np.float32), np.zeros(shape, np.float32)]
        return arrays, [from_dlpack(t, assumed_align=16).mark_layout_dynamic() for t in arrays]

    first, args = wrapped((16, 64))
    compiled = cute_compile(example.add, *args)
    before = COUNTERS.snapshot()
    for shape in ((16, 64), (8, 32), (100, 4)):
        arrays, args = wrapped(shape)
        compiled(*args)
        np.testing.assert_array_equal(arrays[2], arrays[0] + arrays[1])
    assert COUNTERS.since(before).compilations == 0
    # A row length that 16 bytes do not divide needs other code, and is right all the same.
    arrays, args = wrapped((5, 12))
    odd = [a[:, :8] for a in arrays[:2]] + [arrays[2][:, :8]]
    compiled(*[from_dlpack(t).mark_layout_dynamic() for t in odd])
    np.testing.assert_array_equal(odd[2], odd[0] + odd[1])
    assert first is not None


def test_torch_twin_of_relu(monkeypatch: pytest.MonkeyPatch) -> None:
    torch = pytest.importorskip("torch")
    monkeypatch.syspath_prepend(str(EXAMPLES))
    import relu_2d

    x = torch.randn(33, 64, dtype=torch.bfloat16)
    out = torch.empty_like(x)
    relu_2d.relu(*(from_dlpack(t, assumed_align=16).mark_layout_dynamic() for t in (x, out)))
    assert torch.equal(out, torch.relu(x))
    strided = torch.randn(64, 33)[::2].t()  # not row-major: other code, the same result
    out = torch.empty(33, 32)
    relu_2d.relu(*(from_dlpack(t).mark_layout_dynamic() for t in (strided[:32], out[:32])))
    assert torch.equal(out[:32], torch.relu(strided[:32]))


@pytest.mark.parametrize("name", ["relu_2d"])
def test_index_arithmetic_divides_unsigned_and_moves_128_bits(name: str, example: Any) -> None:
    """The facts of indices reach machine code."""
    from opencute.jit.calls import compiled_artefacts

    example.kernel_fn(np.ones((24, 64), np.float16))
    ptx = compiled_artefacts()[-1].ptx
    assert "div.u32" in ptx and "div.s32" not in ptx and "rem.s32" not in ptx
    assert "ld.global" in ptx and ".v4" in ptx and "st.global" in ptx
    assert ".b16" not in "".join(line for line in ptx.splitlines() if "ld.global" in line)
