# SPDX-FileCopyrightText: 2026 The OpenCuTe authors
# SPDX-License-Identifier: Apache-2.0
"""Results of host functions: in the simulator, in the native host function, and what is refused."""

from __future__ import annotations

import ctypes
import dataclasses
from typing import Any, NamedTuple

import numpy as np
import pytest

import opencute as cutlass
from opencute import cute
from opencute.base.counters import COUNTERS
from opencute.base.errors import LanguageError
from opencute.cute.runtime import from_dlpack
from opencute.frontend.arguments.returns import Returned
from opencute.ir.types import FloatType
from opencute.native.jit import compile_host
from opencute.numeric.dtypes import DTYPES
from opencute.numeric.scalars import decode_scalar, encode_scalar

pytestmark = pytest.mark.t1


class Pair(NamedTuple):
    first: Any
    second: Any


@dataclasses.dataclass(frozen=True)
class Config:
    size: Any
    name: str


@cute.jit
def several(x: cutlass.Int32, y: cutlass.Float32):
    z = x + 1
    if x > 3:
        z = x * 2
    narrow = cutlass.Uint8(x), cutlass.Int8(x), cutlass.Int16(x), cutlass.Uint16(x)
    floats = cutlass.Float16(y), cutlass.BFloat16(y), cutlass.Float64(y)
    return z, y * 2.0, x > 3, "text", Pair(x, {"k": cutlass.Int64(x) << 40}), narrow, floats


def expected(x: int, y: float) -> Any:
    u8, u16 = x & 0xFF, x & 0xFFFF
    i8, i16 = (u8 ^ 0x80) - 0x80, (u16 ^ 0x8000) - 0x8000
    z = x * 2 if x > 3 else x + 1
    return (z, y * 2.0, x > 3, "text", Pair(x, {"k": x << 40}), (u8, i8, i16, u16), (y, y, y))


@pytest.mark.parametrize(("x", "y"), [(5, 1.5), (-2, -0.25), (3, 0.0), (300, 2.5), (-40000, 1.0)])
def test_numbers_of_every_width_come_back_as_pythons(x: int, y: float) -> None:
    out = several(x, y)
    assert out == expected(x, y)
    assert [type(v) for v in (out[0], out[1], out[2])] == [int, float, bool]
    assert isinstance(out[4], Pair)


def test_compiled_functions_return_too() -> None:
    compiled = cute.compile(several, 1, 1.0)
    assert compiled(7, 0.5) == expected(7, 0.5)
    assert compiled(-7, 4.0) == expected(-7, 4.0)


@cute.kernel
def _store(t: cute.Tensor, x: cutlass.Int32):
    t[0] = x


@cute.jit
def storing(t: cute.Tensor, x: cutlass.Int32):
    _store(t, x).launch(grid=1, block=1)


@pytest.mark.parametrize("as_keyword", [False, True])
def test_functions_that_return_nothing_give_none(as_keyword: bool) -> None:
    """In the simulator as on a GPU, also where a call is not remembered."""
    t = np.zeros(1, np.int32)
    compiled = cute.compile(storing, t, 1)
    for run in (storing, compiled, compiled):
        assert (run(t, x=3) if as_keyword else run(t, 3)) is None
    assert t[0] == 3
    assert cute.compile(several, 1, 1.0)(x=7, y=0.5) == expected(7, 0.5)


def native(compiled: Any, *values: int) -> list[int]:
    """Run the host function of a compiled function as this CPU's code; the bits of its results."""
    code = compiled.artefacts.host
    launch = ctypes.CFUNCTYPE(ctypes.c_int, *[ctypes.c_void_p] * 4)(lambda *_: 0)
    address = ctypes.cast(launch, ctypes.c_void_p).value or 0
    with compile_host(code.llvm_ir, {"cuLaunchKernelEx": address}) as module:
        slots = (ctypes.c_uint64 * code.slots)(0, 0, *values)
        entry = ctypes.CFUNCTYPE(ctypes.c_int, ctypes.c_void_p)(module.address(code.name))
        assert entry(ctypes.addressof(slots)) == 0
        return [
            decode_scalar(bits & (1 << t.width) - 1, DTYPES[t.name])
            if isinstance(t, FloatType) else bits
            for bits, t in zip(slots[-len(code.results) :], code.results, strict=True)
        ]  # fmt: skip


