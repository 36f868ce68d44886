# SPDX-FileCopyrightText: 2026 The OpenCuTe authors
# SPDX-License-Identifier: Apache-2.0
"""Direct calls see every change in what tracing reads, and do not trace again without one."""

from __future__ import annotations

import abc
import dataclasses
import enum
import functools
import gc
import math
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

pytestmark = pytest.mark.t1

SCALE = 2.0
TABLE = {"scale": 2.0, "deep": [2.0, {"x": 2.0}]}
ITEMS = [2.0]
config = types.ModuleType("a_config_module")
config.scale = 2.0  # type: ignore[attr-defined]
config.inner = types.SimpleNamespace(scale=2.0)  # type: ignore[attr-defined]
sys.modules["a_config_module"] = config


config.function = lambda x: x * 2.0  # type: ignore[attr-defined]
LONG = [2.0]
PAIRS: Any = [(1, 2.0)]
ORDER = {"a": 2.0, "b": 3.0}


class Mode(enum.Enum):
    TWO = 2.0
    THREE = 3.0


MODE = Mode.TWO


class Settings:
    scale = 2.0

    def __init__(self) -> None:
        self.own = 2.0

    @property
    def own_property(self) -> float:
        return self.own

    @staticmethod
    def plain(x: Any) -> Any:
        return x * SCALE

    def times(self, x: Any) -> Any:
        return x * self.own

    def times_global(self, x: Any) -> Any:
        return x * SCALE

    def __call__(self, x: Any) -> Any:
        return self.times(x)


class Others(Settings):
    scale = 3.0


class Made:
    """An object that a function makes; it reads a global when it is made, or later."""

    def __init__(self, x: Any, factor: Any = None) -> None:
        self.product = x * (SCALE if factor is None else factor)
        self.x = x

    @functools.cached_property
    def kept(self) -> Any:
        return self.x * SCALE


made_later = functools.partial(Made, factor=None)
times_later = functools.partial(Settings.times_global, None)
times_keyword: Any = functools.partial(lambda x, scale: x * scale, scale=2.0)
times_keyword.factor = 2.0
times_default = functools.partial(lambda x, scale=2.0: x * scale)
ZERO = [0.0]


def missed(x: Any) -> Any:
    try:
        return x * settings.later  # type: ignore[attr-defined]
    except AttributeError:
        return x * 2.0


def times_three(self: Any, x: Any) -> Any:
    return x * 3.0


def init_three(self: Any) -> None:
    self.own = 3.0


settings = Settings()


def globals_list() -> Any:
    """LONG with slices that MonkeyPatch.setitem can undo."""

    class Slices(dict):  # type: ignore[type-arg]
        def get(self, key: Any, default: Any = None) -> Any:
            return []

        def __setitem__(self, key: Any, value: Any) -> None:
            LONG[1:] = value

    return Slices()


class _Order(dict):  # type: ignore[type-arg]
    """The keys of ORDER, which come in another order after one was taken out and put back."""

    def get(self, key: Any, default: Any = None) -> Any:
        return list(ORDER)

    def __setitem__(self, key: Any, value: Any) -> None:
        for name in value:
            ORDER[name] = ORDER.pop(name)


def helper_global(x: Any) -> Any:
    return x * SCALE


def helper_body(x: Any) -> Any:
    return x * 2.0


def helper_body_changed(x: Any) -> Any:
    return x * 3.0


def helper_keyword(x: Any, *, scale: float = 2.0) -> Any:
    return x * scale


def helper_default(x: Any, scale: float = 2.0) -> Any:
    return x * scale


@cute.jit
def helper_jit(x: Any) -> Any:
    return x * SCALE


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


def traces(fn: Any) -> int:
    before = COUNTERS.snapshot()
    result(fn)
    return COUNTERS.since(before).compilations


def set_global(name: str, value: Any) -> Callable[[pytest.MonkeyPatch], None]:
    return lambda m: m.setattr(sys.modules[__name__], name, value)


