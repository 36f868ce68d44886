# SPDX-FileCopyrightText: 2026 The OpenCuTe authors
# SPDX-License-Identifier: Apache-2.0
"""Loop ranges: Python's `range`, `cutlass.range` and `cutlass.range_constexpr`.

A run-time loop counts upwards in the IR; ranges with a negative step count turns and compute the
item from the turn.
"""

# pyright: reportUnknownArgumentType=false
# pyright: reportUnknownMemberType=false
# Users' objects and nested tuples are of any type; annotations cannot say more.

from __future__ import annotations

import builtins
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import Any

from opencute.base.errors import LanguageError, TypeMismatchError
from opencute.base.suggest import did_you_mean
from opencute.dialects import arith
from opencute.ir.attributes import UNIT, IntAttr
from opencute.ir.builder import current_block
from opencute.ir.core import Op, Value
from opencute.ir.types import I64
from opencute.lang import facts, mathfns
from opencute.lang import number_ops as ops
from opencute.lang.numbers import Int32, Int64, Numeric, as_numeric, number_in

__all__ = [
    "Guarded",
    "LoopRange",
    "Zipped",
    "dynamic_range",
    "enumerated",
    "range_",
    "range_constexpr",
    "zipped",
]


def _unpack(args: tuple[Any, ...]) -> tuple[Any, Any, Any]:
    if len(args) == 1:
        return 0, args[0], 1
    if len(args) == 2:
        return args[0], args[1], 1
    if len(args) == 3:
        return args[0], args[1], args[2]
    raise TypeMismatchError(
        f"range expected 1 to 3 arguments, got {len(args)}", code="OC1268",
        expected="range(stop), range(start, stop) or range(start, stop, step)",
    )  # fmt: skip


_OPTIONS = ("unroll", "unroll_full", "vectorize", "prefetch_stages", "pipelining")


def _check_options(unroll: Any, counts: dict[str, Any], unknown: dict[str, Any]) -> None:
    for name in unknown:
        raise TypeMismatchError(
            f"range() has no argument {name!r}", code="OC1267", expected=", ".join(_OPTIONS),
            hint=did_you_mean(name, _OPTIONS) or None,
        )  # fmt: skip
    for name, x in {"unroll": unroll, **counts}.items():
        if x is not None and (not hasattr(x, "__index__") or getattr(x, "is_dynamic", False)):
            raise TypeMismatchError(
                f"range(): {name} is a number known at compile time", code="OC1269", found=repr(x)
            )


