# SPDX-FileCopyrightText: 2026 The OpenCuTe authors
# SPDX-License-Identifier: Apache-2.0
"""Attributes that are assigned under a run-time condition: classes carry them as variables, other
objects that outlive the kernel refuse them."""

from __future__ import annotations

import dataclasses
import enum
import sys
import types
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
import pytest

import opencute as cutlass
from opencute import cute
from opencute.base.errors import LanguageError
from opencute.cute.runtime import from_dlpack
from opencute.frontend.state.kept import is_inert
from opencute.frontend.state.stores import STORE_ATTR, has_opcode, stored_names

pytestmark = pytest.mark.t0

config: Any = types.ModuleType("a_module_with_state")
config.inner = types.SimpleNamespace(value=1)
sys.modules["a_module_with_state"] = config


class Mode(enum.Enum):
    ONE = 1


class Plain:
    value = 1


class Inherits(Plain):
    pass


class Meta(type):
    pass


class WithMeta(metaclass=Meta):
    value = 1


class Triple(tuple):
    pass


class Real(float):
    pass


@dataclasses.dataclass(frozen=True)
class Frozen:
    value: int = 1


triple: Any = Triple((1, 2, 3))
real: Any = Real(1.5)
failure: Any = ValueError()
frozen = Frozen()
GLOBAL = 1


def set_module(v: Any) -> None:
    config.value = v


def set_inside(v: Any) -> None:
    config.inner.value = v


def set_member(v: Any) -> None:
    Mode.ONE.extra = v  # type: ignore[attr-defined]


def set_enum(v: Any) -> None:
    type.__setattr__(Mode, "extra_of_all", v)


def set_class(v: Any) -> None:
    Plain.value = v


def set_subclass(v: Any) -> None:
    Inherits.value = v


def set_with_meta(v: Any) -> None:
    WithMeta.value = v


def set_tuple(v: Any) -> None:
    triple.value = v


def set_number(v: Any) -> None:
    real.value = v


def set_exception(v: Any) -> None:
    failure.value = v


def set_frozen(v: Any) -> None:
    object.__setattr__(frozen, "value", v)


def set_by_name(v: Any) -> None:
    setattr(config, "value", v)  # noqa: B010


def set_globals(v: Any) -> None:
    globals()["GLOBAL"] = v


CARRIED: dict[Any, Callable[[], Any]] = {
    set_inside: lambda: config.inner.value,
    set_class: lambda: Plain.value,
    set_subclass: lambda: Inherits.value,
    set_with_meta: lambda: WithMeta.value,
}
REFUSED: dict[Any, Callable[[], Any]] = {
    set_module: lambda: config.value,
    set_by_name: lambda: config.value,
    set_member: lambda: Mode.ONE.extra,  # type: ignore[attr-defined]
    set_enum: lambda: Mode.extra_of_all,  # type: ignore[attr-defined]
    set_tuple: lambda: triple.value,
    set_number: lambda: real.value,
    set_exception: lambda: failure.value,
    set_frozen: lambda: frozen.value,
    set_globals: lambda: GLOBAL,
}


@pytest.fixture(autouse=True)
def reset() -> Iterator[None]:
    for setter in (*CARRIED, *REFUSED):
        setter(1)
    yield
    for setter in (*CARRIED, *REFUSED):
        setter(1)


def in_a_branch(setter: Any, getter: Any) -> list[int]:
    @cute.kernel
    def kernel(o: cute.Tensor, n: cutlass.Int32):
        i = cute.arch.thread_idx()[0]
        if i < n:
            setter(2)
        o[i] = getter()

    return run(kernel)


def in_a_loop(setter: Any, getter: Any) -> list[int]:
    @cute.kernel
    def kernel(o: cute.Tensor, n: cutlass.Int32):
        i = cute.arch.thread_idx()[0]
        for _ in range(i):
            setter(getter() + 1)
        o[i] = getter()

    return run(kernel)


def run(kernel: Any) -> list[int]:
    @cute.jit
    def host(o: cute.Tensor, n: cutlass.Int32):
        kernel(o, n).launch(grid=1, block=4)

    o = np.zeros(4, np.int32)
    host(from_dlpack(o), 2)
    return o.tolist()


@pytest.mark.parametrize("setter", CARRIED, ids=lambda f: f.__name__)
def test_classes_are_carried(setter: Any) -> None:
    assert in_a_branch(setter, CARRIED[setter]) == [2, 2, 1, 1]
    setter(1)
    assert in_a_loop(setter, CARRIED[setter]) == [1, 2, 3, 4]


@pytest.mark.parametrize("setter", REFUSED, ids=lambda f: f.__name__)
def test_what_cannot_be_carried_is_refused(setter: Any) -> None:
    for way in (in_a_branch, in_a_loop):
        with pytest.raises(LanguageError, match="OC1142") as e:
            way(setter, REFUSED[setter])
        assert e.value.loc is not None and e.value.hint


def test_an_assignment_in_the_branch_itself() -> None:
    @cute.kernel
    def kernel(o: cute.Tensor, n: cutlass.Int32):
        i = cute.arch.thread_idx()[0]
        if i < n:
            config.value = 2
        o[i] = config.value

    with pytest.raises(LanguageError, match="attribute of module a_module_with_state"):
        run(kernel)


def test_under_a_static_condition_it_is_python() -> None:
    @cute.kernel
    def kernel(o: cute.Tensor, n: cutlass.Int32):
        i = cute.arch.thread_idx()[0]
        if cutlass.const_expr(True):
            set_module(7)
        if i < n:
            o[i] = config.value

    assert run(kernel) == [7, 7, 0, 0]


def test_code_that_assigns_attributes_is_told_by_its_bytes() -> None:
    def sets(x: Any) -> None:
        x.value = 1

    def deletes(x: Any) -> None:
        del x.value

    def reads(x: Any) -> Any:
        return x.value, [lambda y: sets(y)]

    assert has_opcode(sets.__code__, STORE_ATTR) and has_opcode(deletes.__code__, STORE_ATTR)
    assert not has_opcode(reads.__code__, STORE_ATTR)
    assert stored_names(sets.__code__) == stored_names(deletes.__code__) == {"value"}
    assert not stored_names(reads.__code__)


@pytest.mark.parametrize("x", [1, 1.5, "a", None, 1j, cutlass.Int32(1), ...])
def test_what_leads_to_nothing_that_changes(x: Any) -> None:
    assert is_inert(type(x))


@pytest.mark.parametrize(
    "x",
    [[1], {1: 2}, {1}, (1,), Triple(), Real(1), Mode.ONE, Plain, Plain(), Frozen(), config,
     set_module, [1].append, frozenset({1}), bytearray(b"a"), iter([1]), np.zeros(1),
     ValueError(), range],
    ids=lambda x: type(x).__name__,
)  # fmt: skip
def test_what_may_lead_to_something_that_changes(x: Any) -> None:
    assert not is_inert(type(x))
