# SPDX-FileCopyrightText: 2026 The OpenCuTe authors
# SPDX-License-Identifier: Apache-2.0
"""Functions compiled for fake tensors and marked examples, called with frameworks' tensors: what
fits, and each way not to."""

from __future__ import annotations

import dataclasses
from typing import Any, NamedTuple, Optional

import numpy as np
import pytest

import opencute as cutlass
from opencute import cute
from opencute.base.counters import COUNTERS
from opencute.base.errors import ArgumentError, ArgumentTypeError
from opencute.cute.runtime import (
    from_dlpack,
    make_fake_compact_tensor,
    make_fake_stream,
    make_fake_tensor,
    make_ptr,
    nullptr,
)

pytestmark = pytest.mark.t0

FFI = {"options": "--enable-tvm-ffi"}


@cute.kernel
def add_one_kernel(a: cute.Tensor, b: cute.Tensor):
    i = cute.arch.block_idx()[0] * 32 + cute.arch.thread_idx()[0]
    if i < cute.size(a):
        b[i] = a[i] + 1


@cute.jit
def add_one(a: cute.Tensor, b: cute.Tensor):
    add_one_kernel(a, b).launch(grid=cute.ceil_div(cute.size(a), 32), block=32)


def aligned(n: int, dtype: Any = np.float32) -> np.ndarray:
    raw = np.zeros(n * np.dtype(dtype).itemsize + 64, np.uint8)
    start = -raw.ctypes.data % 64
    return raw[start : start + n * np.dtype(dtype).itemsize].view(dtype)


def compiled_for_fakes(**kwargs: Any) -> Any:
    n = cute.sym_int(divisibility=16)
    fakes = [make_fake_compact_tensor(cute.Float32, (n,), **kwargs) for _ in range(2)]
    return cute.compile(add_one, *fakes, **FFI)


def test_fakes_serve_every_fitting_call_with_one_version() -> None:
    compiled = compiled_for_fakes(assumed_align=16)
    before = COUNTERS.compilations
    for n in (16, 128, 4096, 0):
        a, b = aligned(n), aligned(n)
        a[:] = np.arange(n)
        compiled(a, b)
        np.testing.assert_array_equal(b, a + 1)
        compiled(from_dlpack(a), from_dlpack(b).mark_layout_dynamic())
    assert COUNTERS.compilations == before


SIGNATURE = "add_one(a: Tensor([n0], float32), b: Tensor([n0], float32))"
BAD: dict[str, tuple[Any, str, str]] = {
    "no tensor": (lambda a, b: (a, 1), "OC2136", "mismatched type on argument #1"),
    "another dtype": (lambda a, b: (a.astype(np.float64), b), "OC2131", "element type on argument"),
    "another rank": (
        lambda a, b: (a.reshape(8, 16), b),
        "OC2131",
        "number of modes on argument #0",
    ),
    "another extent": (lambda a, b: (a, b[:112]), "OC2133", "mismatched b.shape[0] on argument #1"),
    "divisibility": (lambda a, b: (a[:120], b), "OC2138", "invalid a.shape[0] on argument #0"),
    "alignment": (lambda a, b: (a[1:113], b[:112]), "OC2135", "misaligned data on argument #0"),
    "a stride": (lambda a, b: (a[:64], b[::2]), "OC2131", "mismatched b.stride[0] on argument #1"),
}


@pytest.mark.parametrize("case", BAD)
def test_what_breaks_a_declaration_is_named(case: str) -> None:
    make, code, text = BAD[case]
    compiled = compiled_for_fakes(assumed_align=16)
    with pytest.raises(ArgumentError) as e:
        compiled(*make(aligned(128), aligned(128)))
    assert e.value.code == code and text in str(e.value) and SIGNATURE in str(e.value)
    assert isinstance(e.value, TypeError) == (case in ("no tensor", "another dtype"))
    assert isinstance(e.value, ValueError)


def test_fakes_cannot_be_called_with() -> None:
    fake = make_fake_compact_tensor(cute.Float32, (16,))
    with pytest.raises(ArgumentError, match="OC2144"):
        add_one(fake, fake)
    with pytest.raises(ArgumentError, match="OC2144"):
        compiled_for_fakes()(fake, fake)
    for use in (lambda: fake[0], lambda: fake.data_ptr, lambda: fake.__dlpack__(), fake.load):
        with pytest.raises(ArgumentError, match="OC2144"):
            use()


seen: list[str] = []


@cute.jit
def show(t: cute.Tensor):
    seen.append(str(t))


F16 = cutlass.Float16