class LoopRange:
    """A range that a `for` statement runs over at run time.

    Args:
        args: stop; or start, stop; or start, stop, step.
        unroll: copies of the body per turn.
        unroll_full: unroll completely; the trip count must be known when the code is generated.
        vectorize: put the turns of a loop of at most 128 turns, a number known at compile time,
            side by side, as `unroll_full` does; otherwise there is a warning, OC1069.
        prefetch_stages: how many turns ahead the loads from global memory are made whose addresses
            depend on the loop's variable only; a loop that writes to global memory or meets
            other threads stays as it is, with a warning, OC1070.
    """

    def __init__(
        self,
        *args: Any,
        unroll: int = -1,
        unroll_full: bool = False,
        vectorize: bool | None = None,
        prefetch_stages: int | None = None,
        pipelining: int | None = None,
        loc: Any = None,
        ip: Any = None,
        **unknown: Any,
    ) -> None:
        counts = {"prefetch_stages": prefetch_stages, "pipelining": pipelining}
        _check_options(unroll, counts, unknown)
        self.start, self.stop, self.step = map(number_in, _unpack(args))
        self.unroll = unroll
        self.unroll_full = unroll_full
        self.stages = prefetch_stages if prefetch_stages is not None else pipelining
        self.vectorize = bool(vectorize)
        for x in (self.start, self.stop, self.step):
            if x.dtype.is_float if isinstance(x, Numeric) else not hasattr(x, "__index__"):
                raise TypeMismatchError("a range is made of integers", code="OC1253", found=repr(x))

    @classmethod
    def from_python(cls, *args: Any, **options: Any) -> LoopRange:
        """Python's `range(...)` in rewritten code; it takes the unroll options of `range_`."""
        return cls(*args, **options)

    beside: tuple[Any, ...] = ()
    """Sequences known while tracing whose items the loop's items carry; see `zipped`."""

    def __reversed__(self) -> LoopRange:
        if not any(map(_is_dynamic, (self.start, self.stop, self.step))):
            items = self.concrete()[::-1]
            out = LoopRange(items.start, items.stop, items.step)
        else:
            n = self.turns()
            last = self.start + (n - 1) * self.step
            out = LoopRange(last, last - n * self.step, -self.step)
        out.unroll, out.unroll_full, out.stages = self.unroll, self.unroll_full, self.stages
        return out

    def turns(self) -> Any:
        """How often the body runs."""
        if not any(map(_is_dynamic, (self.start, self.stop, self.step))):
            return len(self.concrete())
        start, stop, step = self.start, self.stop, self.step
        if _is_dynamic(step):
            from opencute.lang.vectors import where

            up = step > 0
            span, size = where(up, stop - start, start - stop), where(up, step, -step)
        else:
            span, size = (stop - start, step) if step > 0 else (start - stop, -step)
        n = (span + size - 1) // size
        return mathfns.max(n, type(n)(0))

    def items(self) -> Iterable[Any]:
        """The items of a range known while tracing, as the loop's variable has them."""
        return map(self._class(), self.concrete())

    def guarded(self) -> Iterable[Any]:
        """Items of a range of unknown length beside those of a sequence."""
        raise AssertionError

    def concrete(self) -> builtins.range:
        """The range as Python's own.

        Raises:
            LanguageError: a bound is only known at run time.
        """
        parts = []
        for x in (self.start, self.stop, self.step):
            if isinstance(x, Numeric) and x.is_dynamic:
                raise LanguageError(
                    "this range has bounds that are only known at run time", code="OC1112",
                    hint="use it in a 'for' statement of a @jit or @kernel function whose body "
                    "has no 'break', 'continue' or 'return'",
                )  # fmt: skip
            parts.append(int(x))
        return builtins.range(*parts)

    def __iter__(self) -> Any:
        # Comprehensions, list(...) and code that is not rewritten run while tracing.
        return iter(self.concrete())

    def __len__(self) -> int:
        return len(self.concrete())

    def runs(self) -> bool:
        """Whether the body is known to run at least once."""
        parts = (self.start, self.stop, self.step)
        if any(map(_is_dynamic, parts)):
            return False
        return len(self.concrete()) > 0

    def _class(self) -> Any:
        """The class of the items: Int32, or what the bounds promote to."""
        cls: Any = Int32
        for x in (self.start, self.stop, self.step):
            cls = ops.promoted(_zero(cls), x if isinstance(x, Numeric) else int(x)) or cls
        return cls

    def bounds(self) -> tuple[Value, Value, Value, Callable[[Value], Any]]:
        """lower, upper and step of the IR's loop, and how its variable becomes the item."""
        numeric = self._class()
        # The IR compares signed numbers.
        counter: Any = numeric if numeric.signed else Int64
        step = self.step
        if not isinstance(step, Numeric) or not step.is_dynamic:
            n = int(step)
            if n == 0:
                raise ValueError("range() arg 3 must not be zero")
            if n > 0:
                nonneg, div = _nonneg(self.start), _item_divisor(self.start, n)
                index = all(map(_is_index, (self.start, self.stop)))

                def item(v: Value) -> Any:
                    out = counter(v)
                    out.nonneg, out.div, out.is_index = nonneg, div, index
                    return out.to(numeric)

                return (*(counter(x).ir_value() for x in (self.start, self.stop, n)), item)
        return self._by_turn(numeric, counter)

    def _by_turn(
        self, numeric: Any, counter: Any
    ) -> tuple[Value, Value, Value, Callable[[Value], Any]]:
        """Count turns from 0; for steps that are negative or of unknown sign."""
        start, stop, step = (as_numeric(x).to(counter) for x in (self.start, self.stop, self.step))
        if isinstance(self.step, Numeric) and self.step.is_dynamic:
            from opencute.lang.vectors import where

            up = step > 0
            span = where(up, stop - start, start - stop)
            size = where(up, step, -step)
        else:
            span, size = start - stop, counter(-int(self.step))
        turns = (span + size - 1) // size
        zero, one = (arith.constant(n, turns.ir_value().type) for n in (0, 1))

        def item(v: Value) -> Any:
            return (start + counter(v) * step).to(numeric)

        return zero, turns.ir_value(), one, item

    def annotate(self, op: Op) -> None:
        """Write the unroll options onto the loop."""
        if self.stages:
            op.attributes["cute.prefetch_stages"] = IntAttr(int(self.stages), I64)
        if self.vectorize:
            op.attributes["cute.vectorize"] = UNIT
        if self.unroll_full:
            op.attributes["cute.unroll_full"] = UNIT
        elif self.unroll > 1:
            op.attributes["cute.unroll"] = IntAttr(int(self.unroll), I64)


