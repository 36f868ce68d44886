# SPDX-FileCopyrightText: 2026 The OpenCuTe authors
# SPDX-License-Identifier: Apache-2.0
"""Arguments that say themselves what they are passed as: C structures, wrappers, adapters."""

from __future__ import annotations

import ctypes
import dataclasses
from collections.abc import Iterator
from typing import Any

import numpy as np
import pytest

import opencute as cutlass
from opencute import cute
from opencute.base.counters import COUNTERS
from opencute.base.errors import ArgumentError, ArgumentTypeError, TypeMismatchError
from opencute.cute.runtime import from_dlpack, make_ptr
from opencute.dialects.llvm import LLVMPointerType
from opencute.frontend.arguments import adapters
from opencute.frontend.structured import extract_mlir_values, new_from_mlir_values
from opencute.ir.types import I8, I16, I32, I64
from opencute.lang.arguments.aggregates import memory_layout, read_value

pytestmark = pytest.mark.t0


@dataclasses.dataclass(frozen=True)
class Struct:
    members: tuple[Any, ...]
    packed: bool = False


class CTensor(ctypes.Structure):
    _fields_ = [("ptr", ctypes.c_void_p), ("shape", ctypes.c_int32 * 2), ("step", ctypes.c_int64)]


PAIR = Struct((I32, I32))
TENSOR = Struct((LLVMPointerType(), PAIR, I64))


