# SPDX-FileCopyrightText: 2026 The OpenCuTe authors
# SPDX-License-Identifier: Apache-2.0
"""What code reads without naming it, or through the standard library: no change is missed."""

from __future__ import annotations

import collections
import functools
import operator
import sys
import types
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
import pytest

from opencute import cute
from opencute.base.counters import COUNTERS
from opencute.base.knobs import KNOBS
from opencute.cute.runtime import from_dlpack
from opencute.jit.reads import Import, imports, mentioned, reads

pytestmark = pytest.mark.t1

SCALE = 2.0
HERE: Any = sys.modules[__name__]
CONFIG: Any = types.ModuleType("a_module_that_code_imports")
CONFIG.scale = 2.0
sys.modules["a_module_that_code_imports"] = CONFIG
TABLE = {"a": 2.0}
read_table = TABLE.get
deque = collections.deque([2.0])
ordered = collections.OrderedDict(a=2.0)
chained = collections.ChainMap({"a": 2.0})
my_globals, my_eval = globals, eval


@functools.singledispatch
def dispatched(x: Any) -> Any:
    return x * SCALE


class Base:
    scale: float

    def __init_subclass__(cls, **_: Any) -> None:
        cls.scale = SCALE

    def __class_getitem__(cls, item: Any) -> Any:
        return SCALE


class Meta(type):
    @classmethod
    def __prepare__(cls, name: str, bases: Any, **_: Any) -> Any:
        return {"scale": SCALE}


class Settings:
    @functools.singledispatchmethod
    def dispatched(self, x: Any) -> Any:
        return x * SCALE

    @property
    def value(self) -> Any:
        return self.kept

    @value.setter
    def value(self, x: Any) -> None:
        self.kept = x * SCALE

    def times(self, x: Any) -> Any:
        return x * SCALE


class Number(float):
    scale: float


settings = Settings()
number = Number(1.0)
number.scale = 2.0
call_times = operator.methodcaller("times", 1.0)


@functools.cache
def kept() -> float:
    return SCALE


def with_attribute(x: Any) -> Any:
    return x


with_attribute.scale = 2.0  # type: ignore[attr-defined]


def subclass(x: Any) -> Any:
    class Sub(Base):
        pass

    return x * Sub.scale


def prepared(x: Any) -> Any:
    class Sub(metaclass=Meta):
        scale: float

    return x * Sub.scale


def set_property(x: Any) -> Any:
    made = Settings()
    made.value = x
    return made.value


def import_module(x: Any) -> Any:
    import a_module_that_code_imports as config  # type: ignore[import-not-found]

    return x * config.scale


def import_name(x: Any) -> Any:
    from a_module_that_code_imports import scale  # type: ignore[import-not-found]

    return x * scale


def make(body: Callable[[Any], Any]) -> Any:
    """A jit function that writes body(x) to each element."""

    @cute.kernel
    def kernel(mX: cute.Tensor) -> None:
        tidx, _, _ = cute.arch.thread_idx()
        mX[tidx] = body(mX[tidx])

    @cute.jit
    def host(mX: cute.Tensor) -> None:
        kernel(mX).launch(grid=1, block=4)

    return host


@pytest.fixture(autouse=True)
def simulator() -> Iterator[None]:
    with KNOBS.override(target="sim"):
        yield


def result(fn: Any) -> float:
    x = np.ones(4, np.float32)
    fn(from_dlpack(x))
    assert (x == x[0]).all()
    return float(x[0])


def to_three(m: pytest.MonkeyPatch) -> None:
    m.setattr(HERE, "SCALE", 3.0)


def clear(m: pytest.MonkeyPatch) -> None:
    to_three(m)
    kept.cache_clear()


@pytest.mark.parametrize("size", [None, 8])
def test_a_cache_that_is_cleared_and_filled_again(size: int | None) -> None:
    """It was asked as often, and holds as many results: others."""
    stored = functools.lru_cache(size)(functools.partial(next, iter((2.0, 3.0))))
    assert stored() == 2.0
    fn = make(lambda x: x * stored())
    assert [result(fn), result(fn)] == [2.0, 2.0]
    stored.cache_clear()
    assert stored() == 3.0
    assert stored.cache_info().misses == 1
    assert result(fn) == 3.0


