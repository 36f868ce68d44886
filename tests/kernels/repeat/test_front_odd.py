# SPDX-FileCopyrightText: 2026 The OpenCuTe authors
# SPDX-License-Identifier: Apache-2.0
"""Calls that take no Python where something is odd: memory that is gone, modes, Ctrl-C."""

from __future__ import annotations

import ctypes
import gc
import weakref
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any, ClassVar

import pytest

import opencute as cutlass
from opencute import cute
from opencute.base.errors import ArgumentError
from opencute.base.knobs import KNOBS
from opencute.integrations.driver_stub import StubDriver
from opencute.jit.entry import code
from opencute.jit.entry import front_words as words
from opencute.jit.entry.words import State
from opencute.jit.recording import fresh
from opencute.kernels.arrays import empty
from opencute.kernels.repeat.front import Front
from opencute.kernels.repeat.operators import forget_calls, repeated
from opencute.native.jit import compile_host

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


@cute.kernel
def work_kernel(x: cute.Tensor, out: cute.Tensor, fn: cutlass.Constexpr):
    out[0] = fn(x[0])


@cute.jit
def work(x: cute.Tensor, out: cute.Tensor, fn: cutlass.Constexpr):
    work_kernel(x, out, fn).launch(grid=[x.shape[0], 1, 1], block=[32, 1, 1])


def same(x: Any) -> Any:
    return x


@repeated
def operator(x: Any, *, config: Any = None, fn: Any = same) -> Any:
    entered.append(config)
    out = empty(x, (4,), "float32")
    work(x, out, fn)
    return out


FRONT: Front = operator.front  # type: ignore[attr-defined]


def aligned(n: int) -> Any:
    """Elements that begin where addresses are multiples of 256, as on a GPU."""
    room = torch.zeros(4 * n + 512, dtype=torch.uint8)
    return room[-room.data_ptr() % 256 :][: 4 * n].view(torch.float32)


def hits(call: Callable[[], Any]) -> int:
    before = FRONT.hits
    call()
    return FRONT.hits - before