class _Item(dict):  # type: ignore[type-arg]
    """A list's first item as MonkeyPatch.setitem wants it."""

    def get(self, key: Any, default: Any = None) -> Any:
        return ITEMS[key]

    def __setitem__(self, key: Any, value: Any) -> None:
        ITEMS[key] = value


class _Zero(_Item):  # type: ignore[type-arg]
    def get(self, key: Any, default: Any = None) -> Any:
        return ZERO[key]

    def __setitem__(self, key: Any, value: Any) -> None:
        ZERO[key] = value


MUTATIONS: dict[str, tuple[Callable[[Any], Any], Callable[[pytest.MonkeyPatch], None]]] = {
    "global": (lambda x: x * SCALE, set_global("SCALE", 3.0)),
    "global of a helper": (lambda x: helper_global(x), set_global("SCALE", 3.0)),
    "global of a jit helper": (lambda x: helper_jit(x), set_global("SCALE", 3.0)),
    "helper replaced": (
        lambda x: helper_body(x), set_global("helper_body", helper_body_changed),
    ),
    "helper's code": (
        lambda x: helper_body(x),
        lambda m: m.setattr(helper_body, "__code__", helper_body_changed.__code__),
    ),
    "helper's default": (
        lambda x: helper_default(x), lambda m: m.setattr(helper_default, "__defaults__", (3.0,)),
    ),
    "dict item": (lambda x: x * TABLE["scale"], lambda m: m.setitem(TABLE, "scale", 3.0)),
    "nested item": (
        lambda x: x * TABLE["deep"][1]["x"],  # type: ignore[index]
        lambda m: m.setitem(TABLE["deep"][1], "x", 3.0),  # type: ignore[index]
    ),
    "list item": (lambda x: x * ITEMS[0], lambda m: m.setitem(_Item(), 0, 3.0)),
    "module attribute": (lambda x: x * config.scale, lambda m: m.setattr(config, "scale", 3.0)),
    "attribute of an object": (
        lambda x: x * config.inner.scale, lambda m: m.setattr(config.inner, "scale", 3.0),
    ),
    "class attribute": (lambda x: x * Settings.scale, lambda m: m.setattr(Settings, "scale", 3.0)),
    "attribute of an object of a class": (
        lambda x: x * settings.own, lambda m: m.setattr(settings, "own", 3.0),
    ),
    "attribute that hides one of the class": (
        lambda x: x * settings.scale, lambda m: m.setattr(settings, "scale", 3.0, raising=False),
    ),
    "attribute that a method reads": (
        lambda x: settings.times(x), lambda m: m.setattr(settings, "own", 3.0),
    ),
    "global that a method reads": (lambda x: settings.times_global(x), set_global("SCALE", 3.0)),
    "method replaced": (
        lambda x: settings.times(x), lambda m: m.setattr(Settings, "times", times_three),
    ),
    "property replaced": (
        lambda x: x * settings.own_property,
        lambda m: m.setattr(Settings, "own_property", property(lambda self: 3.0)),
    ),
    "static method's global": (lambda x: Settings.plain(x), set_global("SCALE", 3.0)),
    "call operator": (
        lambda x: settings(x), lambda m: m.setattr(Settings, "__call__", times_three),
    ),
    "class of an object": (
        lambda x: x * settings.scale, lambda m: m.setattr(settings, "__class__", Others),
    ),
    "constructor's code": (
        lambda x: x * Settings().own, lambda m: m.setattr(Settings, "__init__", init_three),
    ),
    "global that a constructor reads": (
        lambda x: Made(x).product, set_global("SCALE", 3.0)
    ),
    "global that a cached property reads": (lambda x: Made(x).kept, set_global("SCALE", 3.0)),
    "global of a partial class": (lambda x: made_later(x).product, set_global("SCALE", 3.0)),
    "global of a partial function": (lambda x: times_later(x), set_global("SCALE", 3.0)),
    "keyword of a partial function": (
        lambda x: times_keyword(x), lambda m: m.setitem(times_keyword.keywords, "scale", 3.0),
    ),
    "keyword added to a partial function": (
        lambda x: times_default(x), lambda m: m.setitem(times_default.keywords, "scale", 3.0),
    ),
    "attribute of a partial function": (
        lambda x: x * times_keyword.factor, lambda m: m.setattr(times_keyword, "factor", 3.0),
    ),
    "attribute that getattr did not find": (
        lambda x: x * getattr(settings, "later", 2.0),
        lambda m: m.setattr(settings, "later", 3.0, raising=False),
    ),
    "attribute that hasattr did not find in the class": (
        lambda x: x * (3.0 if hasattr(settings, "later") else 2.0),
        lambda m: m.setattr(Settings, "later", 1, raising=False),
    ),
    "attribute that was missed": (
        lambda x: missed(x), lambda m: m.setattr(settings, "later", 3.0, raising=False),
    ),
    "sign of zero": (
        lambda x: x * (2.5 + math.copysign(0.5, -ZERO[0])), lambda m: m.setitem(_Zero(), 0, -0.0),
    ),
    "keyword default": (
        lambda x: helper_keyword(x),
        lambda m: m.setattr(helper_keyword, "__kwdefaults__", {"scale": 3.0}),
    ),
    "item added": (
        lambda x: x * TABLE.get("more", 2.0), lambda m: m.setitem(TABLE, "more", 3.0),
    ),
    "list made longer": (
        lambda x: x * sum(LONG), lambda m: m.setitem(globals_list(), slice(1, 1), [1.0]),
    ),
    "function of a module": (
        lambda x: config.function(x), lambda m: m.setattr(config, "function", helper_body_changed),
    ),
    "tuple in a list": (lambda x: x * PAIRS[0][1], set_global("PAIRS", [(1, 3.0)])),
    "enum member": (lambda x: x * MODE.value, set_global("MODE", Mode.THREE)),
    "object replaced by an equal one that then changes": (
        lambda x: x * config.inner.scale, lambda m: m.setattr(
            config, "inner", types.SimpleNamespace(scale=3.0)
        ),
    ),
    "function of the library": (
        lambda x: cute.math.floor(x * 2.5),
        lambda m: m.setattr(cute.math, "floor", lambda x, **_: x * 1.2),
    ),
    "order of a dict": (
        lambda x: x * next(iter(ORDER.values())),
        lambda m: m.setitem(_Order(), "keys", ["b", "a"]),
    ),
    "attribute that a function does not have": (
        lambda x: x * (3.0 if hasattr(helper_body, "later") else 2.0),
        lambda m: m.setattr(helper_body, "later", 1, raising=False),
    ),
    "attribute that a jit function does not have": (
        lambda x: x * getattr(helper_jit, "later", 2.0),
        lambda m: m.setattr(helper_jit, "later", 3.0, raising=False),
    ),
    "shadowed builtin": (
        lambda x: x * int(2.0), lambda m: m.setattr(
            sys.modules[__name__], "int", lambda v: v + 1, raising=False
        ),
    ),
}  # fmt: skip


