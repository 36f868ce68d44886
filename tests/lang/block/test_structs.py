# SPDX-FileCopyrightText: 2026 The OpenCuTe authors
# SPDX-License-Identifier: Apache-2.0
"""Structs: layout as C's, members, and what they refuse."""

from __future__ import annotations

import ctypes
import importlib.util
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import opencute as cutlass
from opencute import cute, utils
from opencute.base.errors import LayoutError, OutOfBoundsError, TypeMismatchError
from opencute.base.knobs import KNOBS
from opencute.lang.block.structs import Align, MemRange, struct, union

pytestmark = pytest.mark.t0
C_TYPES: dict[str, tuple[Any, Any]] = {
    "Int8": (cutlass.Int8, ctypes.c_int8), "Int16": (cutlass.Int16, ctypes.c_int16),
    "Int32": (cutlass.Int32, ctypes.c_int32), "Int64": (cutlass.Int64, ctypes.c_int64),
    "Float32": (cutlass.Float32, ctypes.c_float), "Float64": (cutlass.Float64, ctypes.c_double),
}  # fmt: skip
members = st.lists(
    st.tuples(st.sampled_from(sorted(C_TYPES)), st.integers(0, 5)), min_size=1, max_size=8
)


def _both(fields: list[tuple[str, int]], overlay: bool = False) -> tuple[Any, Any]:
    ours: dict[str, Any] = {}
    theirs: list[tuple[str, Any]] = []
    for i, (name, n) in enumerate(fields):
        dtype, c = C_TYPES[name]
        ours[f"m{i}"] = MemRange[dtype, n] if n else dtype
        theirs.append((f"m{i}", c * n if n else c))
    base: Any = ctypes.Union if overlay else ctypes.Structure
    kind: Any = union if overlay else struct
    return (
        kind(type("S", (), {"__annotations__": ours})),
        type("S", (base,), {"_fields_": theirs}),
    )


@settings(max_examples=80, deadline=None)
@given(members, st.booleans())
def test_layout_is_that_of_c(fields: list[tuple[str, int]], overlay: bool):
    ours, theirs = _both(fields, overlay)
    assert ours.size_in_bytes() == ctypes.sizeof(theirs)
    assert ours.alignof() == ctypes.alignment(theirs)
    for i in range(len(fields)):
        assert ours.offsetof(f"m{i}") == getattr(theirs, f"m{i}").offset


@struct
class Pair:
    re: cutlass.Float32
    im: cutlass.Float32


@struct
class Storage:
    a: cute.struct.MemRange[cutlass.Float32, 32]
    b: cutlass.Int64
    c: Pair
    x: cute.struct.Align[cute.struct.MemRange[cutlass.Float32, 32], 128]
    y: cute.struct.Align[cutlass.Int32, 8]
    z: cute.struct.Align[Pair, 16]
    empty: cute.struct.MemRange[cutlass.Int64, 0]
    packed: cute.struct.MemRange[cutlass.Float4E2M1FN, 3]


def test_alignment_and_nesting():
    assert [Storage.offsetof(n) for n in ("b", "c", "x", "y", "z")] == [128, 136, 256, 384, 400]
    assert Storage.__alignof__() == 128
    assert Storage.__sizeof__() == Storage.size_in_bytes() == 512
    assert Storage.offsetof("packed") == 408
    assert repr(Pair) == "<struct Pair: 8 bytes, align 4>"


@pytest.mark.parametrize(
    ("make", "code"),
    [
        (lambda: MemRange[cutlass.Float32], "OC1296"),
        (lambda: MemRange[cutlass.Float32, -1], "OC1297"),
        (lambda: MemRange[cutlass.Float32, 1.5], "OC1297"),
        (lambda: Align[cutlass.Float32], "OC1296"),
        (lambda: Align[cutlass.Float32, 0], "OC1297"),
        (lambda: struct(type("S", (), {"__annotations__": {"a": object()}})), "OC1298"),
    ],
)
def test_what_cannot_be_a_member(make: Any, code: str):
    with pytest.raises(TypeMismatchError) as caught:
        make()
    assert caught.value.code == code


def test_alignment_is_a_power_of_two():
    with pytest.raises(LayoutError, match="power of two"):
        _ = Align[cutlass.Int32, 12]


@cute.kernel
def one_kernel(body: cutlass.Constexpr):
    body(utils.SmemAllocator().allocate(Storage))


@cute.jit
def one(body: cutlass.Constexpr):
    one_kernel(body).launch(grid=1, block=1)


def _trace(body: Any) -> Any:
    with KNOBS.override(target="sim:sm_90a"):
        return cute.compile(one, body)


