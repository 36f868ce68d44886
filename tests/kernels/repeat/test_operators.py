# SPDX-FileCopyrightText: 2026 The OpenCuTe authors
# SPDX-License-Identifier: Apache-2.0
"""Calls that are made again launch what the operator's Python would, of which nothing runs."""

from __future__ import annotations

import gc
import math
import threading
import weakref
from collections.abc import Callable, Iterator
from functools import partial
from typing import Any

import pytest

import opencute as cutlass
from opencute import cute
from opencute.base.counters import COUNTERS
from opencute.base.errors import ArgumentError
from opencute.base.knobs import KNOBS
from opencute.integrations.driver_stub import StubDriver
from opencute.jit.recording import fresh, once_only
from opencute.kernels.arrays import empty, fill, zeros
from opencute.kernels.checked import separate
from opencute.kernels.repeat.operators import forget_calls, repeated, why_not
from opencute.runtime import driver

pytestmark = pytest.mark.t1
torch: Any = pytest.importorskip("torch")
FACTOR = 2.0
NUMBERS = iter(range(1 << 50, 1 << 60))
entered: list[str] = []


@pytest.fixture
def stub() -> Iterator[StubDriver]:
    entered.clear()
    with StubDriver() as driver, KNOBS.override(target="cuda"):
        forget_calls()
        yield driver
        forget_calls()


@cute.kernel
def work_kernel(x: cute.Tensor, y: Any, out: cute.Tensor, n: Any, fn: cutlass.Constexpr):
    out[0] = fn(x[0]).to(cutlass.Float32)
    if cutlass.const_expr(y is not None):
        out[1] = y[0]
    if cutlass.const_expr(n is not None):
        out[2] = n.to(cutlass.Float32)


@cute.jit
def work(x: cute.Tensor, y: Any, out: cute.Tensor, n: Any, fn: cutlass.Constexpr):
    work_kernel(x, y, out, n, fn).launch(grid=[x.shape[0], 1, 1], block=[32, 1, 1])


def twice(x: Any) -> Any:
    return x * FACTOR


def plain(
    x: Any, y: Any = None, *, number: float = 0.0, out: Any = None, fn: Any = twice,
    how: str = "",
) -> Any:  # fmt: skip
    """An operator that does what operators do."""
    entered.append(how)
    if x.shape[0] > 100:
        raise ArgumentError("too many rows", code="OC2500", found=x.shape[0])
    out = empty(x, (4,), "float32") if out is None else out
    given = None
    if how == "workspace":
        y = zeros(x, (8,), "float32")
    elif how == "copies":
        y = x[1:, 1:].contiguous()[0]
        fill(out, number)
    elif how == "two copies":
        x, y = x.contiguous(), y.contiguous()
        out.copy_(y[0, :4])
        y = None
    elif how == "fresh":
        given = cutlass.Int64(fresh(NUMBERS))
    elif how == "elements":
        once_only("it looks")
    elif how == "item" and float(x[0, 0]) > 1.0:
        y = x[1]
    work(x[1], y, out, given, fn)
    if how == "twice":
        work(x[2], y, out, given, fn)
    return (out, out.view(2, 2)) if how == "views" else (x, None) if how == "argument" else out


operator = repeated(plain)


