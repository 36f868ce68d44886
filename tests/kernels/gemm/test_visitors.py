# SPDX-FileCopyrightText: 2026 The OpenCuTe authors
# SPDX-License-Identifier: Apache-2.0
"""What becomes of sums: pieces, functions of users, gates, in the checking simulator."""

from __future__ import annotations

import functools
from typing import Any

import numpy as np
import pytest

import opencute as cutlass
from opencute import cute
from opencute.base.errors import ArgumentError, ArgumentTypeError, UninitializedError
from opencute.base.knobs import KNOBS
from opencute.kernels.gemm import GemmConfig, HopperConfig, Visitor, gemm, reference, visitors

pytestmark = pytest.mark.t1

M, N, K = 136, 104, 72


@pytest.fixture(autouse=True)
def simulator() -> Any:
    with KNOBS.override(target="sim", sim_check=True):
        yield


def numbers(shape: tuple[int, ...], dtype: Any = np.float16, seed: int = 0) -> Any:
    return np.random.default_rng([seed, *shape]).integers(-3, 4, shape).astype(dtype)


def half(x: Any) -> Any:
    return x * 0.5


def same(got: Any, want: Any) -> None:
    np.testing.assert_array_equal(got.astype(np.float64), want.astype(got.dtype))


@pytest.mark.parametrize("columns", [False, True])
def test_all_pieces_in_a_row(columns: bool) -> None:
    a, b = numbers((M, K)), numbers((K, N))
    s, t, u, bias = (numbers((x,), np.float32, i) for i, x in enumerate((M, N, M, N)))
    r, most = numbers((M, N), np.float32, 1), np.zeros(1, np.float32)
    order = "F" if columns else "C"
    before, out = (np.zeros((M, N), t, order=order) for t in (np.float16, np.float32))
    epilogue = visitors.chain(
        visitors.scale(0.5), visitors.scale_rows(s), visitors.scale_columns(t),
        visitors.add_rows(u), visitors.add_columns(bias), visitors.keep(before),
        visitors.apply(half), visitors.peak(most), visitors.add(r, 2.0),
    )  # fmt: skip
    gemm(a, b, out=out, epilogue=epilogue, config=HopperConfig((128, 32), (2, 1)))
    x = reference.gemm(a, b) * 0.5 * s[:, None] * t + u[:, None] + bias
    same(before, x)
    assert most[0] == np.abs(x * 0.5).max()
    same(out, x * 0.5 + 2 * r)


def test_a_function_of_the_user() -> None:
    def finish(x: Any, tile: Any) -> Any:
        big = x > tile.scalar("least")
        return cute.where(big, x + tile.column("bias"), tile.load("other"))

    a, b, other = numbers((72, K)), numbers((K, 64)), numbers((72, 64), seed=1)
    bias = numbers((64,), seed=2)
    epilogue = Visitor(
        finish, least=visitors.scalar(2.0), bias=visitors.column(bias),
        other=visitors.load(other),
    )  # fmt: skip
    got = gemm(a, b, epilogue=epilogue, config=HopperConfig((64, 64), pingpong=True))
    x = reference.gemm(a, b)
    same(got, np.where(x > 2, x + bias, other))


def test_functions_are_epilogues() -> None:
    """Of the sums alone, as activations are, and of sums and tile; also where kernels of every
    processor run."""
    a, b = numbers((64, 32)), numbers((32, 48))
    want = reference.gemm(a, b)
    config = HopperConfig((128, 48))
    same(gemm(a, b, epilogue=half, config=config), want * 0.5)
    same(gemm(a, b, epilogue=lambda x, tile: tile.floats(x) * 0.5, config=config), want * 0.5)
    same(gemm(a, b, epilogue=Visitor(half), config=config), want * 0.5)
    same(gemm(a, b, epilogue=Visitor(lambda x, scale=0.5: x * scale), config=config), want * 0.5)
    with KNOBS.override(target="sim:sm_80"):
        same(gemm(a, b, epilogue=half), want * 0.5)
    bytes_a, bytes_b = a.astype(np.int8), b.astype(np.int8)
    got = gemm(bytes_a, bytes_b, epilogue=Visitor(half), out=np.zeros((64, 48), np.float32))
    same(got, want * 0.5)
    assert Visitor(half).plan() == Visitor(half).plan()