@pytest.mark.parametrize(
    ("fake", "text"),
    [
        (lambda: make_fake_compact_tensor(F16, (3, 4), stride_order=(1, 0)), "o (3,4):(4,1)"),
        (lambda: make_fake_compact_tensor(F16, (2, 3, 4)), "o (2,3,4):(1,2,6)"),
        (lambda: make_fake_compact_tensor(F16, (2, 3, 4), stride_order=(2, 0, 1)),
         "o (2,3,4):(12,1,3)"),
        (lambda: make_fake_compact_tensor(F16, (3, cute.sym_int32(divisibility=8)),
                                          stride_order=(1, 0)),
         "o (3,?{div=8}):(?{i64 div=8},1)"),
        (lambda: make_fake_compact_tensor(F16, (cute.sym_int64(), 4, cute.SymInt(divisibility=2)),
                                          stride_order=(2, 1, 0), use_32bit_stride=True),
         "o (?{i64},4,?{div=2}):(?{div=8},?{div=2},1)"),
        (lambda: make_fake_tensor(F16, (3, cute.sym_int()), stride=(cute.sym_int64(divisibility=8),
                                                                    1)),
         "o (3,?):(?{i64 div=8},1)"),
        (lambda: make_fake_tensor(F16, (3, 4), stride=(4, 1)), "o (3,4):(4,1)"),
        (lambda: make_fake_tensor(F16, 8, 1, assumed_align=16), "align<16>> o (8):(1)"),
    ],
)  # fmt: skip
def test_layouts_of_fakes(fake: Any, text: str) -> None:
    cute.compile(show, fake(), **FFI)
    assert text in seen.pop()
    assert text.replace("align<16>> ", "") in str(fake())


@pytest.mark.parametrize(
    ("make", "code"),
    [
        (lambda: make_fake_compact_tensor(F16, (3, 4), stride_order=(0, 0)), "OC2109"),
        (lambda: make_fake_compact_tensor(F16, (3, 4), stride_order=(0,)), "OC2109"),
        (lambda: make_fake_compact_tensor(F16, (3, 1.5)), "OC2119"),
        (lambda: make_fake_compact_tensor(F16, (3, (2, 2))), "OC2119"),
        (lambda: make_fake_compact_tensor(F16, (-3,)), "OC2119"),
        (lambda: make_fake_compact_tensor(float, (3,)), "OC2119"),
        (lambda: make_fake_tensor(F16, (3, 4), stride=(1,)), "OC2119"),
        (lambda: make_fake_tensor(F16, (3,), stride=(1,), assumed_align=3), "OC2101"),
        (lambda: cute.sym_int(16), "OC2117"),
        (lambda: cute.sym_int(divisibility=0), "OC2117"),
        (lambda: cute.sym_int(divisibility=1.5), "OC2115"),
        (lambda: cute.sym_int() + 1, "OC2118"),
        (lambda: range(cute.sym_int64()), "OC2118"),
    ],
)
def test_fakes_refuse(make: Any, code: str) -> None:
    with pytest.raises(ArgumentError) as e:
        make()
    assert e.value.code == code


@cute.jit
def total(t: cute.Tensor):
    out = cutlass.Float32(0)
    for i in range(t.shape[0]):
        for j in range(t.shape[1]):
            out += t[i, j]
    return out, t.stride[0], t.stride[1]


def test_compact_strides_are_checked_and_strides_of_ones_are_not() -> None:
    m, n = cute.sym_int(), cute.sym_int()
    compiled = cute.compile(total, make_fake_compact_tensor(cute.Float32, (m, n),
                                                            stride_order=(1, 0)))  # fmt: skip
    x = np.arange(40, dtype=np.float32).reshape(5, 8)
    assert compiled(x) == (x.sum(), 8, 1)
    with pytest.raises(ArgumentError, match=r"mismatched t.stride\[0\]") as e:
        compiled(x[:, :4])
    assert e.value.code == "OC2134" and "4: a compact tensor" in str(e.value)
    with pytest.raises(ArgumentError, match="OC2134"):
        compiled(x.T)
    assert compiled(x[:1, :4])[0] == x[:1, :4].sum()  # one row: its stride is never used
    assert compiled(x[:, :1].copy())[0] == x[:, 0].sum()
    assert compiled(np.zeros((0, 3), np.float32))[0] == 0


def test_symbolic_strides_are_shared_too() -> None:
    s, n = cute.sym_int64(divisibility=4), cute.sym_int()
    fakes = [make_fake_tensor(cute.Float32, (n, 4), stride=(s, 1)) for _ in range(2)]

    @cute.jit
    def strides(a: cute.Tensor, b: cute.Tensor):
        return a.stride[0], b.stride[0], a.shape[0]

    compiled = cute.compile(strides, *fakes)
    x = np.zeros((6, 8), np.float32)
    assert compiled(x[:, :4], x[:, 4:]) == (8, 8, 6)
    with pytest.raises(ArgumentError, match="OC2133"):
        compiled(x[:, :4], np.zeros((6, 12), np.float32)[:, :4])
    with pytest.raises(ArgumentError, match="OC2138"):
        compiled(np.zeros((6, 6), np.float32)[:, :4], x[:, :4])