def published(front: Front) -> set[int]:
    """The records that native code finds."""
    table, mask = (front._state[w // 8] for w in (words.Front.TABLE, words.Front.MASK))
    return {*(ctypes.c_int64 * (mask + 1)).from_address(table)} - {0} if table else set()


def test_memory_that_is_not_there_is_refused(stub: StubDriver) -> None:
    """A null address is aligned, so that the description would be that of a call that is known."""
    for _ in range(3):
        operator(aligned(8))
    gone = torch.zeros(8)
    gone.untyped_storage().resize_(0)
    never = (torch._efficientzerotensor((8,)), torch._to_functional_tensor(torch.zeros(8)))
    count = stub.count
    for x in (gone, *never):
        for _ in range(3):
            with pytest.raises(ArgumentError, match=r"has no (storage|memory)"):
                operator(x)
    assert stub.count == count
    empty_one = aligned(8)[:0]
    assert empty_one.data_ptr() == 0 and FRONT._key(aligned(8), empty_one) is None


def test_negated_views_that_begin_at_the_real_parts_are_refused(stub: StubDriver) -> None:
    room = aligned(16)
    pairs, at = torch.view_as_complex(room.view(8, 2)), room.storage_offset()
    parts, negated = (p.imag.as_strided((8,), (2,), at) for p in (pairs, pairs.conj()))
    for _ in range(3):
        operator(parts)
    assert negated.is_neg() and hits(lambda: operator(parts)) == 1
    count = stub.count
    with pytest.raises(ArgumentError, match="negated"):
        operator(negated)
    assert stub.count == count


def with_tangent(x: Any, tangent: Any) -> Any:
    """torch's `make_dual`, which loads torch's compiler."""
    return torch._VF._make_dual(x, tangent, level=0)


def test_tangents_are_not_dropped(stub: StubDriver) -> None:
    """Derivatives that torch takes forwards: of calls that are known too, and of jit functions."""
    forward = torch.autograd.forward_ad
    x, out = aligned(8), aligned(4)
    for _ in range(3):
        operator(x)
    call = cute.compile(work, x, out, same)
    call(x, out)
    assert hits(lambda: operator(x)) == 1
    for _ in range(2):
        with forward.dual_level():
            dual, count = with_tangent(x, torch.ones_like(x)), stub.count
            assert dual.data_ptr() == x.data_ptr() and not dual.requires_grad
            for fn, more in ((operator, ()), (work, (out, same)), (call, (out,))):
                with pytest.raises(ArgumentError, match="tangent") as e:
                    fn(dual, *more)
                assert e.value.code == "OC2013"
            assert stub.count == count
            assert hits(lambda: operator(x)) == 0 and stub.count == count + 1
            operator(forward.unpack_dual(dual).primal)
    assert hits(lambda: operator(x)) == 1


def test_a_rule_for_tangents_may_call_kernels() -> None:
    forward = torch.autograd.forward_ad

    class Ours(torch.autograd.Function):
        """Linear, so that the operator is its own derivative."""

        @staticmethod
        def forward(ctx: Any, x: Any) -> Any:
            return operator(x)

        @staticmethod
        def jvp(ctx: Any, tangent: Any) -> Any:
            return operator(tangent)

    x = aligned(8)
    with forward.dual_level():
        found = forward.unpack_dual(Ours.apply(with_tangent(x, aligned(8))))
    assert found.primal.shape == found.tangent.shape == (4,)


def test_a_mode_sees_operations() -> None:
    from torch.utils._python_dispatch import TorchDispatchMode

    class Seen(TorchDispatchMode):
        """Made so that torch's compiler is not imported."""

    seen: list[str] = []

    def dispatch(self: Any, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        seen.append(func.overloadpacket.__name__)
        return func(*args, **(kwargs or {}))

    Seen.__torch_dispatch__ = dispatch  # type: ignore[assignment]
    x = aligned(8)
    for _ in range(3):
        operator(x)
    count = len(entered)
    for _ in range(3):
        with Seen():
            assert hits(lambda: operator(x)) == 0
    assert seen.count("new_empty") == 3 and len(entered) == count + 3
    assert hits(lambda: operator(x)) == 1


@dataclass(frozen=True)
class Watchful:
    """Looks, when it goes, whether native code still finds what has gone before."""

    times: int = 1
    entries: ClassVar[dict[int, Any]] = {}
    seen: ClassVar[list[bool]] = []

    def __del__(self) -> None:
        found = published(FRONT)
        self.seen.append(all(self.entries[at]() is not None for at in found))


def test_finalizers_find_a_table_of_what_is_there() -> None:
    x, first = aligned(8), Watchful()
    for _ in range(3):
        operator(x, config=first)
    for _ in range(3):
        operator(x, config=Watchful())  # equal ones, which only entries hold
    Watchful.entries.clear()
    Watchful.entries.update({e.address: weakref.ref(e) for e in FRONT.entries.values()})
    Watchful.seen.clear()
    assert len(published(FRONT)) == 4
    FRONT.forget()
    gc.collect()
    assert Watchful.seen == [True] * 3 and not published(FRONT)


def test_what_is_given_up_is_not_found_any_more() -> None:
    """Also where nothing is learnt in its stead."""
    x, y = aligned(8), aligned(9)
    for _ in range(3):
        operator(x)
    configs = [Watchful(7) for _ in range(8)]
    for config in configs[:6]:
        operator(y, config=config)
    assert FRONT.known == 5
    (old,) = (e for e in FRONT.entries.values() if len(e._kept[4]) == 0)
    old.tape.stale = True
    del old
    operator(y, config=configs[7])
    assert published(FRONT) == {e.address for e in FRONT.entries.values()}
    assert FRONT.known == 4
    Watchful.entries.update({e.address: weakref.ref(e) for e in FRONT.entries.values()})


FACTOR = 2.0


def test_a_call_that_python_forgot_is_replaced(monkeypatch: pytest.MonkeyPatch) -> None:
    def factored(x: Any) -> Any:
        return x * FACTOR

    x = aligned(8)
    for _ in range(3):
        operator(x, fn=factored)
    inner: Any = operator
    while not hasattr(inner, "kinds"):
        inner = inner.__wrapped__
    inner.kinds.clear()  # as when many other kinds of calls came since
    monkeypatch.setitem(globals(), "FACTOR", 3.0)
    for _ in range(3):
        operator(x, fn=factored)
    assert hits(lambda: operator(x, fn=factored)) == 1 and FRONT.known == 1


@dataclass(frozen=True)
class Placed:
    data_ptr: int = 0


def test_what_is_told_by_identity_is_kept() -> None:
    """Else another object may come to be where it was."""
    x = aligned(8)
    refs: list[Any] = []
    for _ in range(4):
        config = Placed()
        refs.append(weakref.ref(config))
        operator(x, config=config)
    del config
    gc.collect()
    learnt = [r() for r in refs[1:]]
    assert None not in learnt and FRONT.known == 3


class Parts:
    """An object that says what it is made of, or raises once."""

    def __init__(self, out: Any, error: BaseException | None = None) -> None:
        self.out, self.error = out, error

    def described_parts(self) -> list[Any]:
        error, self.error = self.error, None
        if error is not None:
            raise error
        return [self.out]


def test_ctrl_c_is_not_lost(monkeypatch: pytest.MonkeyPatch) -> None:
    @repeated
    def of_parts(x: Any, parts: Any) -> Any:
        entered.append(parts)
        work(x, parts.out, same)

    front: Front = of_parts.front  # type: ignore[attr-defined]
    state = code.load()._state
    before = state[State.PARTED // 8]
    monkeypatch.setattr(code.load(), "see_parts", lambda cls: cls is Parts)
    state[State.PARTED // 8] = id(Parts)
    try:
        x, out = aligned(8), aligned(8)
        for _ in range(3):
            of_parts(x, Parts(out))
        assert front.hits == 1
        for _ in range(2):
            with pytest.raises(KeyboardInterrupt):
                of_parts(x, Parts(out, KeyboardInterrupt()))
            with pytest.raises(KeyboardInterrupt):
                front._key(x, Parts(out, KeyboardInterrupt()))
        of_parts(x, Parts(out, ValueError("once")))  # Python asks again
        assert front._key(x, Parts(out, ValueError())) is None
        of_parts(x, Parts(out))
        assert front.hits == 2 and len(entered) == 2
    finally:
        state[State.PARTED // 8] = before


@pytest.mark.parametrize("bad", [ValueError, -1, 1 << 64])
def test_numbers_that_fail(bad: Any) -> None:
    def counted() -> Iterator[int]:
        for n in range(3):
            yield (1 << 50) + n
        if bad is ValueError:
            raise ValueError
        yield bad

    numbers = counted()

    @repeated
    def numbered(x: Any) -> Any:
        fresh(numbers)
        out = empty(x, (4,), "float32")
        work(x, out, same)
        return out

    front: Front = numbered.front  # type: ignore[attr-defined]
    x = aligned(8)
    for _ in range(3):
        numbered(x)
    assert front.hits == 1
    with pytest.raises(ValueError if bad is ValueError else OverflowError):
        numbered(x)


class Answers:
    """Of a class without a vectorcall."""

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        return args, kwargs


def test_calls_where_python_has_no_function_for_them() -> None:
    """Python 3.10's calls: also of C functions that take a tuple, as torch's do."""
    used = code._INLINE_FUNCTIONS
    text = [code._INLINE["PyObject_Vectorcall"].replace("@PyObject_Vectorcall", "@vectorcall")]
    text += [f"declare {t.split(' ', 1)[0]} @{n}{t.split(' ', 1)[1]}" for n, t in used.items()]
    symbols = {n: ctypes.cast(getattr(ctypes.pythonapi, n), ctypes.c_void_p).value for n in used}
    module = compile_host("\n".join(text), symbols)  # type: ignore[arg-type]
    call = ctypes.PYFUNCTYPE(
        ctypes.py_object, ctypes.py_object, ctypes.c_void_p, ctypes.c_int64, ctypes.c_void_p
    )(module.address("vectorcall"))

    def given(fn: Any, *args: Any, **kwargs: Any) -> Any:
        values, names = (*args, *kwargs.values()), tuple(kwargs)
        places = (ctypes.c_int64 * (1 + len(values)))(0, *map(id, values))
        count = len(args) - (1 << 63)  # the word before may be used
        return call(fn, ctypes.addressof(places) + 8, count, id(names) if names else None)

    made = given(torch.empty, (2, 3), dtype=torch.int32, device=torch.device("cpu"))
    assert made.shape == (2, 3) and made.dtype == torch.int32
    fast = torch._C._dynamo.guards._empty_strided_cpu
    assert given(fast, (2, 3), (3, 1), torch.int8).shape == (2, 3)
    assert given(Answers(), 1, a=2) == ((1,), {"a": 2})
    assert given(lambda *a, **k: (a, k), 1, a=2) == ((1,), {"a": 2})
    with pytest.raises(TypeError):
        given(torch.empty, "a", b=1)
