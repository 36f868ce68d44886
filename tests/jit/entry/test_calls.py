# SPDX-FileCopyrightText: 2026 The OpenCuTe authors
# SPDX-License-Identifier: Apache-2.0
"""Whole calls with a stand-in for the driver: native code launches what Python would have."""

from __future__ import annotations

import ctypes
import gc
import sys
import threading
import weakref
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np
import pytest

import opencute as cutlass
from opencute import cute
from opencute.base.counters import COUNTERS
from opencute.base.errors import DeviceError, OpenCuTeError
from opencute.base.interned import interned
from opencute.base.knobs import KNOBS
from opencute.cute.runtime import from_dlpack, make_ptr
from opencute.integrations.driver_stub import Launch, StubDriver
from opencute.jit import calls
from opencute.jit.entry import code
from opencute.jit.executor import Executor

torch = pytest.importorskip("torch")
pytestmark = pytest.mark.t1


@cute.kernel
def scale_kernel(x: cute.Tensor, n: cutlass.Int32, f: cutlass.Float32):
    i = cute.arch.thread_idx()[0]
    if i < n:
        x[i, 0] = x[i, 0] * f.to(x.element_type)


@cute.jit
def scale(x: cute.Tensor, n: cutlass.Int32, f: cutlass.Float32):
    scale_kernel(x, n, f).launch(grid=(cute.size(x, mode=[0]), 1, 1), block=32)


@pytest.fixture
def stub() -> Iterator[StubDriver]:
    with StubDriver() as driver, KNOBS.override(target="cuda"):
        yield driver


@dataclass(frozen=True)
class Plan:
    threads: int


@cute.jit
def scale_by_plan(x: cute.Tensor, n: cutlass.Int32, plan: cutlass.Constexpr[Plan]):
    scale_kernel(x, n, 2.0).launch(grid=(cute.size(x, mode=[0]), 1, 1), block=plan.threads)


def test_plans_that_are_one_object_are_seen_natively(stub: StubDriver) -> None:
    t = torch.zeros(6, 16)
    for threads in (32, 64, 32):
        scale_by_plan(t, 3, interned(Plan(threads)))
    assert natively(scale_by_plan, (t, 3, interned(Plan(32))))
    assert natively(scale_by_plan, (t, 3, interned(Plan(64))))
    assert not natively(scale_by_plan, (t, 3, Plan(64)))  # it may be any object: that takes Python
    (launch,) = launches(stub, lambda: scale_by_plan(t, 3, interned(Plan(64))))
    assert launch.block == (64, 1, 1)


def launches(stub: StubDriver, call: Any) -> list[Launch] | str:
    """What a call launches, or the code of its error."""
    stub.launches.clear()
    try:
        call()
    except OpenCuTeError as e:
        return str(e.code)
    return list(stub.launches)


