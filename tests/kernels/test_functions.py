# SPDX-FileCopyrightText: 2026 The OpenCuTe authors
# SPDX-License-Identifier: Apache-2.0
"""Functions of users on vectors: what is wrong with one is said with its line."""

from __future__ import annotations

import functools
import inspect
import sys
import warnings
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from opencute import cute
from opencute.base.errors import ArgumentTypeError
from opencute.base.knobs import KNOBS
from opencute.kernels.functions import plain
from opencute.kernels.gemm import GemvConfig, HopperConfig, Visitor, gemm, visitors

torch = pytest.importorskip("torch")
pytestmark = pytest.mark.t1


@pytest.fixture(autouse=True)
def simulator() -> Any:
    with KNOBS.override(target="sim"), warnings.catch_warnings():
        warnings.simplefilter("error")  # of coroutines that nobody awaits, too
        yield


def constant(x: Any) -> Any:
    return 1.0


def constant_of_tile(x: Any, tile: Any) -> Any:
    y = x * 2.0
    assert y is not None
    return 1.0


async def later(x: Any) -> Any:
    return x


async def later_of_tile(x: Any, tile: Any) -> Any:
    return x


def one_by_one(x: Any) -> Any:
    yield x


def awaits_nothing(x: Any) -> Any:
    return later(x)


def of_torch(x: Any, tile: Any) -> Any:
    return torch.relu(x)


def _helper(x: Any) -> Any:
    return torch.nn.functional.gelu(x)


def of_a_helper(x: Any) -> Any:
    return _helper(x)


def a_number(x: Any) -> Any:
    return x.reduce(cute.ReductionOp.ADD, 0.0, 0)


def a_half(x: Any) -> Any:
    half = cute.make_rmem_tensor((cute.size(x.shape) // 2,), x.dtype)
    half.fill(0.0)
    return half.load()


class Called:
    def __call__(self, x: Any, tile: Any) -> Any:
        return 3

    def method(self, x: Any) -> Any:
        return None


class OfTorch(torch.nn.Module):
    def forward(self, x: Any) -> Any:
        return torch.relu(x)


class OfCute(torch.nn.Module):
    def forward(self, x: Any) -> Any:
        return cute.math.relu(x)


def product(epilogue: Any, how: str = "epilogue", config: Any = None) -> Any:
    a = np.ones((32, 16), np.float16)
    return gemm(a, a.T, config=config, **{how: epilogue})


def failure(fn: Any, config: Any = None, how: str = "epilogue") -> ArgumentTypeError:
    with pytest.raises(ArgumentTypeError) as e:
        product(fn, how, config)
    error = e.value
    assert error.code == "OC2537" and error.hint
    assert error.loc is not None and error.loc.file == __file__
    return error


@pytest.mark.parametrize(
    ("fn", "inner", "line", "message", "hint"),
    [
        (constant, constant, 1, "gives no vector", "cute.full_like(x, 1.0)"),
        (constant_of_tile, constant_of_tile, 3, "gives no vector", "cute.full_like(x, 1.0)"),
        (later, later, 0, "is an async function", "leave out async"),
        (later_of_tile, later_of_tile, 0, "is an async function", "leave out async"),
        (one_by_one, one_by_one, 0, "is a generator", "instead of yielding"),
        (awaits_nothing, awaits_nothing, 1, "gives no vector", "leave out async"),
        (of_torch, of_torch, 1, "cannot do", "cute.math.relu does the same"),
        (of_a_helper, _helper, 1, "cannot do", "cute.math.gelu does the same"),
        (Called(), Called.__call__, 1, "gives no vector", "cute.full_like(x, 3)"),
        (Called().method, Called.method, 1, "gives no vector", "return the vector"),
        (functools.partial(Called().method), Called.method, 1, "gives no vector", "return"),
        (OfTorch(), OfTorch.forward, 1, "cannot do", "cute.math.relu"),
        (a_number, a_number, 1, "gives no vector", "as by x.reduce"),
    ],
)  # fmt: skip
def test_lines(fn: Any, inner: Callable[..., Any], line: int, message: str, hint: str) -> None:
    error = failure(fn)
    assert message in error.message and hint in str(error.hint), error
    start = inspect.getsourcelines(inner)[1]
    loc = error.loc
    assert loc is not None and loc.function == inner.__name__
    # Returns are found from Python 3.11 on; before, what is said is where the function begins.
    wanted = [start + line] if sys.version_info >= (3, 11) else [start, start + line]
    assert loc.line in wanted
    if fn is of_a_helper:
        assert loc.caller is not None and loc.caller.function == "of_a_helper"


@pytest.mark.parametrize(
    ("fn", "hint"),
    [
        (torch.relu, "cute.math.relu does the same"),
        (torch.nn.functional.silu, "cute.math.silu does the same"),
        (torch.nn.GELU(), "cute.math.gelu does the same"),
        (np.tanh, "cute.math.tanh does the same"),
        (functools.partial(torch.clamp, min=0), "cute.where"),
    ],
)
@pytest.mark.parametrize(
    "given", [lambda f: f, Visitor, lambda f: visitors.chain(visitors.apply(f))]
)
def test_functions_of_other_packages(fn: Any, hint: str, given: Callable[[Any], Any]) -> None:
    """The line is that of the call, as they have none that is the user's."""
    with pytest.raises(ArgumentTypeError, match="cannot take vectors of registers") as e:
        product(given(fn))
    assert hint in str(e.value.hint) and e.value.loc is not None
    assert e.value.loc.file == __file__
    assert e.value.loc.function in (
        "product",
        "<lambda>",
        test_functions_of_other_packages.__name__,
    )


@pytest.mark.parametrize("fn", [constant, a_half])
def test_kernels_of_every_processor(fn: Any) -> None:
    with KNOBS.override(target="sim:sm_80"):
        assert "the function on the sums gives" in failure(fn, how="activation").message


def test_products_with_a_vector() -> None:
    a, x = np.ones((8, 16), np.float16), np.ones((16, 1), np.float16)
    with pytest.raises(ArgumentTypeError, match="the function on the sums gives no vector"):
        gemm(a, x, activation=constant, config=GemvConfig())


def test_gates() -> None:
    with pytest.raises(ArgumentTypeError, match="the gate gives no vector") as e:
        product(visitors.chain(gated=constant), config=HopperConfig((128, 32)))
    assert e.value.loc is not None and e.value.loc.function == "constant"
    with pytest.raises(ArgumentTypeError, match="gated of a visitor is an async"):
        visitors.chain(gated=later)


def test_what_the_hints_say_works() -> None:
    with KNOBS.override(target="sim:sm_80"):
        assert (product(lambda x: cute.full_like(x, 1.0)) == 1).all()
        assert (product(cute.math.relu) == 16).all()
        assert (product(OfCute()) == 16).all()


def test_what_is_below() -> None:
    called = Called()
    assert plain(functools.partial(called.method)) is Called.method
    assert plain(called) is Called.__call__
    assert plain(OfCute()) is OfCute.forward
    assert plain(abs) is abs and plain(3) == 3