def test_symbols_as_numbers() -> None:
    @cute.jit
    def scaled(t: cute.Tensor, n: cutlass.Int32):
        return n * t.shape[0]

    n = cute.sym_int(divisibility=4)
    compiled = cute.compile(scaled, make_fake_compact_tensor(cute.Float32, (n,)), n)
    assert compiled(np.zeros(8, np.float32), 8) == 64
    for value, code in ((12, "OC2133"), (2.5, "OC1259")):
        with pytest.raises((ArgumentError, TypeError)) as e:
            compiled(np.zeros(8, np.float32), value)
        assert e.value.code == code
    with pytest.raises(ArgumentError, match="OC2118"):
        scaled(np.zeros(8, np.float32), n)


# ---- marked examples, called with plain arrays
def test_a_marked_example_takes_plain_arrays_and_static_ones_too() -> None:
    x = np.arange(40, dtype=np.float32).reshape(5, 8)
    compiled = cute.compile(total, from_dlpack(x).mark_compact_shape_dynamic(0, (0, 1)))
    assert compiled(x[:3]) == (x[:3].sum(), 8, 1)
    assert compiled(from_dlpack(x[:2])) == (x[:2].sum(), 8, 1)
    with pytest.raises(ArgumentError, match=r"mismatched t.shape\[1\]"):
        compiled(np.zeros((3, 7), np.float32))
    static = cute.compile(total, from_dlpack(x))
    assert static(x + 1)[0] == x.sum() + 40
    with pytest.raises(ArgumentError, match=r"mismatched t.shape\[0\]") as e:
        static(x[:4])
    assert e.value.code == "OC2131" and "Tensor([5, 8], float32)" in str(e.value)


# ---- streams
@cute.jit
def on_stream(a: cute.Tensor, b: cute.Tensor, stream):
    add_one_kernel(a, b).launch(grid=1, block=32, stream=stream)


class TheirStream:
    def __cuda_stream__(self) -> tuple[int, int]:
        return (0, 0)


class TorchLike:
    cuda_stream = 0


def fakes(n: int = 8) -> list[Any]:
    return [make_fake_compact_tensor(cute.Float32, (n,)) for _ in range(2)]


def test_streams_of_every_kind() -> None:
    compiled = cute.compile(on_stream, *fakes(), make_fake_stream(), **FFI)
    a, b = np.zeros(8, np.float32), np.zeros(8, np.float32)
    for stream in (TheirStream(), TorchLike(), 0, None):
        b[:] = 0
        compiled(a, b, stream)
        assert (b == 1).all()
    b[:] = 0
    compiled(a, b, stream=0)
    assert (b == 1).all()
    with pytest.raises(TypeError, match="OC1263"):
        compiled(a, b, "stream")
    with pytest.raises(ArgumentError, match="misses argument 'stream'"):
        compiled(a, b)
    on_stream(a, b, TheirStream())


def test_the_environments_stream_is_not_passed() -> None:
    fake = make_fake_stream(use_tvm_ffi_env_stream=True)

    @cute.jit
    def nested(tensors: tuple, stream):
        on_stream(*tensors, stream)

    a, b = np.zeros(8, np.float32), np.zeros(8, np.float32)
    for compiled, args in (
        (cute.compile(on_stream, *fakes(), fake, **FFI), (a, b)),
        (cute.compile(nested, tuple(fakes()), fake, **FFI), ((a, b),)),
    ):
        b[:] = 0
        compiled(*args)
        assert (b == 1).all()
        with pytest.raises(ArgumentError, match="OC2137"):
            compiled(*args, 5)


# ---- containers, defaults, pointers
class CuteArgs(NamedTuple):
    a: cute.Tensor
    b: cute.Tensor
    c: cutlass.Float32 = cutlass.Float32(1)


class TheirArgs(NamedTuple):
    a: Any
    b: Any
    c: float = 1


@dataclasses.dataclass(frozen=True)
class Record:
    a: cute.Tensor
    b: cute.Tensor
    times: cutlass.Constexpr


@dataclasses.dataclass(frozen=True)
class Plus:
    pass


@dataclasses.dataclass(frozen=True)
class Minus:
    pass


@cute.kernel
def add_kernel(a: cute.Tensor, b: cute.Tensor, c: cutlass.Float32):
    i = cute.arch.thread_idx()[0]
    b[i] = a[i] + c


@cute.jit
def with_tuple(args: tuple):
    add_kernel(args[0], args[1], args[2]).launch(grid=1, block=8)