def test_functions_of_other_arguments() -> None:
    column = visitors.column(numbers((N,)))
    with pytest.raises(ArgumentTypeError, match="reads them from the tile") as e:
        Visitor(half, bias=column)
    assert "tile.column('bias')" in str(e.value)
    for fn in (lambda: 0, lambda x, tile, more: x, lambda *, x: x):
        with pytest.raises(ArgumentTypeError, match="takes the sums, or the sums and the tile"):
            Visitor(fn)
    Visitor(lambda *both: both[0], bias=column)
    Visitor(lambda x, tile=None: x, bias=column)


def test_gates_are_even_columns() -> None:
    a, b, bias = numbers((72, 64)), numbers((64, 144)), numbers((144,))
    epilogue = visitors.chain(visitors.add_columns(bias), gated=half)
    got = gemm(a, b, epilogue=epilogue, config=HopperConfig((128, 64)))
    x = reference.gemm(a, b) + bias
    assert got.shape == (72, 72)
    same(got, x[:, ::2] * 0.5 * x[:, 1::2])


def test_equal_chains_are_one_kernel() -> None:
    v, w = numbers((N,)), numbers((N,), seed=1)
    plans = [visitors.chain(visitors.add_columns(x), visitors.apply(half)).plan() for x in (v, w)]
    assert plans[0] == plans[1] and hash(plans[0]) == hash(plans[1])
    assert plans[0] != visitors.chain(visitors.add_rows(v), visitors.apply(half)).plan()


def test_chains_made_anew_are_one_function_with_operands_of_their_own() -> None:
    v, w, r = numbers((N,)), numbers((N,)), numbers((M, N))
    first, second = (
        visitors.chain(visitors.add_columns(x), visitors.apply(half), gated=half) for x in (v, w)
    )
    assert first.fn is second.fn and first.gated is second.gated
    assert first.operands["add_columns"].value is v and second.operands["add_columns"].value is w

    factors = [1, 1.0, True, 2.0, 0.0, -1.0]
    plans = [visitors.chain(visitors.add(r, f)).plan() for f in factors]
    assert [p.fn.steps[0].fn for p in plans] == factors
    assert [type(p.fn.steps[0].fn) for p in plans] == [type(f) for f in factors]
    assert [p.names for p in plans] == [("add",)] * 4 + [(), ("add",)]


def test_a_function_is_judged_anew_when_its_code_changes() -> None:
    def late(x: object) -> object:
        return x

    visitors.chain(visitors.apply(late))

    async def never(x: object) -> object:
        return x

    late.__code__ = never.__code__
    with pytest.raises(ArgumentTypeError, match="async"):
        visitors.chain(visitors.apply(late))


