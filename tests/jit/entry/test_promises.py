# SPDX-FileCopyrightText: 2026 The OpenCuTe authors
# SPDX-License-Identifier: Apache-2.0
"""Native calls skip no check: what was promised at compilation is asked of each call, and what the
environment asks for decides which code runs."""

from __future__ import annotations

import pickle
from collections.abc import Callable, Iterator
from typing import Any

import pytest

import opencute as cutlass
from opencute import cute
from opencute.base.errors import ArgumentError, OpenCuTeError
from opencute.base.knobs import KNOBS
from opencute.compiler import options
from opencute.cute.runtime import (
    from_dlpack,
    make_fake_compact_tensor,
    make_fake_stream,
    make_fake_tensor,
)
from opencute.integrations.driver_stub import StubDriver
from opencute.jit.entry.fast_call import Call

torch = pytest.importorskip("torch")
pytestmark = pytest.mark.t1


@cute.kernel
def touch(x: cute.Tensor, y: cute.Tensor):
    i = cute.arch.thread_idx()[0]
    x[i, 0] = y[i, 0]


@cute.jit
def copy(x: cute.Tensor, y: cute.Tensor):
    touch(x, y).launch(grid=(cute.size(x, mode=[0]), 1, 1), block=1)


@cute.jit
def sized(x: cute.Tensor, n: cutlass.Int32) -> Any:
    touch(x, x).launch(grid=1, block=1)
    return n + 1, cute.size(x, mode=[0])


@cute.jit
def converted(x: cute.Tensor, kind: cutlass.Constexpr):
    converted_kernel(x, kind).launch(grid=1, block=1)


@cute.kernel
def converted_kernel(x: cute.Tensor, kind: cutlass.Constexpr):
    i = cute.arch.thread_idx()[0]
    for j in range(i):
        x[j, 0] = kind(j).to(x.element_type)


@pytest.fixture
def stub() -> Iterator[StubDriver]:
    with StubDriver() as driver, KNOBS.override(target="cuda"):
        yield driver


