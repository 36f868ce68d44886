# SPDX-FileCopyrightText: 2026 The OpenCuTe authors
# SPDX-License-Identifier: Apache-2.0
"""Calls that take no Python: what native code tells apart, and what it does."""

from __future__ import annotations

import gc
import itertools
import math
import sys
import threading
import weakref
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from typing import Any

import pytest

import opencute as cutlass
from opencute import cute
from opencute.base.errors import DeviceError
from opencute.base.knobs import KNOBS
from opencute.integrations.driver_stub import StubDriver
from opencute.jit import cuda_runner
from opencute.jit.entry import code
from opencute.jit.entry.words import State
from opencute.jit.recording import watched_calls
from opencute.kernels.arrays import empty, zeros
from opencute.kernels.attention.autograd import differentiable
from opencute.kernels.checked import checked
from opencute.kernels.repeat.described import described
from opencute.kernels.repeat.front import Front
from opencute.kernels.repeat.operators import forget_calls, repeated, why_not
from opencute.kernels.tuned import tuned
from opencute.tune import kept

pytestmark = pytest.mark.t1
torch: Any = pytest.importorskip("torch")
entered: list[Any] = []


@pytest.fixture(autouse=True)
def stub() -> Iterator[StubDriver]:
    entered.clear()
    with StubDriver() as driver, KNOBS.override(target="cuda"):
        forget_calls()
        yield driver
        forget_calls()


@dataclass(frozen=True)
class Config:
    times: int = 1


@dataclass(frozen=True)
class Scaled:
    """A function with a factor that its equality does not see."""

    name: str
    factor: float = field(default=1.0, compare=False)

    def __call__(self, x: Any) -> Any:
        return x * self.factor


@cute.kernel
def work_kernel(x: cute.Tensor, out: cute.Tensor, fn: cutlass.Constexpr):
    out[0] = fn(x[0])


@cute.jit
def work(x: cute.Tensor, out: cute.Tensor, fn: cutlass.Constexpr):
    work_kernel(x, out, fn).launch(grid=[x.shape[0], 1, 1], block=[32, 1, 1])


def same(x: Any) -> Any:
    return x


@tuned("a test's operator", "x")
@checked(arrays="x", optional="out")
@repeated
def operator(x: Any, *, out: Any = None, config: Config | None = None, fn: Any = same) -> Any:
    """An operator that does what operators do."""
    entered.append((x.shape, config))
    out = empty(x, (4,), "float32") if out is None else out
    room = empty(x, (4,), "float32")
    for _ in range((config or Config()).times):
        work(x, room, fn)
        work(room, out, same)
    return out


FRONT: Front = operator.front  # type: ignore[attr-defined]


def aligned(*shape: int, dtype: Any = None) -> Any:
    """An array that begins where addresses are multiples of 256, as on a GPU."""
    room = torch.zeros(math.prod(shape) * 8 + 512, dtype=torch.uint8)
    room = room[-room.data_ptr() % 256 :][: math.prod(shape) * 8].view(dtype or torch.float32)
    return room.as_strided(shape, torch.empty(shape).stride())


def hits(call: Callable[[], Any]) -> int:
    """How many of the calls of `operator` in a call take no Python."""
    before = FRONT.hits
    call()
    return FRONT.hits - before


def test_the_third_call_takes_no_python(stub: StubDriver) -> None:
    x = aligned(8)
    assert [hits(lambda: operator(x)) for _ in range(4)] == [0, 0, 1, 1]
    assert len(entered) == 2 and FRONT.known == 1 and stub.count == 8
    result = operator(x)
    first, second = stub.launches[-2:]
    assert x.data_ptr() in first.values and result.data_ptr() in second.values
    assert result.shape == (4,) and result.dtype == torch.float32
    operator(aligned(8), out=aligned(4))
    assert len(entered) == 3