@pytest.mark.parametrize("name", MUTATIONS)
def test_a_change_is_seen(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    body, mutate = MUTATIONS[name]
    fn = make(body)
    assert result(fn) == 2.0
    assert traces(fn) == 0, fn.retraced_because
    mutate(monkeypatch)
    assert result(fn) == 3.0
    assert traces(fn) == 0
    monkeypatch.undo()
    assert result(fn) == 2.0


class Kind(abc.ABC):  # noqa: B024 - others are registered with it
    """What classes are registered with."""


class Plain:
    pass


plain = Plain()


def test_a_class_that_is_registered_later() -> None:
    from opencute.jit.entry import code

    fn = make(lambda x: x * (3.0 if isinstance(plain, Kind) else 2.0))
    assert result(fn) == 2.0
    assert traces(fn) == 0, fn.retraced_because
    (version,) = fn.versions.values()
    native = version.guard.native()
    assert native is not None and code.load().holds(native[0])
    Kind.register(Plain)
    assert not code.load().holds(native[0])
    assert result(fn) == 3.0
    assert traces(fn) == 0


def test_a_closure_cell() -> None:
    scale = 2.0
    fn = make(lambda x: x * scale)
    assert result(fn) == 2.0 and traces(fn) == 0
    scale = 3.0
    assert result(fn) == 3.0 and traces(fn) == 0


def test_a_lambda_as_argument() -> None:
    @cute.kernel
    def kernel(mX: cute.Tensor, op: Any) -> None:
        mX[0] = op(mX[0])

    @cute.jit
    def host(op: cute.typing.Constexpr, mX: cute.Tensor) -> None:
        kernel(mX, op).launch(grid=1, block=1)

    scale = 2.0
    double, triple = (lambda x: x * scale), (lambda x: x * 3.0)
    x = np.ones(1, np.float32)
    host(double, from_dlpack(x))
    host(triple, from_dlpack(x))
    scale = 5.0
    host(double, from_dlpack(x))
    assert x[0] == 30.0


def test_a_function_that_a_plan_holds(monkeypatch: pytest.MonkeyPatch) -> None:
    """Plans of ours are what they are; functions of the user's in them may read anything."""
    from opencute.kernels.gemm.visitors import VisitorPlan, apply, chain

    def finish(x: Any, tile: Any = None) -> Any:
        return x * SCALE

    @cute.kernel
    def kernel(mX: cute.Tensor, plan: cute.typing.Constexpr) -> None:
        fn = plan.fn if plan.names else plan.fn.steps[0].fn
        mX[0] = fn(mX[0])

    @cute.jit
    def host(mX: cute.Tensor, plan: cute.typing.Constexpr) -> None:
        kernel(mX, plan).launch(grid=1, block=1)

    plans = (VisitorPlan(finish, ("a",), ("row",)), chain(apply(finish)).plan())
    x = np.ones(1, np.float32)
    for plan in plans:
        host(from_dlpack(x), plan)
    before = COUNTERS.compilations
    for plan in plans:
        host(from_dlpack(x), plan)
    assert x[0] == 16.0 and COUNTERS.compilations == before
    monkeypatch.setitem(globals(), "SCALE", 3.0)
    x[0] = 1.0
    for plan in plans:
        host(from_dlpack(x), plan)
    assert x[0] == 9.0


def test_the_environment_is_read_at_each_call(monkeypatch: pytest.MonkeyPatch) -> None:
    import os

    fn = make(lambda x: x * float(os.environ["A_SCALE"]))
    monkeypatch.setenv("A_SCALE", "2")
    assert result(fn) == 2.0
    monkeypatch.setenv("A_SCALE", "3")
    assert result(fn) == 3.0
    assert traces(fn) == 0, fn.retraced_because


def test_an_object_that_cannot_be_followed_is_traced_each_time() -> None:
    class Opaque:
        def __init__(self) -> None:
            self.scale = 2.0

        def __getattr__(self, name: str) -> Any:
            return {"factor": self.scale}[name]

        def __call__(self, x: Any) -> Any:
            return x * self.factor

    op = Opaque()
    fn = make(lambda x: op(x))
    assert result(fn) == 2.0
    op.scale = 3.0
    assert result(fn) == 3.0
    assert traces(fn) == 1
    assert "op" in fn.retraced_because and "Opaque" in fn.retraced_because


def test_a_method_sees_its_object_change() -> None:
    class Scale:
        def __init__(self, scale: float) -> None:
            self.scale = scale

        @cute.kernel
        def kernel(self, mX: cute.Tensor) -> None:
            mX[0] = mX[0] * self.scale

        @cute.jit
        def __call__(self, mX: cute.Tensor) -> None:
            self.kernel(mX).launch(grid=1, block=1)

    op = Scale(2.0)
    x = np.ones(1, np.float32)
    op(from_dlpack(x))
    op.scale = 3.0
    op(from_dlpack(x))
    assert x[0] == 6.0


@pytest.mark.parametrize("name", MUTATIONS)
def test_native_code_sees_every_change(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    from opencute.jit.entry import code

    body, mutate = MUTATIONS[name]
    fn = make(body)
    result(fn)
    (version,) = fn.versions.values()
    native = version.guard.native()
    assert native is not None
    words, keep = native
    for _ in range(3):
        assert code.load().holds(words)
    own = [x for x in keep if sys.getrefcount(x) < 1000]  # None changes by itself
    holds = code.load().holds
    gc.collect()
    gc.disable()
    try:
        counts = [sys.getrefcount(x) for x in own]
        for _ in range(100):
            holds(words)
        # Small numbers are shared: a list of counts refers to some. What is lost is lost each time.
        after = [sys.getrefcount(x) for x in own]
        assert all(abs(a - b) < 50 for a, b in zip(after, counts, strict=True))
    finally:
        gc.enable()
    mutate(monkeypatch)
    assert not code.load().holds(words), name
    monkeypatch.undo()


def test_a_function_that_changes_what_it_reads_is_traced_each_time() -> None:
    @cute.kernel
    def kernel(mX: cute.Tensor, n: cute.typing.Constexpr) -> None:
        mX[0] = mX[0] + n

    class Counting:
        def __init__(self) -> None:
            self.calls = 0

        @cute.jit
        def __call__(self, mX: cute.Tensor) -> None:
            self.calls += 1
            kernel(mX, self.calls).launch(grid=1, block=1)

    op = Counting()
    x = np.zeros(1, np.float32)
    for _ in range(4):
        op(from_dlpack(x))
    assert x[0] == 1 + 2 + 3 + 4
    assert "calls" in Counting.__call__.retraced_because


def test_an_object_that_sets_the_same_attributes_again_is_traced_twice() -> None:
    @cute.kernel
    def kernel(mX: cute.Tensor, n: cute.typing.Constexpr) -> None:
        mX[0] = mX[0] + n

    class Configured:
        @cute.jit
        def __call__(self, mX: cute.Tensor) -> None:
            self.step = 2
            kernel(mX, self.step).launch(grid=1, block=1)

    op = Configured()
    x = np.zeros(1, np.float32)
    before = COUNTERS.compilations
    for _ in range(4):
        op(from_dlpack(x))
    assert x[0] == 8 and COUNTERS.compilations - before <= 2


@dataclasses.dataclass(frozen=True)
class Config:
    scale: Any
    note: Any = dataclasses.field(default=None, compare=False)


def test_equal_records_with_other_numbers() -> None:
    """1, True and 1.0 are equal, and what is not compared may differ."""

    @cute.kernel
    def kernel(mX: cute.Tensor, c: cute.typing.Constexpr) -> None:
        kinds = {"int": 1.0, "bool": 2.0, "float": 3.0}
        mX[0] = kinds[type(c.scale).__name__] + 10 * (c.note or 0)

    @cute.jit
    def host(mX: cute.Tensor, c: cute.typing.Constexpr) -> None:
        kernel(mX, c).launch(grid=1, block=1)

    x = np.zeros(1, np.float32)
    for config, want in (
        (Config(1), 1), (Config(True), 2), (Config(1.0), 3), (Config(1, 4), 41), (Config(1), 1),
    ):  # fmt: skip
        host(from_dlpack(x), config)
        assert x[0] == want


def test_objects_in_containers_of_arguments() -> None:
    @cute.kernel
    def kernel(mX: cute.Tensor, parts: Any) -> None:
        mX[0] = parts["all"][0].scale

    @cute.jit
    def host(mX: cute.Tensor, parts: Any) -> None:
        kernel(mX, parts).launch(grid=1, block=1)

    one, x = Settings(), np.zeros(1, np.float32)
    for scale in (2.0, 2.0, 3.0):
        one.scale = scale
        host(from_dlpack(x), {"all": [one]})
        assert x[0] == scale