class Foreign:
    """A view of memory that C code describes."""

    def __init__(self, array: np.ndarray) -> None:
        self.array = array
        rows, columns = array.shape
        self.c = CTensor(array.ctypes.data, (rows, columns), array.strides[0] // 4)

    def __get_mlir_types__(self) -> list[Any]:
        return [TENSOR]

    def __c_pointers__(self) -> list[Any]:
        return [ctypes.addressof(self.c)]

    def __new_from_mlir_values__(self, values: list[Any]) -> Any:
        (struct,) = values
        pointer = cute.make_ptr(cutlass.Float32, struct.member([0]), cute.AddressSpace.generic)
        shape = struct.member([1, 0]), struct.member([1, 1])
        return cute.make_tensor(pointer, cute.make_layout(shape, stride=(struct.member([2]), 1)))


@cute.kernel
def scale_kernel(t: cute.Tensor, factor: cutlass.Float32):
    i = cute.arch.thread_idx()[0]
    if i < cute.size(t):
        t[i % t.shape[0], i // t.shape[0]] = t[i % t.shape[0], i // t.shape[0]] * factor


@cute.jit
def scale(t, factor: cutlass.Float32):
    scale_kernel(t, factor).launch(grid=1, block=64)


@cute.jit
def total(t):
    out = cutlass.Float32(0)
    for i in range(t.shape[0]):
        for j in range(t.shape[1]):
            out += t[i, j]
    return out


def test_a_c_structure_is_read_at_each_call() -> None:
    x = np.arange(12, dtype=np.float32).reshape(3, 4)
    compiled = cute.compile(total, Foreign(x))
    assert compiled(Foreign(x)) == x.sum()
    before = COUNTERS.compilations
    y = np.arange(40, dtype=np.float32).reshape(5, 8)[:, 2:7]
    assert compiled(Foreign(y)) == y.sum()
    z = Foreign(x)
    z.c.shape[0] = 2
    assert compiled(z) == x[:2].sum()
    assert COUNTERS.compilations == before


def test_a_structure_reaches_a_kernel() -> None:
    x = np.arange(12, dtype=np.float32).reshape(3, 4)
    scale(Foreign(x), 2.0)
    np.testing.assert_array_equal(x, 2 * np.arange(12, dtype=np.float32).reshape(3, 4))


def test_memory_layout_is_cs() -> None:
    class C(ctypes.Structure):
        _fields_ = [
            ("a", ctypes.c_int8),
            ("b", ctypes.c_int64),
            ("c", CTensor),
            ("d", ctypes.c_int16),
        ]

    mine = Struct((I8, I64, TENSOR, I16))
    size, align, offsets = memory_layout(mine)
    assert (size, align) == (ctypes.sizeof(C), ctypes.alignment(C))
    assert offsets == (C.a.offset, C.b.offset, C.c.offset, C.d.offset)
    value = C(-3, 1 << 40, CTensor(64, (7, 8), -9), -300)
    out: list[Any] = []
    read_value(mine, ctypes.addressof(value), out)
    assert out[0] == -3 and out[1] == 1 << 40 and out[2].address == 64
    assert out[3:] == [7, 8, -9, -300]
    assert memory_layout(Struct((I8, I64), packed=True))[:2] == (9, 1)


class Scaled:
    """Parts of the language, passed on, and a compile-time attribute."""

    def __init__(self, data: Any, factor: Any, power: int = 1) -> None:
        self.data, self.factor, self.power = data, factor, power

    def __get_mlir_types__(self) -> list[Any]:
        return self.data.__get_mlir_types__() + self.factor.__get_mlir_types__()

    def __c_pointers__(self) -> list[Any]:
        return self.data.__c_pointers__() + self.factor.__c_pointers__()

    def __extract_mlir_values__(self) -> list[Any]:
        return self.data.__extract_mlir_values__() + self.factor.__extract_mlir_values__()

    def __new_from_mlir_values__(self, values: list[Any]) -> Scaled:
        data = self.data.__new_from_mlir_values__(values[:-1])
        return Scaled(data, self.factor.__new_from_mlir_values__(values[-1:]), self.power)


@cute.kernel
def scaled_kernel(s: Scaled):
    i = cute.arch.thread_idx()[0]
    x = s.data[i]
    for _ in range(s.power):
        x = x * s.factor
    s.data[i] = x


@cute.jit
def scaled(s: Scaled):
    scaled_kernel(s).launch(grid=1, block=cute.size(s.data))


def test_parts_of_the_language_are_passed_on() -> None:
    x = np.arange(4, dtype=np.float32)
    t = from_dlpack(x).mark_layout_dynamic()
    scaled(Scaled(t, cutlass.Float32(3.0), 2))
    assert x.tolist() == [0, 9, 18, 27]
    scaled(Scaled(t, cutlass.Float32(2.0), 1))  # another attribute: traced again
    assert x.tolist() == [0, 18, 36, 54]
    compiled = cute.compile(scaled, Scaled(t, cutlass.Float32(1.0), 1))
    y = np.ones(6, np.float32)
    compiled(Scaled(from_dlpack(y).mark_layout_dynamic(), cutlass.Float32(5.0)))
    assert y.tolist() == [5] * 6
    with pytest.raises(ArgumentTypeError, match="argument #0") as e:
        compiled(t)
    assert e.value.code == "OC2136"


class Buffer:
    def __init__(self, ptr: Any, size: int) -> None:
        self.ptr, self.size = ptr, size

    def __c_pointers__(self) -> list[Any]:
        return self.ptr.__c_pointers__()

    def __get_mlir_types__(self) -> list[Any]:
        return self.ptr.__get_mlir_types__()

    def __extract_mlir_values__(self) -> list[Any]:
        return self.ptr.__extract_mlir_values__()

    def __new_from_mlir_values__(self, values: list[Any]) -> Buffer:
        return Buffer(self.ptr.__new_from_mlir_values__(values), self.size)


@cute.kernel
def fill_buffer_kernel(b: Buffer):
    i = cute.arch.thread_idx()[0]
    cute.make_tensor(b.ptr, cute.make_layout(b.size))[i] = i


@cute.jit
def fill_buffer(b: Buffer):
    fill_buffer_kernel(b).launch(grid=1, block=b.size)


def test_a_pointer_with_static_facts() -> None:
    x = np.zeros(8, np.int32)
    pointer = make_ptr(cutlass.Int32, x.ctypes.data, cute.AddressSpace.gmem, assumed_align=4)
    fill_buffer(Buffer(pointer, 5))
    assert x.tolist() == [0, 1, 2, 3, 4, 0, 0, 0]
    fill_buffer(Buffer(pointer, 8))
    assert x.tolist() == list(range(8))


class Wrong(Scaled):
    def __c_pointers__(self) -> list[Any]:
        return self.data.__c_pointers__()


class Null(Foreign):
    def __c_pointers__(self) -> list[Any]:
        return [0]


class Odd(Foreign):
    def __get_mlir_types__(self) -> list[Any]:
        return ["f32"]


def test_broken_protocols_are_told() -> None:
    t = from_dlpack(np.zeros(4, np.float32))
    with pytest.raises(TypeMismatchError, match="differ in length") as e:
        scaled(Wrong(t, cutlass.Float32(1.0)))
    assert e.value.code == "OC1266"
    with pytest.raises(ArgumentError, match="null pointer") as e2:
        total(Null(np.zeros((2, 2), np.float32)))
    assert e2.value.code == "OC2145"
    with pytest.raises(TypeMismatchError) as e:
        total(Odd(np.zeros((2, 2), np.float32)))
    assert e.value.code == "OC1264"


# ---- adapters
class TheirTensor:
    def __init__(self, array: np.ndarray) -> None:
        self.array = array


class TheirMatrix(TheirTensor):
    pass


@pytest.fixture
def _adapters(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    monkeypatch.setattr(adapters, "_ADAPTERS", {})
    yield


@pytest.mark.usefixtures("_adapters")
def test_adapters_of_foreign_types() -> None:
    @cutlass.register_jit_arg_adapter(TheirTensor)
    def adapt(obj: TheirTensor) -> Any:
        return from_dlpack(obj.array).mark_layout_dynamic()

    x = np.ones((2, 3), np.float32)
    assert total(TheirTensor(x)) == 6
    compiled = cute.compile(total, TheirMatrix(x))  # derived types too
    assert compiled(TheirMatrix(np.full((4, 4), 2, np.float32))) == 32
    assert compiled(from_dlpack(x).mark_layout_dynamic()) == 6
    registry = adapters.JitArgAdapterRegistry
    assert registry.get_registered_adapter(TheirTensor) is adapt
    assert registry.get_registered_adapter(int) is None


@pytest.mark.usefixtures("_adapters")
def test_an_adapter_class_with_the_protocol() -> None:
    @cutlass.register_jit_arg_adapter(TheirTensor)
    class Adapter(Foreign):
        def __init__(self, obj: TheirTensor) -> None:
            super().__init__(obj.array)

    x = np.arange(6, dtype=np.float32).reshape(2, 3)
    assert total(TheirTensor(x)) == 15
    compiled = cute.compile(total, TheirTensor(x))
    assert compiled(TheirTensor(x[:1])) == 3


def test_adapters_need_types() -> None:
    with pytest.raises(ArgumentError, match="OC2146"):
        cutlass.register_jit_arg_adapter()


# ---- values of objects
def test_values_of_an_object_and_back() -> None:
    seen: list[Any] = []

    @cute.jit
    def fn(t: cute.Tensor, x: cutlass.Int32):
        pair = (t, x, 3, {"y": x + 1})
        values = extract_mlir_values(pair)
        again = new_from_mlir_values(pair, values)
        own = t.__new_from_mlir_values__(t.__extract_mlir_values__())
        seen.extend([str(t), str(again[0]), str(own), again[2], len(values)])
        with pytest.raises(TypeMismatchError, match="OC1218"):
            new_from_mlir_values(pair, values[:-1])
        return again[3]["y"] + again[0][1, 0] + own[0, 1]

    x = np.array([[1, 2], [30, 4]], np.int32)
    assert fn(from_dlpack(x).mark_layout_dynamic(), 100) == 133
    assert seen[0] == seen[1] == seen[2] and seen[3] == 3


def test_the_names_of_mlirs_bindings_take_structures() -> None:
    from opencute._mlir import ir
    from opencute._mlir.dialects import llvm

    i32 = ir.IntegerType.get_signless(32)
    inner = llvm.StructType.get_literal([i32] * 2)
    types = [llvm.PointerType.get(), inner, ir.IntegerType.get_signless(64)]

    class View(ir.Value):
        def __init__(self, v: Any) -> None:
            super().__init__(v)

        @property
        def tensor(self) -> Any:
            pointer = llvm.extractvalue(types[0], self, [0])
            shape = llvm.extractvalue(inner, self, [1])
            extents = tuple(llvm.extractvalue(i32, shape, [i]) for i in range(2))
            step = llvm.extractvalue(types[2], self, [2])
            layout = cute.make_layout(extents, stride=(step, 1))
            return cute.make_tensor(cute.make_ptr(cutlass.Float32, pointer), layout)

    class Passed(Foreign):
        def __get_mlir_types__(self) -> list[Any]:
            return [llvm.StructType.get_literal(types)]

        def __new_from_mlir_values__(self, values: list[Any]) -> Any:
            return View(values[0])

    @cute.jit
    def sum_of(view):
        t = view.tensor
        with pytest.raises(TypeMismatchError, match="OC1215"):
            llvm.extractvalue(types[2], view, [0])
        out = cutlass.Float32(0)
        for i in range(t.shape[0]):
            out += t[i, 1]
        return out

    x = np.arange(12, dtype=np.float32).reshape(3, 4)
    compiled = cute.compile(sum_of, Passed(x))
    assert compiled(Passed(x)) == x[:, 1].sum()
    assert compiled(Passed(x[1:])) == x[1:, 1].sum()
