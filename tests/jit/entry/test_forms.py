# SPDX-FileCopyrightText: 2026 The OpenCuTe authors
# SPDX-License-Identifier: Apache-2.0
"""Ways in which users write calls: each takes no Python from the second one on."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, field, replace
from typing import Any, NamedTuple

import pytest

import opencute as cutlass
from opencute import cute
from opencute.base.errors import OpenCuTeError
from opencute.base.knobs import KNOBS
from opencute.cute.runtime import from_dlpack
from opencute.integrations.driver_stub import Launch, StubDriver
from opencute.jit import calls
from opencute.jit.executor import Executor

pytestmark = pytest.mark.t1
torch: Any = pytest.importorskip("torch")


class Pair(NamedTuple):
    x: cute.Tensor
    y: cute.Tensor


@dataclass(frozen=True)
class Config:
    threads: int
    exact: Any = 1
    unseen: int = field(default=0, compare=False)


@cute.kernel
def kernel(x: cute.Tensor, y: cute.Tensor, n: cutlass.Int32, f: cutlass.Float32):
    x[0] = y[0] * f + n


@cute.jit
def work(x: cute.Tensor, y: cute.Tensor, n: cutlass.Int32 = 5, f: cutlass.Float32 = 2.0):
    kernel(x, y, n, f).launch(grid=1, block=32)


@cute.jit
def paired(pair: Any, n: cutlass.Int32):
    kernel(pair[0], pair[1], n, 1.0).launch(grid=1, block=32)


@cute.jit
def configured(x: cute.Tensor, config: cutlass.Constexpr):
    kernel(x, x, config.unseen, 1.0).launch(
        grid=1, block=config.threads * (1 + (config.exact is True))
    )


@pytest.fixture
def stub() -> Iterator[StubDriver]:
    with StubDriver() as driver, KNOBS.override(target="cuda"):
        yield driver


@pytest.fixture
def python(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """The calls that took Python."""
    seen: list[str] = []
    direct, bind = calls.call_jit, Executor._bind

    def called(*args: Any) -> Any:
        seen.append("direct")
        return direct(*args)

    def bound(*args: Any) -> Any:
        seen.append("compiled")
        return bind(*args)

    monkeypatch.setattr(calls, "call_jit", called)
    monkeypatch.setattr(Executor, "_bind", bound)
    return seen


def launched(stub: StubDriver, call: Callable[[], Any]) -> list[Launch]:
    """Launches; of values only four bytes, as behind those of i32 and f32 there may be anything."""
    stub.launches.clear()
    call()
    low = 0xFFFFFFFF
    return [replace(x, values=tuple(v & low for v in x.values)) for x in stub.launches]


X, Y = torch.zeros(64), torch.ones(64)
FORMS: dict[str, Callable[[Any], Any]] = {
    "defaults": lambda f: f(X, Y),
    "one by name": lambda f: f(X, Y, n=7),
    "a default before it": lambda f: f(X, Y, f=3.0),
    "all by name": lambda f: f(f=3.0, n=7, y=Y, x=X),
    "an int for a float": lambda f: f(X, Y, 7, 3),
    "an int that f32 has not": lambda f: f(X, Y, 7, (1 << 24) + 1),
}  # fmt: skip


@pytest.mark.parametrize("form", FORMS)
def test_forms(form: str, stub: StubDriver, python: list[str]) -> None:
    call = FORMS[form]
    first = launched(stub, lambda: call(work))
    python.clear()
    assert launched(stub, lambda: call(work)) == first != []
    assert bool(python) == (form == "an int that f32 has not")


@pytest.mark.parametrize("form", ["one by name", "all by name", "an int for a float"])
def test_forms_of_compiled_functions(form: str, stub: StubDriver, python: list[str]) -> None:
    compiled = cute.compile(work, X, Y, 5, 2.0)
    call: Any = (lambda f: f(X, Y, n=7, f=3.0)) if form == "one by name" else FORMS[form]
    first = launched(stub, lambda: call(compiled))
    python.clear()
    assert launched(stub, lambda: call(compiled)) == first != []
    assert not python


def test_wrong_names_are_told_by_python(stub: StubDriver) -> None:
    for _ in range(3):
        work(x=X, y=Y, n=7)
        for bad in (
            lambda: work(X, Y, 7, n=7), lambda: work(X, Y, m=7), lambda: work(n=7, y=Y),
            lambda: work(X, Y, 5, 2.0, 1), lambda: work(X, Y, 5, 2.0, x=X),
        ):  # fmt: skip
            with pytest.raises((OpenCuTeError, TypeError)):
                bad()


def test_defaults_that_are_replaced(stub: StubDriver) -> None:
    one = lambda: launched(stub, lambda: work(X, Y, f=3.0))[0].values  # noqa: E731
    before, fn = [one() for _ in range(3)], work.fn
    defaults = fn.__defaults__
    try:
        fn.__defaults__ = (9, 2.0)
        after = [one() for _ in range(3)]
    finally:
        fn.__defaults__ = defaults
    assert before[0] == before[2] != after[0] == after[2]
    assert one() == before[0]


@pytest.mark.parametrize("kind", [tuple, list, Pair])
def test_sequences(kind: Any, stub: StubDriver, python: list[str]) -> None:
    make = (lambda *a: Pair(*a)) if kind is Pair else (lambda *a: kind(a))
    first = launched(stub, lambda: paired(make(X, Y), 3))
    python.clear()
    assert launched(stub, lambda: paired(make(X, Y), 3)) == first != []
    assert not python
    (other,) = launched(stub, lambda: paired(make(Y, X), 3))
    assert Y.data_ptr() & 0xFFFFFFFF in other.values and other != first[0]
    with pytest.raises((OpenCuTeError, TypeError, IndexError)):
        paired(make(X) if kind is not Pair else (X,), 3)


def test_constants_that_are_equal_but_not_the_same(stub: StubDriver, python: list[str]) -> None:
    def seen(config: Config) -> Any:
        (launch,) = launched(stub, lambda: configured(X, config))
        return launch.block[0], launch.kernel, len(stub.images)

    configs = [Config(32), Config(64), Config(32, True), Config(32, 1.0), Config(32, 1, 5)]
    for c in configs:
        seen(c), seen(c)
    images = len(stub.images)
    python.clear()
    blocks = [seen(Config(c.threads, c.exact, c.unseen))[0] for c in configs]
    assert blocks == [32, 64, 64, 32, 32] and not python and len(stub.images) == images
    seen(Config(32, 1, 6))
    assert python and len(stub.images) == images + 1


def test_marks_that_python_reads_are_remembered(stub: StubDriver, python: list[str]) -> None:
    """A call with the very same tensors, until one is marked again or a global changes."""

    def compact(t: Any) -> Any:
        return from_dlpack(t, assumed_align=16).mark_compact_shape_dynamic(mode=0, divisibility=4)

    x, y = compact(X), compact(Y)
    first = launched(stub, lambda: work(x, y, 5))
    python.clear()
    assert launched(stub, lambda: work(x, y, 5)) == first != [] and not python
    assert launched(stub, lambda: work(y, x, 5)) != first and python
    x.mark_layout_dynamic()
    python.clear()
    launched(stub, lambda: work(x, y, 5))
    assert python


def test_a_remembered_call_is_not_made_while_another_is_traced(stub: StubDriver) -> None:
    @cute.jit
    def inner(x: cute.Tensor, n: cutlass.Constexpr):
        kernel(x, x, n, 1.0).launch(grid=1, block=32)

    @cute.jit
    def outer(x: cute.Tensor):
        inner(x, 3)
        inner(x, 3)

    for _ in range(3):
        inner(X, 3)
    assert len(launched(stub, lambda: outer(X))) == 2
    assert len(launched(stub, lambda: outer(X))) == 2
