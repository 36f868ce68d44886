# SPDX-FileCopyrightText: 2026 The OpenCuTe authors
# SPDX-License-Identifier: Apache-2.0
"""Arguments of compiled functions: kinds, annotations, versions, and what is refused."""

from __future__ import annotations

import dataclasses
import types
from typing import Any, NamedTuple

import ml_dtypes
import numpy as np
import pytest

import opencute as cutlass
from opencute import cute
from opencute.base.counters import COUNTERS
from opencute.base.errors import ArgumentError, OpenCuTeError, TypeMismatchError
from opencute.cute.runtime import from_dlpack, make_ptr

pytestmark = pytest.mark.t0


@cute.kernel
def copy_kernel(src: cute.Tensor, dst: cute.Tensor):
    i = cute.arch.block_idx()[0] * 32 + cute.arch.thread_idx()[0]
    if i < cute.size(src):
        dst[i] = src[i].to(dst.element_type)


@cute.jit
def copy(src: cute.Tensor, dst: cute.Tensor):
    copy_kernel(src, dst).launch(grid=cute.ceil_div(cute.size(src), 32), block=32)


def dynamic(x: Any, **options: Any) -> Any:
    return from_dlpack(x, **options).mark_layout_dynamic()


def test_one_compiled_function_serves_other_shapes_strides_and_alignments() -> None:
    rng = np.random.default_rng(0)
    x, y = rng.standard_normal((8, 16)).astype(np.float32), np.zeros((8, 16), np.float32)
    compiled = cute.compile(copy, dynamic(x), dynamic(y))
    compiled(dynamic(x), dynamic(y))
    np.testing.assert_array_equal(x, y)
    before = COUNTERS.compilations
    big = rng.standard_normal((40, 48)).astype(np.float32)
    out = np.zeros_like(big)
    compiled(dynamic(big), dynamic(out))
    np.testing.assert_array_equal(big, out)
    assert COUNTERS.compilations == before
    # Another alignment and odd strides: another version, right results.
    for view in (big[:, 1:], big[3:, 5:20], big[::2, :7]):
        target = np.zeros(view.shape, np.float32)
        compiled(dynamic(view), dynamic(target))
        np.testing.assert_array_equal(view, target)
    assert COUNTERS.compilations > before


def test_arguments_that_do_not_fit_name_the_argument() -> None:
    x, y = np.zeros((4, 4), np.float32), np.zeros((4, 4), np.float32)
    compiled = cute.compile(copy, from_dlpack(x), dynamic(y))
    with pytest.raises(ArgumentError, match="argument 'src'") as e:
        compiled(from_dlpack(np.zeros((4, 5), np.float32)), dynamic(y))
    assert e.value.code == "OC2131" and "(4,4):(4,1)" in str(e.value.expected)
    with pytest.raises(ArgumentError, match="argument 'dst'"):
        compiled(from_dlpack(x), dynamic(np.zeros((4, 4), np.float16)))
    with pytest.raises(ArgumentError, match="argument 'dst'"):
        compiled(from_dlpack(x), dynamic(np.zeros(4, np.float32)))
    with pytest.raises(ArgumentError, match="misses argument 'dst'"):
        compiled(from_dlpack(x))
    with pytest.raises(ArgumentError, match="takes 2 arguments"):
        compiled(from_dlpack(x), dynamic(y), dynamic(y))
    with pytest.raises(ArgumentError, match="no argument 'other'"):
        compiled(from_dlpack(x), other=dynamic(y))


def test_frameworks_may_be_mixed() -> None:
    torch = pytest.importorskip("torch")
    for src in (np.arange(6, dtype=np.float32), torch.arange(6, dtype=torch.float32)):
        for dst in (np.zeros(6, np.float32), torch.zeros(6)):
            copy(src, dst)
            assert [float(v) for v in dst] == [0, 1, 2, 3, 4, 5]
    b = torch.zeros(6, dtype=torch.bfloat16)
    copy(np.arange(6).astype(ml_dtypes.bfloat16), b)
    assert b.tolist() == [0, 1, 2, 3, 4, 5]
    t = torch.arange(12, dtype=torch.float32).reshape(3, 4).t()
    out = np.zeros((4, 3), np.float32)
    copy(t, out)
    np.testing.assert_array_equal(out, t.numpy())