def test_what_does_not_fit() -> None:
    a, b = numbers((M, K)), numbers((K, N))
    with pytest.raises(ArgumentError, match="add_columns does not fit the product"):
        gemm(a, b, epilogue=visitors.chain(visitors.add_columns(numbers((M,)))))
    with pytest.raises(ArgumentError, match="instead of other things"):
        gemm(a, b, bias=numbers((N,)), epilogue=visitors.chain())
    for other in ({"alpha": 2.0}, {"activation": "relu"}):
        with pytest.raises(ArgumentError, match="instead of other things"):
            gemm(a, b, epilogue=half, **other)
    with pytest.raises(ArgumentError, match="no operand"):
        Visitor(lambda x, tile: x, bias=numbers((N,)))
    with pytest.raises(ArgumentError, match="stored row by row"):
        out = np.zeros((M, N // 2), np.float16, order="F")
        gemm(a, b, out=out, epilogue=visitors.chain(gated=half))
    with KNOBS.override(target="sim:sm_80"), pytest.raises(ArgumentError, match="for Hopper"):
        gemm(a, b, epilogue=visitors.chain())


@pytest.mark.parametrize("rows", [False, True])
def test_matrices_whose_elements_repeat(rows: bool) -> None:
    """A vector seen as a matrix is read as one; it cannot be written."""
    a, b, v = numbers((64, 32)), numbers((32, 48)), numbers((64 if rows else 48,), seed=1)
    matrix = np.broadcast_to(v[:, None] if rows else v, (64, 48))
    same(gemm(a, b, epilogue=visitors.chain(visitors.add(matrix))), reference.gemm(a, b) + matrix)
    with pytest.raises(ArgumentError, match="are at the same place") as e:
        gemm(a, b, epilogue=visitors.chain(visitors.keep(matrix)))
    assert e.value.code == "OC2540"


def product(fn: Any, **operands: Any) -> Any:
    a, b = numbers((64, 64)), numbers((64, 64))
    config = HopperConfig((64, 64), pingpong=True)
    return gemm(a, b, epilogue=Visitor(fn, **operands), config=config)


def test_operands_are_read_as_they_were_declared() -> None:
    s, m = numbers((64,), np.float32), np.zeros((64, 64), np.float16)
    wrong = [
        (lambda x, t: x * t.column("s"), {"s": visitors.row(s)}, "declared as row"),
        (lambda x, t: x * t.scalar("s"), {"s": visitors.column(s)}, "declared as column"),
        (lambda x, t: x + t.load("m"), {"m": visitors.store(m)}, "declared as store"),
        (lambda x, t: t.store("m", x) or x, {"m": visitors.load(m)}, "declared as load"),
        (lambda x, t: x * t.row("scales"), {"scale": visitors.row(s)}, "did you mean scale"),
        (lambda x, t: x, {"m": visitors.store(m)}, "writes nothing"),
        (lambda x, t: None, {}, "return the vector"),
    ]
    for fn, operands, text in wrong:
        with pytest.raises(ArgumentError, match=text) as e:
            product(fn, **operands)
        assert e.value.code == "OC2537"


def test_what_is_no_visitor_and_no_piece() -> None:
    a, b, s = numbers((64, 64)), numbers((64, 64)), numbers((64,))
    for epilogue in (s, "relu"):
        with pytest.raises(ArgumentTypeError, match="no function and no Visitor"):
            gemm(a, b, epilogue=epilogue)
    for piece in (s, [visitors.scale(1.0)], half):
        with pytest.raises(ArgumentTypeError, match="piece 0 of the chain"):
            visitors.chain(piece)  # type: ignore[arg-type]
    with pytest.raises(ArgumentTypeError, match="scale_rows"):
        visitors.scale(s)
    with pytest.raises(ArgumentTypeError, match=r"cute\.where"):
        gemm(a, b, epilogue=visitors.chain(visitors.apply(lambda x: np.maximum(x, 0))))
    with pytest.raises(ArgumentError, match="noted in f32"):
        gemm(a, b, epilogue=visitors.chain(visitors.peak(np.zeros(1, np.float16))))
    with pytest.raises(ArgumentTypeError, match="no array"):
        gemm(a, b, epilogue=visitors.chain(visitors.add_rows([1.0] * 64)))
    with pytest.raises(ArgumentError, match="tf32=True"):
        f = numbers((64, 64), np.float32)
        gemm(f, f, epilogue=visitors.chain())


@pytest.mark.parametrize(
    "config",
    [
        "best", HopperConfig((64,)), HopperConfig((64, 64.0)), HopperConfig(64),  # type: ignore
        GemmConfig((64, 64), (2, 2), 3), GemmConfig((64, 64, 32), (2, 2), "3"),  # type: ignore
        GemmConfig((64, 64, 32), 4, 3),  # type: ignore
    ],
)  # fmt: skip
def test_configurations_that_are_none(config: Any) -> None:
    a = numbers((64, 64))
    with pytest.raises(ArgumentError, match=r"config|Config") as e:
        gemm(a, a, config=config)
    assert e.value.code in ("OC2531", "OC2536", "OC2538")


def test_faults_of_kernels_have_a_line() -> None:
    def garbage(x: Any, tile: Any) -> Any:
        return cute.make_rmem_tensor(x.shape, cutlass.Float32).load()

    with pytest.raises(UninitializedError, match="OC3301") as e:
        product(garbage)
    assert e.value.loc is not None and e.value.loc.file.endswith("sm90_epilogue.py")
    assert "Float16[1, 64, 64]" in str(e.value) and "at None" not in str(e.value)


class Times:
    """Multiplies by a number that may change."""

    def __init__(self, by: float) -> None:
        self.by = by

    def __call__(self, x: Any) -> Any:
        return x * self.by

    def method(self, x: Any) -> Any:
        return x * self.by


@pytest.mark.parametrize("how", ["epilogue", "activation"])
@pytest.mark.parametrize("of", [lambda t: t, lambda t: t.method, functools.partial])
def test_objects_that_are_called_are_read_anew(how: str, of: Any) -> None:
    a, b, times = np.ones((16, 16), np.float16), np.eye(16, dtype=np.float16), Times(2.0)
    fn = of(times)
    for by in (2.0, 3.0):
        times.by = by
        assert gemm(a, b, **{how: fn})[0, 0] == by


def test_operands_that_run_backwards_and_matrices_that_lie_otherwise() -> None:
    a, b = numbers((64, 64)), numbers((64, 64))
    rows, more = np.arange(64, dtype=np.float32)[::-1], numbers((64, 64), seed=2)[::-1]
    d = gemm(a, b, epilogue=visitors.chain(visitors.add_rows(rows), visitors.add(more)))
    same(d, reference.gemm(a, b) + rows[:, None] + more)
    for into in (np.zeros((64, 64), np.float16).T, np.zeros((64, 64), np.float16)[::-1]):
        with pytest.raises(ArgumentError, match="keep, which is written, lies in another order"):
            gemm(a, b, epilogue=visitors.chain(visitors.keep(into)))


def test_operands_that_share_memory() -> None:
    """What is written is neither read nor written elsewhere, but for elements in their place."""
    a, b, c = numbers((64, 64)), numbers((64, 64)), numbers((64, 64), seed=2)
    out, keep, add = np.zeros((64, 64), np.float16), visitors.keep, visitors.add
    for epilogue, names in (
        (visitors.chain(keep(a)), "keep shares memory with a,"),
        (visitors.chain(keep(out)), "out shares memory with keep,"),
        (visitors.chain(keep(c), keep(c)), r"keep \(piece 0\) shares memory with keep \(piece 1\)"),
        (visitors.chain(keep(c), add(c.T)), "keep shares memory with add,"),
        (visitors.chain(visitors.add_rows(out[0])), "out shares memory with add_rows,"),
    ):
        with pytest.raises(ArgumentError, match=names) as e:
            gemm(a, b, out=out, epilogue=epilogue)
        assert e.value.code == "OC2542"
    before = c.copy()
    gemm(a, b, out=out, epilogue=visitors.chain(add(c), keep(c)))
    same(c, reference.gemm(a, b) + before)
    same(out, c)


def test_keywords_of_a_partial_function_are_read_anew() -> None:
    a, b = numbers((64, 64)), numbers((64, 64))
    times = functools.partial(lambda x, by: x * by, by=2.0)
    for by in (2.0, 3.0):
        times.keywords["by"] = by
        same(gemm(a, b, epilogue=times), reference.gemm(a, b) * by)


def test_nan_is_no_largest_magnitude() -> None:
    a, b = numbers((64, 64)), numbers((64, 64))
    a[3, 5], most = np.nan, np.zeros(1, np.float32)
    gemm(a, b, epilogue=visitors.chain(visitors.peak(most)))
    assert most[0] == np.nanmax(np.abs(a.astype(np.float32) @ b.astype(np.float32)))