def natively(fn: Any, *args: Any) -> bool:
    """Whether a call is answered without Python."""
    slow = fn.fast.slow
    called: list[int] = []

    def spy(*a: Any, **k: Any) -> Any:
        called.append(1)
        return slow(*a, **k)

    fn.fast.state[Call.SLOW // 8] = id(spy)
    try:
        fn(*args)
    finally:
        fn.fast.state[Call.SLOW // 8] = id(slow)
    return not called


def marked(rows: int = 4, columns: int = 8) -> Any:
    return from_dlpack(torch.zeros(rows, columns)).mark_layout_dynamic()


def symbolic() -> Any:
    n = cute.sym_int()
    fakes = [make_fake_compact_tensor(cute.Float32, (n, 8), stride_order=(1, 0)) for _ in "xy"]
    return cute.compile(copy, *fakes)


def divisible() -> Any:
    n = cute.sym_int(divisibility=4)
    fakes = [make_fake_tensor(cute.Float32, (n, 8), stride=(8, 1), assumed_align=16) for _ in "xy"]
    return cute.compile(copy, *fakes)


def static() -> Any:
    return cute.compile(copy, *[from_dlpack(torch.zeros(4, 8)) for _ in "xy"])


def compact() -> Any:
    def example() -> Any:
        return from_dlpack(torch.zeros(4, 8)).mark_compact_shape_dynamic(
            mode=0, stride_order=(0, 1), divisibility=2
        )

    return cute.compile(copy, example(), example())


WRONG: list[tuple[Callable[[], Any], tuple[int, int], tuple[int, int]]] = [
    (symbolic, (4, 8), (5, 8)),
    (symbolic, (4, 8), (4, 9)),
    (divisible, (4, 8), (6, 8)),
    (static, (4, 8), (5, 8)),
    (static, (4, 8), (4, 9)),
    (compact, (4, 8), (3, 8)),
    (compact, (4, 8), (4, 10)),
]


@pytest.mark.parametrize("form", [lambda t: t, from_dlpack])
@pytest.mark.parametrize(("make", "good", "bad"), WRONG)
def test_a_bad_call_is_refused_after_good_ones(
    stub: StubDriver, make: Any, good: Any, bad: Any, form: Any
) -> None:
    compiled = make()
    for _ in range(3):
        compiled(*[form(torch.zeros(*good)) for _ in "xy"])
    assert len(stub.launches) == 3
    for _ in range(2):
        with pytest.raises(ArgumentError):
            compiled(form(torch.zeros(*good)), form(torch.zeros(*bad)))
    assert len(stub.launches) == 3


def test_a_symbol_as_a_number_is_compared(stub: StubDriver) -> None:
    n = cute.sym_int()
    fake = make_fake_compact_tensor(cute.Float32, (n, 8), stride_order=(1, 0))
    compiled = cute.compile(sized, fake, n)
    for _ in range(3):
        assert compiled(torch.zeros(4, 8), 4) == (5, 4)
    with pytest.raises(ArgumentError, match="OC2133"):
        compiled(torch.zeros(4, 8), 5)


def test_a_replaced_element_type_is_another_kind_of_tensor(stub: StubDriver) -> None:
    def bytes_(kind: Any = None) -> Any:
        out = from_dlpack(torch.zeros(4, 8, dtype=torch.uint8))
        if kind is not None:
            out.element_type = kind
        return out.mark_layout_dynamic()

    compiled = cute.compile(copy, *[bytes_(cute.Float8E4M3FN) for _ in "xy"])
    for _ in range(3):
        compiled(*[bytes_(cute.Float8E4M3FN) for _ in "xy"])
    with pytest.raises(ArgumentError):
        compiled(bytes_(), bytes_())


def test_results_are_given_in_each_call(stub: StubDriver) -> None:
    for n in (1, 2, 2, 3):
        assert sized(torch.zeros(4, 8), n) == (n + 1, 4)
    compiled = cute.compile(sized, marked(), 1)
    x = marked(6)
    for n in (1, 2, 2, 3):
        assert compiled(x, n) == (n + 1, 6)
    assert pickle.loads(pickle.dumps(compiled))(x, 8) == (9, 6)


def test_executors_for_fakes_survive_pickle(stub: StubDriver) -> None:
    compiled = pickle.loads(pickle.dumps(symbolic()))
    compiled(torch.zeros(4, 8), torch.zeros(4, 8))
    with pytest.raises(ArgumentError, match="OC2133"):
        compiled(torch.zeros(4, 8), torch.zeros(5, 8))


def test_many_are_compiled_with_their_results(stub: StubDriver) -> None:
    (one,) = cute.compile_many([(sized, (marked(), 1))], processes=1)
    assert one(marked(), 4) == (5, 4)


def test_the_current_stream_is_not_passed(stub: StubDriver) -> None:
    @cute.jit
    def on(x: cute.Tensor, stream: Any):
        touch(x, x).launch(grid=1, block=1, stream=stream)

    compiled = cute.compile(on, marked(), make_fake_stream(use_tvm_ffi_env_stream=True))
    for _ in range(3):
        compiled(marked())
    assert len(stub.launches) == 3
    assert natively(compiled, marked())


def test_a_class_of_numbers_is_a_compile_time_value(stub: StubDriver) -> None:
    x = torch.zeros(4, 8)
    for kind in (cute.Float32, cute.Int32):
        converted(x, kind)
        assert natively(converted, x, kind)
    assert len({launch.kernel for launch in stub.launches}) >= 1
    cute.compile(converted, marked(), cute.Float16)(marked())


def test_tensors_without_memory_can_only_be_compiled_for(stub: StubDriver) -> None:
    meta = torch.zeros(4, 8, device="meta")
    compiled = cute.compile(copy, meta, meta)
    with pytest.raises(OpenCuTeError):
        compiled(meta, meta)
    assert from_dlpack(meta).shape == (4, 8)


ASKS = [
    ("OPENCUTE_LINE_INFO", "1"),
    ("CUTE_DSL_LINEINFO", "1"),
    ("OPENCUTE_DEBUG", "1"),
    ("CUTE_DSL_DEBUG", "1"),
    ("OPENCUTE_ASSERTIONS", "1"),
    ("CUTE_DSL_COMPILER_OPT", "--opt-level 1"),
    ("OPENCUTE_TARGET", "cuda:sm_90a"),
]


@pytest.mark.parametrize(("name", "value"), ASKS)
def test_native_calls_notice_the_environment(
    monkeypatch: pytest.MonkeyPatch, name: str, value: str
) -> None:
    monkeypatch.setenv("OPENCUTE_TARGET", "cuda")
    x = torch.zeros(4, 8)
    with StubDriver():
        copy(x, x)
        assert natively(copy, x, x)
        with monkeypatch.context() as inner:
            inner.setenv(name, value)
            assert not natively(copy, x, x)
            assert natively(copy, x, x)
        if name == "OPENCUTE_TARGET":  # set to an equal text, which is another object
            copy(x, x)
        assert natively(copy, x, x)


def test_native_calls_notice_overrides() -> None:
    x = torch.zeros(4, 8)
    with StubDriver():
        with KNOBS.override(target="cuda", line_info=True):
            copy(x, x)
            assert natively(copy, x, x)
        with KNOBS.override(target="cuda"):
            assert not natively(copy, x, x)
            assert natively(copy, x, x)


def test_default_options_follow_what_they_read(monkeypatch: pytest.MonkeyPatch) -> None:
    read: set[str] = set()

    class Watched:
        def __getattr__(self, name: str) -> Any:
            read.add(name)
            return getattr(KNOBS, name)

    monkeypatch.setattr(options, "KNOBS", Watched())
    options._from_environment.__wrapped__(())
    assert read == set(options.OPTION_KNOBS)
    monkeypatch.undo()
    before = options.default_options()
    assert options.default_options() is before
    monkeypatch.setenv("CUTE_DSL_KEEP", "ptx,ir")
    assert options.default_options().keep_ptx and options.default_options().keep_ir
    monkeypatch.setenv("OPENCUTE_KEEP", "")
    assert options.default_options() == before
    monkeypatch.setenv("OPENCUTE_KEEP", "nothing")
    for _ in range(2):
        with pytest.raises(ArgumentError, match="OC2900"):
            options.default_options()


def test_places_of_a_knob_with_an_alias() -> None:
    keys = [key for _, key in KNOBS.places("line_info")]
    names = {"OPENCUTE_LINE_INFO", "CUTE_DSL_LINEINFO", "OPENCUTE_DEBUG", "CUTE_DSL_DEBUG"}
    assert {k.decode() if isinstance(k, bytes) else k for k in keys} == (
        names | {"line_info", "debug"}
    )