def test_pointers_and_tensors_of_members():
    seen: list[str] = []

    def body(s: Any) -> None:
        assert s.b.ptr.dtype is cutlass.Int64
        seen.extend(map(str, (s.a.data_ptr(), s.b.ptr, s.c.re.ptr, s.z.im.ptr, s.ptr)))
        seen.append(str(s.x.get_tensor(cute.make_layout((8, 4)))))
        seen.append(str(s.x.get_tensor((8, 4), swizzle=cute.make_swizzle(1, 4, 3))))
        seen.append(str(s.x.get_tensor((16, 4), dtype=cutlass.Float16)))
        assert len(s.a) == s.a.size == 32 and s.a.size_in_bytes() == 128

    _trace(body)
    assert seen == [
        "ptr<f32, smem, align<1024>>",
        "ptr<i64, smem, align<128>>",
        "ptr<f32, smem, align<8>>",
        "ptr<f32, smem>",
        "ptr<i8, smem, align<1024>>",
        "tensor<ptr<f32, smem, align<256>> o (8,4):(1,8)>",
        "tensor<ptr<f32, smem, align<256>, S<1,4,3>> o (8,4):(1,8)>",
        "tensor<ptr<f16, smem, align<256>> o (16,4):(1,16)>",
    ]


BROKEN: dict[str, tuple[Any, Any, str]] = {
    "a range is no number": (lambda s: setattr(s, "b", 1), lambda s: setattr(s, "a", 1), "OC1299"),
    "beyond its end": (lambda s: s.a[31], lambda s: s.a[32], "OC1369"),
    "a tensor too large": (
        lambda s: s.a.get_tensor((8, 4)), lambda s: s.a.get_tensor((8, 5)), "OC1369",
    ),
    "a tensor swizzled twice": (
        lambda s: s.a.get_tensor(cute.make_layout(32), swizzle=cute.make_swizzle(1, 4, 3)),
        lambda s: s.a.get_tensor(
            cute.make_composed_layout(cute.make_swizzle(1, 2, 3), 0, cute.make_layout(32)),
            swizzle=cute.make_swizzle(1, 4, 3),
        ),
        "OC1369",
    ),
}  # fmt: skip


@pytest.mark.parametrize("name", BROKEN)
def test_the_broken_one_beside_the_right_one(name: str):
    right, broken, code = BROKEN[name]
    _trace(right)
    with pytest.raises((LayoutError, TypeMismatchError)) as caught:
        _trace(broken)
    assert caught.value.code == code


def test_an_unknown_member_says_what_there_is():
    with pytest.raises(AttributeError, match="no member 'd'; it has a, b, c, x"):
        _trace(lambda s: s.d)
    with pytest.raises(AttributeError, match="no member 'd'"):
        _trace(lambda s: setattr(s, "d", 1))


def test_a_struct_defined_in_a_kernel_with_sizes_of_its_own():
    @cute.kernel
    def kernel(n: cutlass.Constexpr):
        @cute.struct
        class Local:
            buffer: cute.struct.MemRange[cutlass.Float32, n]
            flag: cutlass.Int32

        storage = utils.SmemAllocator().allocate(Local)
        if cute.arch.thread_idx()[0] == 0:
            storage.flag = 1
            storage.buffer[n - 1] = 2.0

    @cute.jit
    def host(n: cutlass.Constexpr):
        kernel(n).launch(grid=1, block=32)

    with KNOBS.override(target="sim:sm_90a"):
        text = cute.compile(host, 7).__mlir__
        host(9)
    assert "bytes = 32 : i64" in text and "cute.smem_bytes = 32 : i64" in text


def test_the_simulator_finds_a_write_beyond_the_struct():
    @cute.kernel
    def kernel(past: cutlass.Int32):
        storage = utils.SmemAllocator().allocate(Pair)
        (cute.recast_ptr(storage.ptr, dtype=cutlass.Float32) + past).store(1.0)

    @cute.jit
    def host(past: cutlass.Int32):
        kernel(past).launch(grid=1, block=1)

    with KNOBS.override(target="sim:sm_90a"):
        host(1)
        with pytest.raises(OutOfBoundsError):
            host(2)


UNREGISTERED = """
from __future__ import annotations
import opencute as cutlass
from opencute import cute

@cute.struct
class Outer:
    a: cutlass.Int32

def make(n):
    @cute.struct
    class Inner:
        x: cute.struct.MemRange[cutlass.Float32, n]
    return Inner
"""


def test_a_module_that_nobody_registered(tmp_path: Path):
    """As `importlib.util.module_from_spec` leaves it, and as `exec` does."""
    path = tmp_path / "unregistered.py"
    path.write_text(UNREGISTERED)
    spec = importlib.util.spec_from_file_location("unregistered", path)
    assert spec is not None and spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    assert module.Outer.size_in_bytes() == 4 and module.make(3).size_in_bytes() == 12