@cute.jit
def with_named(args: CuteArgs):
    add_kernel(*args).launch(grid=1, block=8)


@cute.jit
def with_list(tensors: list[cute.Tensor], extra: tuple):
    for t in tensors[1:]:
        add_kernel(tensors[0], t, sum(extra) + 1.0).launch(grid=1, block=8)


@cute.jit
def with_record(r: Record):
    for _ in cutlass.range_constexpr(r.times):
        add_kernel(r.b, r.b, 1.0).launch(grid=1, block=8)


def test_tuples_lists_and_named_tuples() -> None:
    a, b, c = np.arange(8, dtype=np.float32), np.zeros(8, np.float32), np.zeros(8, np.float32)
    x, y = fakes()
    compiled = cute.compile(with_tuple, (x, y, cute.Float32(4)), **FFI)
    compiled((a, b, 5))
    np.testing.assert_array_equal(b, a + 5)
    compiled([a, b, 2.5])
    np.testing.assert_array_equal(b, a + 2.5)
    named = cute.compile(with_named, CuteArgs(x, y), **FFI)
    named(TheirArgs(a, b))
    np.testing.assert_array_equal(b, a + 1)
    named(TheirArgs(a=a, b=b, c=3))
    np.testing.assert_array_equal(b, a + 3)
    several = cute.compile(with_list, [x, y, y], (), **FFI)
    several([a, b, c], ())
    np.testing.assert_array_equal(c, a + 1)
    more = cute.compile(with_list, [x, y], (cute.Float32(4),), **FFI)
    more([a, b], (4,))
    np.testing.assert_array_equal(b, a + 5)
    with pytest.raises(ArgumentTypeError, match=r"'args\[1\]' is of the wrong type"):
        compiled((a, 5, 5))
    with pytest.raises(ArgumentError, match=r"mismatched args\[0\].shape\[0\] on argument #0"):
        compiled((a[:4], b, 5))
    with pytest.raises(ArgumentError, match="other parts"):
        compiled((a, b))
    with pytest.raises(ArgumentTypeError, match="OC2136"):
        compiled(a)


def test_dataclasses_and_tags() -> None:
    b = np.zeros(8, np.float32)
    t = from_dlpack(b)
    with_record(Record(t, t, 3))
    assert (b == 3).all()

    @cute.jit
    def tagged(x: cutlass.Int32, tag):
        match tag:
            case Plus():
                y = x + 1
            case Minus():
                y = x - 1
        return y

    assert (tagged(5, Plus()), tagged(5, Minus())) == (6, 4)


def test_optional_keyword_only_and_default_arguments() -> None:
    @cute.jit
    def fn(
        a: cute.Tensor,
        bias: Optional[cutlass.Float32] = None,  # noqa: UP045 - as published code writes it
        *,
        scale: cutlass.Int32 = 2,
        t: cute.Tensor | None = None,
        kind: cutlass.Constexpr[str] = "sum",
    ):
        out = a[0] * scale
        if cutlass.const_expr(bias is not None):
            out = out + bias
        if cutlass.const_expr(t is not None):
            out = out + t[0]
        return out if kind == "sum" else -out

    x = np.array([10, 1], np.float32)
    assert [fn(x), fn(x, 1.5), fn(x, scale=3), fn(x, t=x), fn(x, kind="neg")] == [
        20, 21.5, 30, 30, -20,
    ]  # fmt: skip
    compiled = cute.compile(fn, from_dlpack(x), scale=7, kind="neg")
    assert compiled(x) == -20  # a default is the function's, not the example's
    assert compiled(x, scale=4) == -40
    with pytest.raises(TypeError, match="argument 't' does not fit its annotation"):
        fn(x, t=4)
    with pytest.raises(ArgumentError, match="OC2131"):
        compiled(x, 1.5)


def test_pointers_by_address() -> None:
    import ctypes

    @cute.jit
    def fill(p: cute.Pointer, n: cutlass.Int32):
        t = cute.make_tensor(p, cute.make_layout(n))
        add_one_kernel(t, t).launch(grid=1, block=32)

    x = np.zeros(8, np.float32)
    pointer = make_ptr(cutlass.Float32, x.ctypes.data, cute.AddressSpace.gmem, assumed_align=4)
    compiled = cute.compile(fill, pointer, 1)

    class Opaque:
        def __tvm_ffi_opaque_ptr__(self) -> int:
            return x.ctypes.data

    for p in (pointer, ctypes.c_void_p(x.ctypes.data), x.ctypes.data, Opaque()):
        compiled(p, 8)
    assert (x == 4).all()
    with pytest.raises(ArgumentError, match="OC2102"):
        compiled(x.ctypes.data + 2, 8)
    null = nullptr(cutlass.Float32, cute.AddressSpace.gmem)
    assert null.address == 0
    compiled(null, 0)