@pytest.mark.parametrize("make", ["plain", "keyword", "parameter", "no_grad", "inference"])
def test_kinds_of_tensors(make: str) -> None:
    def call() -> None:
        x = aligned(8)
        if make == "parameter":
            operator(torch.nn.Parameter(x, requires_grad=False))
        elif make == "no_grad":
            with torch.no_grad():
                operator(x.requires_grad_())
        elif make == "inference":
            with torch.inference_mode():
                assert operator(aligned(8)).is_inference()
        else:
            operator(x, out=aligned(4)) if make == "keyword" else operator(x)

    call(), call()
    assert hits(call) == 1, why_not(operator)


def _tensors() -> list[Any]:
    base = aligned(4096)
    at = lambda n, shape, steps: base[n:].as_strided(shape, steps)  # noqa: E731
    found = [
        at(n, *layout)
        for n in (0, 1, 2, 4, 16, 64, 128)
        for layout in (
            ((8, 8), (8, 1)), ((8, 8), (1, 8)), ((8, 8), (16, 1)), ((8, 8), (0, 1)),
            ((1, 8), (8, 1)), ((1, 8), (1, 1)), ((1, 8), (77, 1)), ((8, 1), (8, 1)),
            ((8, 1), (8, 5)), ((0, 8), (8, 1)), ((8,), (1,)), ((1, 1), (3, 3)), ((), ()),
        )
    ]  # fmt: skip
    kinds = [torch.float16, torch.bfloat16, torch.int32, torch.uint8, torch.int8, torch.bool]
    kinds += [torch.float8_e4m3fn, torch.float8_e5m2, torch.int64, torch.float64]
    found += [aligned(8, 8, dtype=k) for k in kinds]
    pairs = aligned(8, 8, dtype=torch.complex64)
    return [*found, pairs.real, pairs.conj().imag, torch.nn.Parameter(aligned(8, 8)),
            torch.nn.Parameter(aligned(8, 8), requires_grad=False), base.to_sparse()]  # fmt: skip


def test_native_keys_tell_what_keys_tell() -> None:
    """Two calls have the same native key only if they have the same key in Python."""
    operator(aligned(8)), operator(aligned(8))
    native: Any = FRONT._key
    values = [*_tensors(), 1, 2, True, False, None, 1.0, 0.0, -0.0, "a", "b", (1,), (1, 1), ((1,),)]
    values += [1 << 70, same, Config, (aligned(8, 8), 2), (2, aligned(8, 8))]
    first = aligned(64)
    pairs = [(native(first, v), described((first, v), {})) for v in values]
    assert sum(n is not None and d is not None for n, d in pairs) > 60
    for (a, x), (b, y) in itertools.combinations(pairs, 2):
        if None not in (a, b, x, y):
            assert (a == b) == (x[0] == y[0])  # type: ignore[index]
    assert native(first, a=first, b=1) != native(first, a=first, c=1)
    assert native(1, "x") is None and native(first, *[first] * 40) is None
    assert native(first, *range(400)) is None, "more words than there is room for"


def test_what_equals_is_learnt_a_few_times() -> None:
    """Objects are told by identity: a new one for each call must not fill the table."""
    x = aligned(8)
    for _ in range(40):
        operator(x, config=Config(2))
    assert len(entered) == 2 and FRONT.known <= 4
    config = Config(3)
    for _ in range(3):
        operator(x, config=config)
    assert hits(lambda: operator(x, config=config)) == 1


def test_fields_that_are_not_compared_count(stub: StubDriver) -> None:
    x, kernels = aligned(8), []
    operator(x)
    entered.clear()
    images = len(stub.images)
    for fn in (Scaled("f", 2.0), Scaled("f", 3.0), Scaled("f", 2.0)):
        for _ in range(4):
            operator(x, fn=fn)
        kernels.append(len(entered))
    assert kernels == [2, 4, 4], "two of each factor; the third is like the first"
    assert len(stub.images) == images + 2