def zeroed(*shape: int) -> Any:
    """An array that begins where addresses are multiples of 256, as on a GPU."""
    room = torch.zeros(math.prod(shape) + 64)
    return room[-room.data_ptr() % 256 // 4 :].as_strided(shape, torch.empty(shape).stride())


def rows(n: int = 8) -> Any:
    return zeroed(n, 8)


def launched(stub: StubDriver, call: Callable[[], Any]) -> tuple[Any, list[Any]]:
    stub.launches.clear()
    return call(), list(stub.launches)


def compared(stub: StubDriver, make: Callable[[], tuple[tuple[Any, ...], dict[str, Any]]]) -> Any:
    """Launches of a call that is made again, which are those of the plain function."""
    for _ in range(2):
        args, kwargs = make()
        operator(*args, **kwargs)
    count = len(entered)
    args, kwargs = make()
    again = launched(stub, lambda: operator(*args, **kwargs))
    assert len(entered) == count, why_not(operator)
    assert again[1] == launched(stub, lambda: plain(*args, **kwargs))[1] != []
    return again


@pytest.mark.parametrize("how", ["", "twice", "argument"])
def test_launches_of_new_tensors(stub: StubDriver, how: str) -> None:
    kept = []

    def make() -> tuple[Any, Any]:
        kept.append(((rows(), rows()[0]), {"out": zeroed(4), "how": how}))
        return kept[-1]

    result, launches = compared(stub, make)
    args, kwargs = kept[-1]
    assert result == (args[0], None) if how == "argument" else result is kwargs["out"]
    assert args[0][1].data_ptr() in launches[0].values


@pytest.mark.parametrize("how", ["workspace", "copies", "fresh", "views"])
def test_what_is_made_is_made_again(stub: StubDriver, how: str) -> None:
    x, other = rows(), rows()
    operator(x, how=how)
    first, before = launched(stub, lambda: operator(x, how=how))
    second, after = launched(stub, lambda: operator(other, how=how))
    assert entered == [how, how], why_not(operator)
    results = [r if isinstance(r, tuple) else (r,) for r in (first, second)]
    assert results[1][0].data_ptr() not in (results[0][0].data_ptr(), other.data_ptr())
    assert [r.shape for r in results[0]] == [r.shape for r in results[1]]
    assert (before[0].kernel, before[0].grid) == (after[0].kernel, after[0].grid)
    assert other[1].data_ptr() in after[0].values and other[1].data_ptr() not in before[0].values
    assert results[1][0].data_ptr() in after[0].values
    if how == "views":
        assert results[1][1].data_ptr() == results[1][0].data_ptr()
    if how == "fresh":
        numbers = [v for launch in (*before, *after) for v in launch.values if v >> 50 == 1]
        assert len(numbers) == 2 and numbers[0] + 1 == numbers[1]


def test_operations_of_torch_are_done_again(stub: StubDriver) -> None:
    operator(rows(), number=3.0, how="copies")
    out = zeroed(4)
    for _ in range(2):
        operator(rows(), number=3.0, out=out, how="copies")
    count = len(entered)
    fill(out, 0.0)
    operator(rows(), number=3.0, out=out, how="copies")
    assert len(entered) == count and out.tolist() == [3.0] * 4


def test_an_argument_given_twice_is_not_taken_for_two(stub: StubDriver) -> None:
    """Where torch alone touches both, only their being one object says that they are one."""
    x, other = (zeroed(8, 16)[:, :8] for _ in range(2))
    other.fill_(5.0)
    for _ in range(3):
        operator(x, x, out=zeroed(4), how="two copies")
    out = zeroed(4)
    operator(x, other, out=out, how="two copies")
    assert out.tolist() == [5.0] * 4


def test_overlapping_tensors(stub: StubDriver) -> None:
    """Whose memory a kernel's address is in may be told from none of the calls alone."""
    both = zeroed(8, 16)
    halves = lambda: (both[:, :8], both[:, 8:])  # noqa: E731
    apart = lambda: (zeroed(8, 16)[:, :8], zeroed(8, 16)[:, :8])  # noqa: E731
    same = lambda: (both[:, :8],) * 2  # noqa: E731
    for make in (same, halves, apart, same, apart, halves):
        x, y = make()
        for _ in range(3):
            call = partial(operator, x, y[0], out=zeroed(4))
            got = launched(stub, call)[1]
            assert got == launched(stub, partial(plain, *call.args, **call.keywords))[1], make
    entered.clear()
    for make in (same, halves, apart):
        x, y = make()
        operator(x, y[0], out=zeroed(4))
    assert not entered


def test_results_that_come_to_share_memory(stub: StubDriver) -> None:
    """What an operator refuses, it refuses also where calls of the kind have been recorded."""
    refusing = repeated(separate(inplace="x")(plain))
    both = zeroed(9, 8)

    def refused(x: Any, y: Any, out: Any) -> None:
        with pytest.raises(ArgumentError, match="out shares memory"):
            refusing(x, y, out=out)

    for _ in range(3):
        refusing(rows(), rows(), out=zeroed(8, 8))
        refused(both[:8], rows(), both[1:])
        refused(rows(), both[1:], both[:8])
    count = len(entered)
    refusing(both[:8], rows(), out=zeroed(8, 8))
    assert len(entered) == count, why_not(refusing)
    for _ in range(3):
        refusing(both[:8], rows(), out=both[:8])  # in its place
        refused(both[:8], rows(), both[1:])
    assert len(entered) == count + 1  # recorded at once: the kind is known


def test_what_changes_is_seen(stub: StubDriver, monkeypatch: pytest.MonkeyPatch) -> None:
    x = rows()
    for _ in range(3):
        operator(x)
    compilations = COUNTERS.compilations
    assert len(entered) == 2
    monkeypatch.setitem(globals(), "FACTOR", 3.0)
    operator(x)
    assert len(entered) == 3 and COUNTERS.compilations == compilations + 1
    operator(x)
    assert len(entered) == 3
    with KNOBS.override(line_info=not KNOBS.line_info):
        operator(x)
    assert len(entered) == 4


def test_errors_and_calls_of_other_kinds(stub: StubDriver) -> None:
    for _ in range(3):
        operator(rows())
        with pytest.raises(ArgumentError, match="too many rows"):
            operator(rows(101))
        with pytest.raises(AttributeError):
            operator(None)
    assert entered.count("") == 8  # two of the first, and each that fails
    entered.clear()
    strided = zeroed(8, 16)[:, ::2]
    for x in (strided, rows().double(), zeroed(9, 9)[1:, 1:]):
        for number in (1.0, 1.0, 1.0, 2.0, 2.0, 2.0, 1.0):
            operator(x, number=number)
    assert len(entered) == 12


def test_what_cannot_be_told_from_the_arguments(stub: StubDriver) -> None:
    x = rows()
    for how, why in (("elements", "it looks"), ("item", "_local_scalar_dense")):
        for _ in range(3):
            operator(x, how=how)
        assert entered.count(how) == 3
        assert any(why in reason for reason in why_not(operator))
    other = rows()[0]
    stray = repeated(lambda x, out: work(x[1], other, out, None, twice))
    for _ in range(3):
        stray(x, zeroed(4))
    assert why_not(stray) == ["memory that is not an argument's"]


def test_the_simulator_runs_operators_themselves() -> None:
    forget_calls()
    entered.clear()
    with KNOBS.override(target="sim"):
        x = rows()
        fill(x, 3.0)
        assert [operator(x)[0].item() for _ in range(3)] == [6.0] * 3
    assert len(entered) == 3 and why_not(operator) == []


def test_operators_in_operators_are_parts_of_them(stub: StubDriver) -> None:
    outer = repeated(lambda x: (operator(x), operator(x, how="twice")))
    x = rows()
    outer(x)
    outer(x)
    entered.clear()
    result, launches = launched(stub, lambda: outer(x))
    assert not entered and len(launches) == 3
    assert result[0].data_ptr() != result[1].data_ptr()


def test_several_threads(stub: StubDriver) -> None:
    for _ in range(2):
        operator(rows(), out=zeroed(4))
    before, failed = stub.count, []

    def run() -> None:
        try:
            for _ in range(50):
                operator(rows(), out=zeroed(4))
        except BaseException as e:
            failed.append(e)

    threads = [threading.Thread(target=run) for _ in range(4)]
    for t in threads:
        t.start()
    for t in threads:
        t.join()
    assert not failed and stub.count == before + 200
    assert len(entered) == 2


def test_extents_that_never_come_again_leave_those_that_do(stub: StubDriver) -> None:
    for _ in range(2):
        operator(rows())
    for n in range(300):
        operator(rows(), number=float(n))
    entered.clear()
    operator(rows())
    assert not entered


def test_workspaces_are_one_piece_of_memory(stub: StubDriver) -> None:
    def several(x: Any) -> Any:
        parts = [empty(x, (n,), "float32") for n in (5, 300, 8, 1)]
        for part in parts:
            work(x[1], part, x, None, twice)
        return parts[3]

    fn, x = repeated(several), rows()
    for _ in range(2):
        fn(x)
    launches = launched(stub, lambda: fn(x))[1]
    places = [launch.values[2] for launch in launches]
    assert [place - places[0] for place in places] == [0, 512, 2048, places[3] - places[0]]
    assert not 0 <= places[3] - places[0] < 2048 + 512, "what is returned has its own"


def test_nothing_of_a_call_is_kept(stub: StubDriver) -> None:
    refs: list[Any] = []
    for how in ("", "workspace", "copies", "views"):
        for _ in range(3):
            tensors = (rows(), rows()[0])
            result = operator(*tensors, how=how)
            parts = result if isinstance(result, tuple) else (result,)
            refs += [weakref.ref(t) for t in (*tensors, *parts)]
    del tensors, result, parts
    gc.collect()
    assert not [r for r in refs if r() is not None]


def test_the_first_launch_of_a_thread(stub: StubDriver, monkeypatch: pytest.MonkeyPatch) -> None:
    """It may have no context; what was recorded is good all the same."""
    for _ in range(3):
        operator(rows())
    count, status, known = len(entered), stub.status, driver.ensure_context

    def ensure() -> int:
        stub.status = status
        return known()

    stub.status = 201  # CUDA_ERROR_INVALID_CONTEXT
    monkeypatch.setattr(driver, "ensure_context", ensure)
    operator(rows())
    operator(rows())
    assert len(entered) == count and stub.status == status