def test_empty_and_scalar_tensors() -> None:
    @cute.kernel
    def one(t: cute.Tensor, n: cutlass.Constexpr):
        t[0] = t[0] + n

    @cute.jit
    def host(t: cute.Tensor, empty: cute.Tensor):
        assert cute.rank(t) == 0 or t.shape == ()
        one(cute.make_tensor(t.iterator, 1), cute.size(empty)).launch()

    x = np.array(5, np.int32)
    host(from_dlpack(x), from_dlpack(np.zeros((0, 4), np.float32)))
    assert x == 5

    @cute.jit
    def sizes(t: cute.Tensor):
        cute.printf("%d", cute.size(t))

    sizes(np.zeros((0, 4), np.float32))


def test_a_read_only_array_cannot_be_written() -> None:
    x, y = np.ones(4, np.float32), np.zeros(4, np.float32)
    x.setflags(write=False)
    copy(x, y)
    assert y.tolist() == [1] * 4
    with pytest.raises(OpenCuTeError, match="read-only"):
        copy(y, x)


@cute.kernel
def store_kernel(out: cute.Tensor, values: Any):
    for i, v in enumerate(values):
        out[i] = v


def stored(values: Any, n: int = 4) -> list[float]:
    out = np.zeros(n, np.float64)

    @cute.jit
    def host(o: cute.Tensor, values: Any):
        store_kernel(o, values).launch()

    host(from_dlpack(out), values)
    return out.tolist()


def test_numbers_and_containers() -> None:
    assert stored((1, 2.5, True, cutlass.Int64(1 << 40))) == [1, 2.5, 1, 1 << 40]
    assert stored([np.float16(0.5), np.int8(-3), np.bool_(True), np.float64(2)]) == [0.5, -3, 1, 2]
    assert stored((cutlass.Float16(1.5), 2), 2) == [1.5, 2]


class Pair(NamedTuple):
    a: cutlass.Int32
    b: cutlass.Constexpr


@dataclasses.dataclass(frozen=True)
class Config:
    scale: cutlass.Float32
    name: cutlass.Constexpr
    nested: Any = None


def test_records_keep_their_structure() -> None:
    seen: list[Any] = []

    @cute.kernel
    def kernel(o: cute.Tensor, p: Pair, c: Config, d: dict, ns: types.SimpleNamespace):
        seen.append((type(p.a), p.b, type(c.scale), c.name, c.nested[1], ns.tag))
        o[0], o[1], o[2], o[3] = p.a, c.scale, d["x"], ns.v + c.nested[0]

    @cute.jit
    def host(o: cute.Tensor, p: Pair, c: Config, d: dict, ns: Any):
        kernel(o, p, c, d, ns).launch()

    out = np.zeros(4, np.float32)
    ns = types.SimpleNamespace(v=4, tag="t")
    host(from_dlpack(out), Pair(1, 9), Config(2.5, "n", (3, None)), {"x": 3}, ns)
    assert out.tolist() == [1, 2.5, 3, 7]
    assert seen == [(cutlass.Int32, 9, cutlass.Float32, "n", None, "t")]


def test_algebra_arguments_are_static_unless_typed() -> None:
    seen: list[Any] = []

    @cute.jit
    def host(shape: cute.Shape, n: cute.Int):
        seen.append((shape, n))
        cute.printf("{}", shape)

    host((4, (2, 3)), 7)
    host((cutlass.Int32(4), 2), cutlass.Int32(7))
    assert seen[0] == ((4, (2, 3)), 7)
    (m, n), k = seen[1]
    assert m.is_dynamic and n == 2 and k.is_dynamic