def test_more_kinds_of_calls_than_are_kept() -> None:
    out = aligned(4)
    sizes = [*range(2, 160)] * 4
    for n in sizes:
        operator(aligned(n), out=out)
        operator(aligned(n))
    assert FRONT.known <= 256
    x = aligned(9)
    for _ in range(2):
        operator(x)
    assert hits(lambda: operator(x)) == 1


def test_what_the_driver_refuses_is_raised(stub: StubDriver) -> None:
    x, made = aligned(8), []
    for _ in range(3):
        made.append(weakref.ref(operator(x)))
    stub.status = 1
    for _ in range(3):
        with pytest.raises(DeviceError):
            operator(x)
    stub.status = 0
    assert hits(lambda: operator(x)) == 1
    gc.collect()
    assert not [r for r in made if r() is not None]


def test_references_are_not_lost() -> None:
    x, config = aligned(8), Config(1)
    for _ in range(5):
        operator(x, config=config, out=None)
    things = [x, config, same, operator, FRONT]
    counts = [sys.getrefcount(t) for t in things]
    for _ in range(200):
        operator(x, config=config, out=None)
    after = [sys.getrefcount(t) for t in things]
    assert all(abs(a - b) < 20 for a, b in zip(after, counts, strict=True))


def test_a_configuration_that_is_found_later_is_used(monkeypatch: pytest.MonkeyPatch) -> None:
    x = aligned(8)
    monkeypatch.setattr(kept, "_loaded", {})
    for _ in range(3):
        operator(x)
    assert entered[-1][1] is None and len(entered) == 2
    monkeypatch.setattr(kept, "_loaded", {"something": {}})
    monkeypatch.setattr("opencute.kernels.tuned.recall", lambda *_: Config(2))
    for _ in range(4):
        operator(x)
    assert [c for _, c in entered[2:]] == [Config(2)] * 2
    with KNOBS.override(tune_use=False):
        operator(x)
    assert entered[-1][1] is None


FACTOR = 2.0


def test_a_call_that_does_not_hold_any_more_is_replaced(monkeypatch: pytest.MonkeyPatch) -> None:
    """Also where its tensors lay otherwise to each other, so that it is another kind of call."""

    def factored(x: Any) -> Any:
        return x * FACTOR

    both = aligned(24)
    shared, others = both[:8], both[8:16]
    for out in (shared, others):
        for _ in range(4):
            operator(shared, out=out, fn=factored)
    assert hits(lambda: [operator(shared, out=out, fn=factored) for out in (shared, others)]) == 2
    monkeypatch.setitem(globals(), "FACTOR", 3.0)
    for out in (others, shared):
        for _ in range(4):
            operator(shared, out=out, fn=factored)
    assert hits(lambda: [operator(shared, out=out, fn=factored) for out in (shared, others)]) == 2


def test_results_that_share_memory_are_another_kind_of_call() -> None:
    both = aligned(64)
    for _ in range(4):
        operator(both[:8], out=aligned(8)[:4])
    count = len(entered)
    assert hits(lambda: operator(both[:8], out=aligned(8)[:4])) == 1
    assert hits(lambda: operator(both[:8], out=both[:4])) == 0 and len(entered) == count + 1


def test_calls_that_are_watched_take_python() -> None:
    x = aligned(8)
    for _ in range(3):
        operator(x)

    class Nobody:
        def launched(self, *_: object) -> None: ...
        def fresh(self, *_: object) -> None: ...
        def once_only(self, *_: object) -> None: ...

    with watched_calls(Nobody()):
        assert hits(lambda: operator(x)) == 0 and len(entered) == 3
    assert hits(lambda: operator(x)) == 1


def test_zeros_and_several_results() -> None:
    @repeated
    def several(x: Any) -> Any:
        entered.append(x)
        a, b = zeros(x, (8,), "float32"), empty(x, (2, 2), "float32")
        work(x, a, same)
        return a, b.T, b[1:], None, 3, x

    front: Front = several.front  # type: ignore[attr-defined]
    x = aligned(8)
    results = [several(x) for _ in range(4)]
    assert front.hits == 2 and len(entered) == 2
    for r in results:
        assert r[0].tolist() == [0.0] * 8 and r[3:5] == (None, 3) and r[5] is x
        assert r[1].data_ptr() == r[2].data_ptr() - 8 and r[1].stride() == (1, 2)
    assert len({r[0].data_ptr() for r in results}) == 4