def natively(executor: Any, args: tuple[Any, ...]) -> bool:
    """Whether a call is answered without Python."""
    slow = executor.fast.slow
    called: list[int] = []

    def spy(*a: Any, **k: Any) -> Any:
        called.append(1)
        return slow(*a, **k)

    from opencute.jit.entry.fast_call import Call

    executor.fast.state[Call.SLOW // 8] = id(spy)
    try:
        executor(*args)
    finally:
        executor.fast.state[Call.SLOW // 8] = id(slow)
    return not called


def wrapped(t: Any, **options: Any) -> Any:
    return from_dlpack(t, **options).mark_layout_dynamic()


def test_tensors_like_the_example_are_read_natively(stub: StubDriver) -> None:
    a = torch.zeros(8, 16)
    compiled = cute.compile(scale, wrapped(a), 3, 2.0)
    compiled(wrapped(a), 3, 2.0)
    b = torch.zeros(5, 32)
    assert natively(compiled, (wrapped(b), 4, 1.5))
    last = stub.launches[-1]
    assert last.grid == (5, 1, 1) and last.block == (32, 1, 1) and last.kernel == "scale_kernel_0"
    assert last.values[0] == b.data_ptr()
    compiled(b, 4, 1.5)  # torch's own tensor: Python once
    assert natively(compiled, (b, 4, 1.5))
    assert stub.launches[-1].values == last.values


VIEWS = [
    lambda t: t, lambda t: t[1:], lambda t: t[:, 1:], lambda t: t[:, ::2], lambda t: t.T,
    lambda t: t[:1], lambda t: t[:, :1], lambda t: t[:1, :1], lambda t: t[:0],
    lambda t: t[:1].expand(4, -1), lambda t: t[::2, 4:], lambda t: t[0], lambda t: t[2:, 2:],
    lambda t: t.double(), lambda t: t.half(), lambda t: t.as_strided((3, 4), (5, 1)),
    lambda t: t.as_strided((3, 1), (1, 1)), lambda t: t.as_strided((2, 3), (1, 1)),
    lambda t: t.requires_grad_(), lambda t: torch.nn.Parameter(t),
    lambda t: torch.nn.Parameter(t, requires_grad=False), lambda t: t.to(torch.complex64),
    lambda t: t.to(torch.complex64).conj().imag, lambda t: t.bool(), lambda t: t.to_sparse(),
]  # fmt: skip


@pytest.mark.parametrize("wrap", [lambda t: t, wrapped, from_dlpack])
def test_native_calls_launch_what_python_launches(stub: StubDriver, wrap: Any) -> None:
    base = torch.zeros(6, 16)
    compiled = cute.compile(scale, wrapped(base), 3, 2.0)
    for round_ in range(3):
        for number, view in enumerate(VIEWS):
            t = view(torch.zeros(6, 16))

            def python(t: Any = t, n: int = round_) -> None:
                Executor.__call__(compiled, wrap(t), n, 0.5)

            def native(t: Any = t, n: int = round_) -> None:
                compiled(wrap(t), n, 0.5)

            assert launches(stub, native) == launches(stub, python), number


INTEGERS = [0, -5, 2**31 - 1, 2**31, -(2**31) - 1, True, 1.5, "a", None, np.int32(4),
            cutlass.Int32(7), cutlass.Int64(7)]  # fmt: skip
REALS = [0.5, 1, float("nan"), float("inf"), 1e300, 1e-45, True, -0.0, cutlass.Float32(0.1),
         cutlass.Float16(0.1), np.float32(0.3)]  # fmt: skip


@pytest.mark.parametrize("n", INTEGERS)
@pytest.mark.parametrize("f", REALS)
def test_numbers(stub: StubDriver, n: Any, f: Any) -> None:
    t = torch.zeros(6, 16)
    compiled = cute.compile(scale, wrapped(t), 3, 2.0)
    results = []
    for _ in range(3):
        for call in (compiled, Executor.__call__.__get__(compiled)):
            try:
                found = launches(stub, lambda call=call: call(t, n, f))
            except Exception as e:
                found = type(e).__name__
            results.append(found)
    first = results[0]
    if f != f and isinstance(first, list):  # the bits of NaNs may differ
        return
    assert all(r == first for r in results), results


@cute.jit
def scale_parts(parts: Any, n: cutlass.Int32):
    x, (y, f), rest = parts
    scale_kernel(x, n, f).launch(grid=(cute.size(y, mode=[0]), 1, 1), block=32)
    if cutlass.const_expr(len(rest) > 0):
        scale_kernel(y, rest[0], f).launch(grid=(1, 1, 1), block=32)


def test_tuples(stub: StubDriver) -> None:
    def parts(rows: int, f: float, *rest: Any) -> Any:
        x, y = (torch.zeros(n, 16) for n in (6, rows))
        return (wrapped(x), (wrapped(y), cutlass.Float32(f)), rest)

    kept = [parts(6, 0.5), parts(9, 1.5), parts(6, 0.5, 3), parts(7, 2.5, 4)]
    for round_ in range(3):
        for given in kept:
            for n in (round_, 8):
                python = launches(stub, lambda g=given, n=n: scale_parts(parts=g, n=n))
                assert launches(stub, lambda g=given, n=n: scale_parts(g, n)) == python
    for given in kept:
        assert natively(scale_parts, (given, 3))
    assert len(scale_parts.fast.versions) == 2, "of tuples of two lengths"
    x, y, _ = kept[0]
    for other in ((x, y, [1]), [x, y, ()], (x, (y[0], 0.5), ()), (x, list(y), ())):
        assert not natively(scale_parts, (other, 3))
    with pytest.raises(ValueError, match="unpack"):
        natively(scale_parts, ((x, y), 3))


def test_streams_and_pointers(stub: StubDriver) -> None:
    @cute.kernel
    def kernel(p: cute.Pointer):
        p.store(cutlass.Float32(1.0)) if hasattr(p, "store") else None

    @cute.jit
    def on_stream(p: cute.Pointer, stream: Any):
        kernel(p).launch(grid=1, block=1, stream=stream)

    class Stream:
        def __init__(self, handle: int) -> None:
            self.cuda_stream = handle

    class CUstream:
        def __init__(self, handle: int) -> None:
            self.handle = handle

        def __int__(self) -> int:
            return self.handle

    t = torch.zeros(4)

    def pointer() -> Any:
        return make_ptr(cutlass.Float32, t.data_ptr(), cute.AddressSpace.gmem)

    compiled = cute.compile(on_stream, pointer(), Stream(5))
    for kind in (Stream, CUstream):
        compiled(pointer(), kind(6))
        assert natively(compiled, (pointer(), kind(77)))
        assert stub.launches[-1].stream == 77
    other = make_ptr(cutlass.Int32, t.data_ptr(), cute.AddressSpace.gmem)
    with pytest.raises(OpenCuTeError, match="argument 'p'"):
        compiled(other, Stream(1))


def test_the_stream_is_read_at_each_call(stub: StubDriver, monkeypatch: pytest.MonkeyPatch) -> None:
    now = {"stream": 11, "status": 0}

    @ctypes.PYFUNCTYPE(ctypes.c_int, ctypes.c_int, ctypes.c_int, ctypes.c_void_p)
    def current(kind: int, device: int, out: int) -> int:
        assert (kind, device) == (2, 0)
        ctypes.c_uint64.from_address(out).value = now["stream"]
        return 0

    entry = code.load()
    monkeypatch.setattr(entry, "stream", ctypes.cast(current, ctypes.c_void_p).value)
    monkeypatch.setattr(
        "opencute.jit.cuda_runner.raw_stream_reader", lambda: lambda device: now["stream"]
    )
    t = torch.zeros(6, 16)
    compiled = cute.compile(scale, wrapped(t), 3, 2.0)
    compiled(t, 3, 2.0)
    for stream in (12, 13, 2**40):
        now["stream"] = stream
        assert natively(compiled, (t, 3, 2.0))
        assert stub.launches[-1].stream == stream


def test_lazy_tensors_are_those_of_python(stub: StubDriver) -> None:
    from opencute.lang.external import slow_from_dlpack, slow_mark

    code.load()
    for view in VIEWS[:15]:
        t = view(torch.zeros(6, 16))
        if t.dim() != 2:
            continue
        for lead in (None, 0, 1, -1, -2, 7, "x", 10**30):
            pairs = []
            for make, mark in (
                (from_dlpack, lambda x, n: x.mark_layout_dynamic(leading_dim=n)),
                (slow_from_dlpack, slow_mark),
            ):
                try:
                    x = mark(make(t, None), lead)
                    pairs.append((str(x), x.type, x.facts(), x.marked(), x.shape, x.stride,
                                  x.version > 0, x.dynamic_values(), x.memspace))  # fmt: skip
                except OpenCuTeError as e:
                    pairs.append((e.code, str(e.expected), str(e.found)))
            assert pairs[0][:6] == pairs[1][:6], (lead, t.shape, t.stride())


@pytest.mark.parametrize("align", [0, 3, -4, 4, 16, 32, 4096, 1.5, "x"])
def test_alignment_errors_are_those_of_python(align: Any) -> None:
    from opencute.lang.external import slow_from_dlpack

    code.load()
    t = torch.zeros(64)[1:]
    answers = []
    for make in (from_dlpack, slow_from_dlpack):
        try:
            answers.append(make(t, align).assumed_align)
        except OpenCuTeError as e:
            answers.append(e.code)
    assert answers[0] == answers[1]


def test_marks_of_a_lazy_tensor_can_be_changed(stub: StubDriver) -> None:
    code.load()
    t = from_dlpack(torch.zeros(6, 16))
    assert "(6, 16):(16, 1)" in str(t)
    t.mark_layout_dynamic()
    t.mark_compact_shape_dynamic(0, divisibility=2)
    assert t.marked()[0][0].div == 2
    with pytest.raises(AttributeError, match="has no attribute 'shapes'"):
        _ = t.shapes
    with pytest.raises(TypeError):
        t.mark_layout_dynamic(1, 2)
    with pytest.raises(TypeError):
        from_dlpack(torch.zeros(2, 2)).mark_layout_dynamic(dim=1)
    narrow = from_dlpack(torch.zeros(2, 2), use_32bit_stride=True).mark_layout_dynamic()
    assert narrow.marked()[1][0].width == 32


def test_references(stub: StubDriver) -> None:
    t = torch.zeros(6, 16)
    compiled = cute.compile(scale, wrapped(t), 3, 2.0)
    compiled(t, 3, 2.0)
    compiled(wrapped(t), 3, 2.0)
    stub.launches.clear()
    number, real = 10**6, 0.123
    before = [sys.getrefcount(x) for x in (t, number, real)]
    for _ in range(500):
        compiled(wrapped(t, assumed_align=4), number, real)
        compiled(t, number, real)
    assert [sys.getrefcount(x) for x in (t, number, real)] == before
    w = wrapped(t)
    gone = weakref.ref(w)
    storage = t.untyped_storage().data_ptr()
    t.data = torch.ones(1)  # the wrapper still holds the memory
    assert w.data_ptr == storage and w.shape == (6, 16)
    del w
    gc.collect()
    assert gone() is None


def test_a_failing_launch_raises_once(stub: StubDriver) -> None:
    t = torch.zeros(6, 16)
    compiled = cute.compile(scale, wrapped(t), 3, 2.0)
    compiled(t, 3, 2.0)
    compiled(t, 4, 2.0)
    stub.launches.clear()
    stub.status = 700
    with pytest.raises(DeviceError, match="launching scale"):
        compiled(t, 5, 2.0)
    assert len(stub.launches) == 1
    stub.status = 0
    compiled(t, 5, 2.0)


def test_other_devices_go_through_python() -> None:
    calls._runners.clear()
    with StubDriver(devices=2) as stub, KNOBS.override(target="cuda"):
        t = torch.zeros(6, 16)
        compiled = cute.compile(scale, wrapped(t), 3, 2.0)
        compiled(t, 3, 2.0)
        assert natively(compiled, (t, 3, 2.0))
        stub.current = 1
        assert not natively(compiled, (t, 3, 2.0))
    calls._runners.clear()


def test_direct_calls_are_native_until_something_changes(
    stub: StubDriver, monkeypatch: pytest.MonkeyPatch
) -> None:
    t = torch.zeros(6, 16)
    scale(t, 3, 2.0)
    assert natively(scale, (torch.zeros(9, 16), 4, 1.0))
    assert stub.launches[-1].grid == (9, 1, 1)
    before = COUNTERS.compilations
    monkeypatch.setattr(scale_kernel.fn, "__code__", other_kernel.__code__)
    assert not natively(scale, (t, 3, 2.0))
    assert COUNTERS.compilations == before + 1
    assert natively(scale, (t, 3, 2.0))
    with KNOBS.override(target="sim"):
        count = len(stub.launches)
        scale(t, 0, 2.0)
        assert len(stub.launches) == count
    monkeypatch.undo()


def other_kernel(x: Any, n: Any, f: Any) -> None:
    x[0, 0] = x[0, 0] + 1


def test_threads_do_not_meet(stub: StubDriver) -> None:
    example = torch.zeros(6, 16)
    compiled = cute.compile(scale, wrapped(example), 3, 2.0)
    compiled(example, 3, 2.0)
    compiled(wrapped(example), 3, 2.0)
    stub.launches.clear()
    tensors = [torch.zeros(rows, 16) for rows in range(1, 9)]

    def work(t: Any) -> None:
        for i in range(200):
            compiled(t if i % 2 else wrapped(t), t.shape[0], 2.0)

    threads = [threading.Thread(target=work, args=(t,)) for t in tensors]
    for th in threads:
        th.start()
    for th in threads:
        th.join()
    by_address = {t.data_ptr(): t.shape[0] for t in tensors}
    assert len(stub.launches) == 1600
    assert all(by_address[x.values[0]] == x.grid[0] for x in stub.launches)


def test_the_driver_assembles_where_there_is_no_ptxas(
    stub: StubDriver, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    from opencute.codegen import toolchain
    from opencute.jit import cuda_runner

    cuda_runner._tell_of_driver.cache_clear()
    monkeypatch.setattr(toolchain, "_candidates", lambda name: iter(()))
    calls._runners.clear()
    t = torch.zeros(6, 16)
    compiled = cute.compile(scale, wrapped(t), 3, 2.0)
    compiled(t, 3, 2.0)
    assert stub.images[-1].lstrip().startswith(b"//") and len(stub.launches) == 1
    assert "no ptxas" in capsys.readouterr().err
    assert ".entry scale_kernel_0" in compiled.__ptx__
    with pytest.raises(OpenCuTeError, match="no ptxas"):
        _ = compiled.__cubin__
    calls._runners.clear()