def test_constexpr_defaults_and_keywords() -> None:
    seen: list[Any] = []

    @cute.kernel
    def kernel(o: cute.Tensor, n: cutlass.Int32, k: cutlass.Constexpr):
        o[0] = n * k

    @cute.jit
    def host(
        o: cute.Tensor,
        n: cutlass.Int32 = 3,
        *,
        k: cutlass.Constexpr[int] = 5,
        fn: cutlass.Constexpr = None,
    ):
        seen.append(k)
        kernel(o, fn(n) if cutlass.const_expr(fn is not None) else n, k).launch()

    out = np.zeros(1, np.int32)
    host(out)
    assert out[0] == 15
    host(o=out, k=7, n=2)
    assert out[0] == 14
    host(out, fn=lambda n: n + 1)
    assert out[0] == 20
    compiled = cute.compile(host, dynamic(out), 1, k=10)
    compiled(dynamic(out), 4)
    assert out[0] == 40
    compiled(n=6, o=dynamic(out))
    assert out[0] == 60
    assert seen == [5, 7, 5, 10]


def test_methods_and_callable_objects() -> None:
    class Scale:
        def __init__(self, factor: int) -> None:
            self.factor = factor

        @cute.kernel
        def kernel(self, t: cute.Tensor, n: cutlass.Int32):
            i, _, _ = cute.arch.thread_idx()
            if i < n:
                t[i] = t[i] * self.factor

        @cute.jit
        def __call__(self, t: cute.Tensor, n: cutlass.Int32):
            self.kernel(t, n).launch(block=8)

    x = np.ones(4, np.int32)
    scale = Scale(3)
    scale(x, 2)
    compiled = cute.compile(scale, dynamic(x), 4)
    compiled(dynamic(x), 4)
    assert x.tolist() == [9, 9, 3, 3]


def test_pointers_and_sizes() -> None:
    @cute.kernel
    def kernel(t: cute.Tensor):
        i, _, _ = cute.arch.thread_idx()
        t[i] = i

    @cute.jit
    def host(p: cute.Pointer, n: cutlass.Int32):
        kernel(cute.make_tensor(p, cute.make_layout(n))).launch(block=4)

    x = np.zeros(4, np.int32)
    # An address alone has no extent in the simulator; its own array makes it known.
    t = from_dlpack(x)
    assert t.iterator.address == x.ctypes.data
    with pytest.raises(TypeMismatchError, match="argument 'p'"):
        host(x, 4)
    assert make_ptr(cutlass.Int32, x.ctypes.data).dtype is cutlass.Int32


@pytest.mark.parametrize(
    ("args", "name", "error"),
    [
        ((3, 1), "t", TypeMismatchError),
        (("x", 1), "t", TypeMismatchError),
        ((np.zeros(1, np.int32), "y"), "n", TypeMismatchError),
        ((np.zeros(1, np.int32), np.zeros(3)), "n", TypeMismatchError),
        ((np.zeros(1, np.int32), 2.5), "n", TypeMismatchError),
        ((np.zeros(1, np.int32), 1 << 40), "n", ArgumentError),
        ((np.zeros(1, np.int32), -(1 << 31) - 1), "n", ArgumentError),
    ],
)
def test_annotations_are_checked(args: Any, name: str, error: type[Exception]) -> None:
    @cute.jit
    def host(t: cute.Tensor, n: cutlass.Int32):
        cute.printf("never")

    with pytest.raises(error, match=f"argument '{name}'"):
        host(*args)


def test_numbers_are_checked_at_each_call() -> None:
    @cute.jit
    def host(n: cutlass.Int8):
        cute.printf("%d", n)

    compiled = cute.compile(host, 1)
    with pytest.raises(ArgumentError, match="'n' does not fit in Int8"):
        compiled(200)
    with pytest.raises(ArgumentError, match="Int32"):
        cute.compile(cute.jit(unannotated), 1)(1 << 35)


def unannotated(n):
    cute.printf("%d", n)