class Zipped(LoopRange):
    """Several ranges side by side: a loop over the number of the turn.

    Args:
        parts: ranges, and sequences known while tracing.
    """

    def __init__(self, parts: tuple[Any, ...]) -> None:
        self.parts = parts
        self.beside = tuple(p for p in parts if not isinstance(p, LoopRange))
        turns = [p.turns() for p in parts if isinstance(p, LoopRange)]
        super().__init__(mathfns.min(*turns) if len(turns) > 1 else turns[0])

    def _item(self, turn: Any) -> tuple[Any, ...]:
        out: list[Any] = []
        for p in self.parts:
            if isinstance(p, Zipped):
                out.append(p._item(turn))
            elif isinstance(p, LoopRange):
                numeric: Any = p._class()
                out.append(numeric(p.start + turn * p.step))
            else:
                out.append(p[int(turn)])
        return tuple(out)

    def bounds(self) -> tuple[Value, Value, Value, Callable[[Value], Any]]:
        lower, upper, step, turn = super().bounds()
        return lower, upper, step, lambda v: self._item(turn(v))

    def items(self) -> Iterable[Any]:
        return map(self._item, self.concrete())

    def guarded(self) -> Iterable[Any]:
        for k in range(min(map(len, self.beside))):
            yield Guarded(self._item(k), self.stop > k)

    def __iter__(self) -> Any:
        return iter([self._item(k) for k in self.concrete()])


@dataclass
class Guarded:
    """An item of a loop that runs while tracing, and when its turn takes place."""

    item: Any
    when: Any


def zipped(*parts: Any, strict: bool = False) -> Any:
    """Python's `zip`; a run-time loop if the length of a range in it is only known at run time."""
    if not any(isinstance(p, LoopRange) and _is_dynamic(p.turns()) for p in parts):
        return zip(*parts, strict=strict)
    if strict:
        raise LanguageError(
            "zip(strict=True) needs lengths known at compile time", code="OC1112",
            hint="leave strict out, or zip sequences of known length",
        )  # fmt: skip
    return Zipped(tuple(p if isinstance(p, LoopRange) else tuple(p) for p in parts))


def enumerated(items: Any, start: Any = 0) -> Any:
    """Python's `enumerate`, as `zipped`."""
    if isinstance(items, LoopRange) and _is_dynamic(items.turns()):
        return Zipped((LoopRange(start, start + items.turns()), items))
    if _is_dynamic(start):
        return [(start + k, x) for k, x in builtins.enumerate(items)]
    return builtins.enumerate(items, start)


def _is_dynamic(x: Any) -> bool:
    return isinstance(x, Numeric) and x.is_dynamic


def _zero(cls: Any) -> Any:
    """A number of a class that builds no operation."""
    out = cls.__new__(cls)
    out.value, out.div, out.nonneg, out.is_index, out.rest = 0, 1, False, False, None
    return out


def _nonneg(x: Any) -> bool:
    return bool(x.nonneg if isinstance(x, Numeric) and x.is_dynamic else int(x) >= 0)


def _is_index(x: Any) -> bool:
    return facts.is_index(x) if isinstance(x, Numeric) else abs(int(x)) < 1 << 31


def _item_divisor(start: Any, step: int) -> int:
    import math

    first = start.div if isinstance(start, Numeric) and start.is_dynamic else abs(int(start))
    return math.gcd(first, step) or 1


def dynamic_range(iterable: Any) -> LoopRange | None:
    """A Python `range` object as a run-time loop; None for anything else."""
    if isinstance(iterable, builtins.range) and current_block() is not None:
        return LoopRange(iterable.start, iterable.stop, iterable.step)
    return None


def range_(*args: Any, **options: Any) -> LoopRange:
    """`cutlass.range`: a run-time loop with unroll options; see `LoopRange`.

    Args:
        args: stop; or start, stop; or start, stop, step.
        options: unroll, unroll_full, vectorize, prefetch_stages.
    """
    return LoopRange(*args, **options)


class _ConstexprRange:
    """Items known while tracing; a class of its own, not to be taken for a run-time loop."""

    def __init__(self, items: builtins.range) -> None:
        self.items = items

    def __iter__(self) -> Any:
        return iter(self.items)

    def __len__(self) -> int:
        return len(self.items)


def range_constexpr(*args: Any) -> Any:
    """A range unrolled while tracing; its items are Python ints.

    Args:
        args: stop; or start, stop; or start, stop, step.

    Raises:
        LanguageError: a bound is only known at run time.
        TypeMismatchError: a bound is no integer, or there are more than three.

    Example:
        >>> list(cutlass.range_constexpr(2, 8, 3))
        [2, 5]
    """
    _unpack(args)
    for x in args:
        if not hasattr(x, "__index__") and not isinstance(x, Numeric):
            raise TypeMismatchError("a range is made of integers", code="OC1253", found=repr(x))
        if isinstance(x, Numeric) and x.is_dynamic:
            raise LanguageError(
                "range_constexpr needs bounds known at compile time", code="OC1113", found=repr(x),
                hint="use range(...) or cutlass.range(...) for a run-time loop",
            )  # fmt: skip
    return _ConstexprRange(builtins.range(*(int(x) for x in args)))