def test_the_native_host_function_agrees_with_the_simulator() -> None:
    compiled = cute.compile(several, 1, 1.0)
    # What the run time makes of the numbers of either side.
    returned: Returned = compiled._request.returned
    for x, y in ((5, 1.5), (-2, -0.25), (300, 2.5), (2147483, -1.0)):
        bits = int(encode_scalar(y, DTYPES["f32"]))
        assert returned.object(native(compiled, x & 0xFFFFFFFF, bits)) == compiled(x, y)


@cute.kernel
def fill(t: cute.Tensor, value: cutlass.Int32):
    t[cute.arch.thread_idx()[0]] = value


@cute.jit
def launch_and_count(t: cute.Tensor, value: cutlass.Int32):
    fill(t, value).launch(grid=1, block=cute.size(t))
    return cute.size(t), t.shape[0] * value


def test_a_function_that_launches_may_return() -> None:
    x = np.zeros(8, np.int32)
    t = from_dlpack(x).mark_layout_dynamic()
    compiled = cute.compile(launch_and_count, t, 1)
    before = COUNTERS.launches
    assert compiled(t, 3) == (8, 24)
    assert COUNTERS.launches == before + 1 and (x == 3).all()
    y = np.zeros(5, np.int32)
    assert compiled(from_dlpack(y).mark_layout_dynamic(), 2) == (5, 10)


@cute.jit
def early(x: cutlass.Int32):
    if x > 3:
        return x + 1
    return x * 10


@cute.jit
def helper(x: cutlass.Int32):
    return x * 3, x > 2


@cute.jit
def calls_helper(x: cutlass.Int32):
    y, big = helper(x)
    z = y
    if big:
        z = y + 100
    return z


@cute.jit
def element(t: cute.Tensor, i: cutlass.Int32):
    return t[i]


@cute.jit
def static_things(t: cute.Tensor):
    return cutlass.Int32(9), t.layout, cutlass.Float16, Config(4, "a"), [None, "b"]


def test_early_returns_helpers_elements_and_compile_time_values() -> None:
    assert [early(x) for x in (1, 7)] == [10, 8]
    assert [calls_helper(x) for x in (1, 5)] == [3, 115]
    x = np.array([1.5, -2.0], np.float32)
    assert [element(x, i) for i in (0, 1)] == [1.5, -2.0]
    nine, layout, dtype, config, items = static_things(from_dlpack(x))
    assert (nine, str(layout), dtype) == (9, "(2):(1)", cutlass.Float16)
    assert config == Config(4, "a") and items == [None, "b"]


def test_functions_of_equal_code_keep_their_own_results() -> None:
    @cute.jit
    def a(x: cutlass.Int32):
        return "a"

    @cute.jit
    def b(x: cutlass.Int32):
        return "b"

    assert [f(1) for f in (a, b, a, b)] == ["a", "b", "a", "b"]


@cute.jit
def returns_a_tensor(t: cute.Tensor):
    return t


@cute.jit
def returns_a_vector(t: cute.Tensor):
    return t.load()


@cute.jit
def returns_a_pointer(t: cute.Tensor):
    return {"p": t.iterator}


@pytest.mark.parametrize("fn", [returns_a_tensor, returns_a_vector, returns_a_pointer])
def test_what_only_compiled_code_can_hold_is_refused(fn: Any) -> None:
    with pytest.raises(LanguageError, match="only compiled code can hold") as e:
        fn(from_dlpack(np.zeros(4, np.float32)))
    assert e.value.code == "OC1131" and "def returns_a" in str(e.value)