class Parts:
    """An object that says what it is made of."""

    def __init__(self, *parts: Any) -> None:
        self.parts = parts

    def described_parts(self) -> list[Any]:
        return [*self.parts]


def test_objects_made_of_parts(stub: StubDriver, monkeypatch: pytest.MonkeyPatch) -> None:
    @repeated
    def of_parts(x: Any, parts: Any) -> Any:
        entered.append(parts)
        work(x, parts.parts[0], same)

    front: Front = of_parts.front  # type: ignore[attr-defined]
    monkeypatch.setattr(code.load(), "see_parts", see_parts)
    refs = []
    x = aligned(8)
    for n in range(8):
        out = aligned(8)
        of_parts(x, Parts(out, "a", n // 4))
        assert out.data_ptr() in stub.launches[-1].values
        refs.append(weakref.ref(out))
    assert front.hits == 4 and len(entered) == 4
    entered.clear()
    del out
    gc.collect()
    assert not [r for r in refs if r() is not None]
    of_parts(x, Parts(aligned(8, 8), "a", 0))
    assert len(entered) == 1


def see_parts(cls: type) -> bool:
    """Have native code know this class instead of the one that it knows."""
    entry = code.load()
    entry._state[State.PARTED // 8] = id(cls)
    _before.append(cls)
    return True


_before: list[Any] = []  # classes whose addresses native code has


@pytest.fixture(autouse=True)
def no_parts() -> Iterator[None]:
    entry = code.load()
    before = entry._state[State.PARTED // 8]
    yield
    entry._state[State.PARTED // 8] = before


# ---- threads
def in_threads(work: Callable[[int], None], count: int = 6) -> None:
    failed: list[BaseException] = []
    start = threading.Barrier(count)

    def run(i: int) -> None:
        try:
            start.wait()
            work(i)
        except BaseException as e:
            failed.append(e)

    threads = [threading.Thread(target=run, args=(i,)) for i in range(count)]
    before = sys.getswitchinterval()
    sys.setswitchinterval(1e-5)
    try:
        for t in threads:
            t.start()
        for t in threads:
            t.join()
    finally:
        sys.setswitchinterval(before)
    assert not failed, failed


@pytest.mark.parametrize("disturbed", [False, True])
def test_threads_with_streams_of_their_own(
    stub: StubDriver, monkeypatch: pytest.MonkeyPatch, disturbed: bool
) -> None:
    """Each launch is in its thread's stream, of its thread's tensors; also while calls are
    forgotten, recorded and replaced by others."""
    local = threading.local()
    reader = lambda _device: getattr(local, "stream", 0)  # noqa: E731
    monkeypatch.setattr(cuda_runner, "raw_stream_reader", lambda: reader)
    monkeypatch.setattr(code.load(), "stream", 0)
    rows = {i: [aligned(n) for n in (8, 9, 10)] for i in range(6)}
    sizes, results = 3 * 15, {i: [] for i in range(6)}

    @cute.jit  # one that has not been called with another reader
    def launch(x: cute.Tensor, out: cute.Tensor, fn: cutlass.Constexpr):
        work_kernel(x, out, fn).launch(grid=[x.shape[0], 1, 1], block=[32, 1, 1])

    @repeated
    def operator(x: Any, *, out: Any = None) -> Any:
        out = empty(x, (4,), "float32") if out is None else out
        launch(x, out, same)
        return out

    front: Front = operator.front  # type: ignore[attr-defined]

    def run(i: int) -> None:
        local.stream = 1000 + i
        for n in range(sizes):
            results[i].append(operator(rows[i][n % 3]))
            if disturbed and i == 0 and n % 7 == 0:
                forget_calls()
            if disturbed and i == 1:
                operator(aligned(11 + n % 4), out=rows[i][0])

    in_threads(run)
    mine = {i: [t.data_ptr() for t in rows[i]] for i in rows}
    seen = dict.fromkeys(rows, 0)
    for done in stub.launches:
        for i, places in mine.items():
            if set(places) & set(done.values):
                assert done.stream == 1000 + i
                seen[i] += 1
    assert all(seen[i] == sizes for i in rows if i != 1 or not disturbed)
    kept_results = [r.data_ptr() for several in results.values() for r in several]
    assert len(set(kept_results)) == len(kept_results), "each call has a result of its own"
    assert disturbed or front.hits > 0


def test_threads_that_record_at_once(stub: StubDriver) -> None:
    x, out = aligned(8), aligned(4)
    in_threads(lambda _: [operator(x, out=out) for _ in range(10)] and None)
    assert stub.count == 6 * 10 * 2
    assert hits(lambda: operator(x, out=out)) == 1


# ---- gradients
@differentiable(lambda: training_backward)
@checked(arrays="q k v")
@repeated
def training(q: Any, k: Any, v: Any, *, causal: bool = False, return_lse: bool = False) -> Any:
    entered.append("forward")
    out, lse = empty(q, (8,), "float32"), empty(q, (8,), "float32")
    work(q, out, same)
    work(k, lse, same)
    return (out, lse) if return_lse else out


@checked(arrays="grad q k v out lse")
@repeated
def training_backward(
    grad: Any, q: Any, k: Any, v: Any, out: Any, lse: Any, *, causal: bool = False,
    deterministic: bool = False,
) -> Any:  # fmt: skip
    entered.append("backward")
    found = tuple(empty(t, (8,), "float32") for t in (q, k, v))
    for t in found:
        work(grad, t, same)
    return found


def test_gradients_take_no_python_of_the_operators(stub: StubDriver) -> None:
    inputs = [aligned(8).requires_grad_() for _ in range(3)]
    grad = aligned(8)
    fronts: list[Any] = [training.front, training_backward.front]  # type: ignore[attr-defined]

    def step() -> list[int]:
        before, count = [f.hits for f in fronts], stub.count
        found = torch.autograd.grad(training(*inputs, causal=True), inputs, grad)
        assert [g.shape for g in found] == [t.shape for t in inputs]
        assert stub.count - count == 5
        return [f.hits - b for f, b in zip(fronts, before, strict=True)]

    # In the host's memory results begin at any multiple of 64, each of which is recorded.
    hit = [step() for _ in range(80)]
    assert hit[:2] == [[0, 0], [0, 0]] and [h for h, _ in hit[2:]] == [1] * 78
    assert sum(b for _, b in hit[-20:]) >= 10, why_not(training_backward)
    assert entered.count("forward") == 2


def test_gradients_in_threads(stub: StubDriver) -> None:
    """Those of several threads at once; a node's are asked for in the thread that wants them."""
    grad = aligned(8)

    def run(i: int) -> None:
        inputs = [aligned(8).requires_grad_() for _ in range(3)]
        for _ in range(20):
            out = training(q=inputs[0], k=inputs[1], v=inputs[2])
            out.backward(grad)
        assert all(t.grad is not None for t in inputs)

    in_threads(run)
    assert stub.count == 6 * 20 * 5


def test_what_has_no_gradients_goes_past_the_node() -> None:
    plain, wants = [aligned(8) for _ in range(3)], aligned(8).requires_grad_()
    assert training(*plain).grad_fn is None
    assert training(*plain[:2], wants).grad_fn is not None
    with torch.no_grad():
        assert training(*plain[:2], wants).grad_fn is None
    out, lse = training(*plain[:2], v=wants, return_lse=True)
    assert out.requires_grad and not lse.requires_grad
    with pytest.raises(TypeError, match="missing"):
        training(wants)
    with pytest.raises(TypeError, match="unexpected"):
        training(*plain[:2], wants, unknown=1)