def test_results_of_a_cache_that_change() -> None:
    stored = functools.cache(lambda: [2.0])
    stored()
    fn = make(lambda x: x * stored()[0])
    before = COUNTERS.snapshot()
    assert [result(fn), result(fn)] == [2.0, 2.0]
    assert COUNTERS.since(before).compilations == 1, fn.retraced_because
    stored()[0] = 3.0
    assert result(fn) == 3.0


# Body, change, and whether the value is traced only once until it changes.
CASES: dict[str, tuple[Callable[[Any], Any], Callable[[pytest.MonkeyPatch], Any], bool]] = {
    "singledispatch": (lambda x: dispatched(x), to_three, True),
    "singledispatchmethod": (lambda x: settings.dispatched(x), to_three, False),
    "singledispatchmethod of an object made": (
        lambda x: Settings().dispatched(x), to_three, True,
    ),
    "__init_subclass__": (subclass, to_three, True),
    "__class_getitem__": (lambda x: x * Base[1], to_three, True),  # type: ignore[misc]
    "__prepare__": (prepared, to_three, True),
    "setter of a property": (set_property, to_three, True),
    "globals": (lambda x: x * globals()["SCALE"], to_three, False),
    "globals by another name": (lambda x: x * my_globals()["SCALE"], to_three, False),
    "eval": (lambda x: x * eval("SCALE"), to_three, False),
    "eval by another name": (lambda x: x * my_eval("SCALE"), to_three, False),
    "a frame": (lambda x: x * sys._getframe().f_globals["SCALE"], to_three, False),
    "methodcaller": (lambda x: x * call_times(settings), to_three, False),
    "a cache that is cleared": (lambda x: x * kept(), clear, False),
    "a module imported": (import_module, lambda m: m.setattr(CONFIG, "scale", 3.0), True),
    "a name imported": (import_name, lambda m: m.setattr(CONFIG, "scale", 3.0), True),
    "an imported module replaced": (
        import_module,
        lambda m: m.setitem(
            sys.modules, "a_module_that_code_imports", types.SimpleNamespace(scale=3.0)
        ),
        True,
    ),
    "__import__": (
        lambda x: x * __import__("a_module_that_code_imports").scale,
        lambda m: m.setattr(CONFIG, "scale", 3.0),
        False,
    ),
    "attribute of a function": (
        lambda x: x * with_attribute.scale,  # type: ignore[attr-defined]
        lambda m: m.setattr(with_attribute, "scale", 3.0),
        True,
    ),
    "attribute of a number": (
        lambda x: x * number.scale, lambda m: m.setattr(number, "scale", 3.0), True,
    ),
    "method of a dict": (
        lambda x: x * read_table("a"), lambda m: m.setitem(TABLE, "a", 3.0), True,
    ),
    "deque": (
        lambda x: x * deque[0], lambda m: (deque.append(3.0), deque.popleft()), False,
    ),
    "OrderedDict": (lambda x: x * ordered["a"], lambda m: m.setitem(ordered, "a", 3.0), False),
    "ChainMap": (
        lambda x: x * chained["a"], lambda m: m.setitem(chained.maps[0], "a", 3.0), False,
    ),
}  # fmt: skip


@pytest.mark.parametrize("name", CASES)
def test_a_change_is_seen(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    body, change, once = CASES[name]
    kept.cache_clear()
    fn = make(body)
    assert result(fn) == 2.0
    before = COUNTERS.snapshot()
    assert result(fn) == 2.0
    assert not once or COUNTERS.since(before).compilations == 0, fn.retraced_because
    assert once or fn.retraced_because
    change(monkeypatch)
    assert result(fn) == 3.0


def test_another_function_registered(monkeypatch: pytest.MonkeyPatch) -> None:
    @functools.singledispatch
    def scale(x: Any) -> Any:
        return 2.0

    fn = make(lambda x: x * scale(1))
    assert result(fn) == 2.0 and result(fn) == 2.0 and not fn.retraced_because
    scale.register(int, lambda x: 3.0)
    assert result(fn) == 3.0


def test_reads_and_imports() -> None:
    def code(x: Any) -> Any:
        import os.path
        from math import pi

        return lambda: TABLE.items().mapping, os.path, pi, getattr(x, "by_name")  # noqa: B009

    names: set[str] = set()
    mentioned(code.__code__, names)
    assert ("TABLE", ("items",)) in reads(code.__code__)
    assert {"items", "mapping", "by_name"} <= names
    assert imports(code.__code__) == (Import("os.path", 0, ()), Import("math", 0, ("pi",)))
