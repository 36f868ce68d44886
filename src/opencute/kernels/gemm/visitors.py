# SPDX-FileCopyrightText: 2026 The OpenCuTe authors
# SPDX-License-Identifier: Apache-2.0
"""What becomes of the sums of a product before they are stored: a function, or pieces in a row.

In: a function of a vector of accumulators and of the tile that they are from. It is ordinary
Python, and sees what it was given by name::

    def finish(x, tile):
        x = x * tile.row("scale") + tile.column("bias")
        tile.store("before", x)
        return gelu(x) + tile.load("residual")

    gemm(a, b, epilogue=Visitor(finish, scale=row(s), bias=column(v), before=store(p),
                                residual=load(r)))

A function of the sums alone is an epilogue by itself: ``gemm(a, b, epilogue=gelu)``, and
so is one of sums and tile without operands. Common pieces need no function::

    gemm(a, b, epilogue=chain(scale_rows(s), add_columns(v), apply(gelu), keep(p), add(r)))

Matrices that are loaded and stored go through TMA; a vector's elements are read where they count.
"""

# What users pass may be anything, whatever the annotations say.
# pyright: reportUnnecessaryIsInstance=false

from __future__ import annotations

import inspect
import sys
import types
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from opencute.base.bounded import Recent
from opencute.base.errors import ArgumentError, ArgumentTypeError
from opencute.base.interned import interned
from opencute.base.suggest import did_you_mean
from opencute.kernels.arrays import element_name
from opencute.kernels.functions import applied, is_module, place_of, refuse_function

__all__ = [
    "Operand", "Visitor", "VisitorPlan", "add", "add_columns", "add_rows", "amax", "apply",
    "asked_for", "chain", "check_operand", "check_pairs", "column", "declared", "keep", "load",
    "peak", "row", "scalar", "scale", "scale_columns", "scale_rows", "store", "takes", "usual",
    "visit",
]  # fmt: skip


# ---------------------------------------------------------------- operands
@dataclass(frozen=True, eq=False)
class Operand:
    """What a visitor is given.

    Args:
        kind: "row", "column", "load", "store", "amax" or "scalar".
        value: an array, or a number.
    """

    kind: str
    value: Any


def row(vector: Any) -> Operand:
    """A number for each row of the product: an array (M,); ``tile.row(name)``."""
    return Operand("row", vector)


def column(vector: Any) -> Operand:
    """A number for each column of the product: an array (N,); ``tile.column(name)``."""
    return Operand("column", vector)


def load(matrix: Any) -> Operand:
    """A matrix as large as the product, which is read: ``tile.load(name)``."""
    return Operand("load", matrix)


def store(matrix: Any) -> Operand:
    """A matrix as large as the product, which is written: ``tile.store(name, x)``."""
    return Operand("store", matrix)


def amax(cell: Any) -> Operand:
    """An array (1,) of f32 that grows to the largest magnitude of ``tile.amax(name, x)``, of those
    that are numbers: NaN is none."""
    return Operand("amax", cell)


def scalar(number: float) -> Operand:
    """A number that may differ from call to call: ``tile.scalar(name)``.

    Raises:
        ArgumentTypeError: it is none.
    """
    if not hasattr(number, "__float__") or tuple(getattr(number, "shape", ())):
        raise ArgumentTypeError(
            "scalar: this is no number", code="OC2537", found=_short(number),
            hint="an array has its numbers for rows or for columns: row(x), column(x), "
            "scale_rows(x), scale_columns(x)",
        )  # fmt: skip
    return Operand("scalar", number)


def _short(value: Any) -> str:
    shape = getattr(value, "shape", None)
    if shape is not None:
        return f"an array of the shape {tuple(shape)}"
    return repr(value)[:80]


# ---------------------------------------------------------------- visitors
def takes(fn: Any) -> int:
    """How many of the sums and the tile a function takes: 1 or 2.

    Raises:
        ArgumentTypeError: it takes neither one nor two positional arguments.
    """
    try:  # a module of torch is called as its forward is
        parameters = inspect.signature(fn.forward if is_module(fn) else fn).parameters.values()
    except (TypeError, ValueError):  # no function; or one of C, which does not say
        return 2
    placed = [p for p in parameters if p.kind in (p.POSITIONAL_ONLY, p.POSITIONAL_OR_KEYWORD)]
    needed = [p.name for p in placed if p.default is p.empty]
    needed += [p.name for p in parameters if p.kind is p.KEYWORD_ONLY and p.default is p.empty]
    open_ended = any(p.kind is p.VAR_POSITIONAL for p in parameters)
    most = 2 if open_ended else len(placed)
    if len(needed) > 2 or most < 1:
        raise ArgumentTypeError(
            "the function of a visitor takes the sums, or the sums and the tile", code="OC2537",
            expected="def fn(x): ... or def fn(x, tile): ...",
            found=f"{getattr(fn, '__name__', 'fn')}{inspect.signature(fn)}", loc=place_of(fn),
            hint="numbers of its own are those of a closure, or functools.partial(fn, factor=2.0)",
        )  # fmt: skip
    return 1 if len(needed) < 2 and not (open_ended or "tile" in [p.name for p in placed]) else 2


@dataclass(frozen=True)
class VisitorPlan:
    """What is compiled of a visitor.

    Args:
        fn: the function.
        names, kinds: of its operands.
        gated: a function on vectors of Float32, or None. The sums of columns 2 j and 2 j + 1 then
            give column j of the result: ``gated(x[2 j]) * x[2 j + 1]``.
        swapped: whether what the kernel multiplies is transposed, so that its rows are columns.
    """

    fn: Any
    names: tuple[str, ...] = ()
    kinds: tuple[str, ...] = ()
    gated: Callable[[Any], Any] | None = None
    swapped: bool = False


class Visitor:
    """A function on accumulators, and its operands.

    Args:
        fn: takes a vector of Float32 (of Int32 where int8 is multiplied) and the tile, or a
            vector of Float32 alone; returns what is stored. It runs once for each part of a tile
            when the kernel is compiled.
        gated: see `VisitorPlan`.
        operands: by the names that `fn` uses.

    Raises:
        ArgumentError: an operand is of no kind, or the function takes other arguments.
    """

    def __init__(
        self, fn: Callable[..., Any], /, *, gated: Callable[[Any], Any] | None = None,
        **operands: Operand,
    ) -> None:  # fmt: skip
        for what, f in (("fn", fn), ("gated", gated)):
            if isinstance(f, (_Usual, _Chain)) or (what == "gated" and f is None):
                continue
            if not callable(f):
                raise ArgumentTypeError(
                    f"{what} of a visitor is no function", code="OC2537", found=_short(f)
                )
            refuse_function(f"{what} of a visitor", f)
        for name, operand in operands.items():
            if not isinstance(operand, Operand):
                raise ArgumentError(
                    f"{name} is no operand of a visitor", code="OC2537", found=_short(operand),
                    expected="row(x), column(x), load(x), store(x), amax(x) or scalar(x)",
                )  # fmt: skip
        whole: Any = fn if isinstance(fn, (_Usual, _Chain)) or takes(fn) == 2 else _OfSums(fn)
        if operands and isinstance(whole, _OfSums):
            raise ArgumentTypeError(
                "a visitor with operands reads them from the tile, and its function takes none",
                code="OC2537", found=f"operands {', '.join(operands)}, and a function of one "
                "argument", expected="def fn(x, tile): ... "
                + ", ".join(f"tile.{o.kind}({n!r})" for n, o in operands.items()),
                loc=place_of(fn),
            )  # fmt: skip
        # Equal ones are one object, so that native code knows a visitor that is made at each call.
        self.fn: Any = interned(whole)
        self.gated = interned(gated)
        self.operands = {sys.intern(n): o for n, o in operands.items()}

    def given(self, operands: dict[str, Operand]) -> Visitor:
        """One with the same functions, and operands that are right for them."""
        other = object.__new__(Visitor)
        other.fn, other.gated, other.operands = self.fn, self.gated, operands
        return other

    def described_parts(self) -> list[Any]:
        """What a product with this visitor depends on."""
        parts: list[Any] = [self.fn, self.gated]
        for name, operand in self.operands.items():
            parts += [name, operand.kind, operand.value]
        return parts

    def plan(self, swapped: bool = False) -> VisitorPlan:
        """What is compiled."""
        kinds = tuple(o.kind for o in self.operands.values())
        return VisitorPlan(self.fn, tuple(self.operands), kinds, self.gated, swapped)


def asked_for(name: str, epilogue: Any) -> Visitor | None:
    """The visitor that an epilogue is; None for a function of the sums alone.

    Args:
        name: of the operator.
        epilogue: what it was given.

    Raises:
        ArgumentTypeError: it is neither a function nor a visitor.
    """
    if isinstance(epilogue, Visitor):
        return epilogue
    if not callable(epilogue):
        raise ArgumentTypeError(
            f"{name}: epilogue is no function and no Visitor", code="OC2531",
            found=repr(epilogue)[:80],
            expected="a function of the sums, Visitor(fn, ...), or visitors.chain(...)",
        )  # fmt: skip
    refuse_function("the epilogue", epilogue)
    return None if takes(epilogue) == 1 else Visitor(epilogue)


def check_operand(name: str, operand: Operand, words: str) -> None:
    """Check that an operand other than a scalar is an array, and that amax is one of f32.

    Args:
        words: the shapes that it may have.

    Raises:
        ArgumentError: it is not.
    """
    value = operand.value
    if not hasattr(value, "dtype"):
        raise ArgumentTypeError(
            f"{name} is no array", code="OC2530", found=type(value).__name__,
            expected=f"{operand.kind}(x) of an array of the shape {words}",
        )  # fmt: skip
    if operand.kind == "amax" and element_name(value) != "float32":
        raise ArgumentError(
            f"{name}: largest magnitudes are noted in f32", code="OC2540",
            expected="an array (1,) of float32", found=element_name(value),
        )  # fmt: skip


def check_pairs(columns: int) -> None:
    """Check that gates and what they gate, two by two, are all columns of a product.

    Raises:
        ArgumentError: one is left over.
    """
    if columns % 2:
        raise ArgumentError(
            "gates and what they gate are pairs of columns", code="OC2540", found=columns
        )


def declared(plan: VisitorPlan, name: str, accessor: str) -> None:
    """Check that an operand is asked for as what it was declared.

    Args:
        accessor: "row", "column", "load", "store", "amax" or "scalar".

    Raises:
        ArgumentError: there is none of this name, or it is of another kind.
    """
    kinds = dict(zip(plan.names, plan.kinds, strict=True))
    kind = kinds.get(name)
    if kind is None:
        raise ArgumentError(
            f"tile.{accessor}({name!r}): the visitor has no operand of this name", code="OC2537",
            found=", ".join(kinds) or "none",
            hint=did_you_mean(str(name), kinds) or f"declare it: Visitor(fn, {name}={accessor}(x))",
        )  # fmt: skip
    if kind != accessor:
        raise ArgumentError(
            f"tile.{accessor}({name!r}): {name} was declared as {kind}(x)", code="OC2537",
            expected=f"tile.{kind}({name!r})", found=f"tile.{accessor}({name!r})",
        )  # fmt: skip


def visit(plan: VisitorPlan, x: Any, tile: Any) -> Any:
    """What a visitor makes of a vector of sums.

    Args:
        tile: with the names of what has been stored in `stored`.

    Raises:
        ArgumentError: the function gives no vector, does what vectors cannot do, or leaves a
            matrix unwritten.
    """
    fn, given = plan.fn, (x, tile)
    if isinstance(fn, _OfSums):
        fn, given = fn.fn, (tile.floats(x),)
    result = applied("the visitor", fn, *given)
    left = [
        name for name, kind in zip(plan.names, plan.kinds, strict=True)
        if kind in ("store", "amax") and name not in tile.stored
    ]  # fmt: skip
    if left:
        kind = plan.kinds[plan.names.index(left[0])]
        raise ArgumentError(
            f"{left[0]} was declared as {kind}(x), but the visitor writes nothing to it",
            code="OC2537", expected=f"tile.{kind}({left[0]!r}, x) in each call", found="none",
            loc=place_of(fn),
        )  # fmt: skip
    return result


@dataclass(frozen=True)
class _OfSums:
    """A function that needs no tile."""

    fn: Callable[[Any], Any]


@dataclass(frozen=True)
class _Usual:
    """activation(alpha x + beta c + bias) + residual, of what there is."""

    present: frozenset[str]
    activation: Callable[[Any], Any] | None

    def __call__(self, x: Any, tile: Any) -> Any:
        if "alpha" in self.present:
            x = tile.floats(x) * tile.scalar("alpha")
        if "c" in self.present:
            x = tile.floats(x) + tile.load("c") * tile.scalar("beta")
        if "bias" in self.present:
            x = tile.floats(x) + tile.column("bias")
        if self.activation is not None:
            x = applied("the function on the sums", self.activation, tile.floats(x))
        if "residual" in self.present:
            x = tile.floats(x) + tile.load("residual")
        return x


def usual(
    *, alpha: float, beta: float, c: Any, bias: Any, activation: Any, residual: Any
) -> Visitor:
    """The visitor of an ordinary product; what is None is left out."""
    operands: dict[str, Any] = {}
    if alpha != 1.0:
        operands["alpha"] = scalar(alpha)
    if c is not None:
        operands |= {"c": load(c), "beta": scalar(beta)}
    if bias is not None:
        operands["bias"] = column(bias)
    if residual is not None:
        operands["residual"] = load(residual)
    return Visitor(_Usual(frozenset(operands), activation), **operands)


# ---------------------------------------------------------------- pieces
@dataclass(frozen=True)
class _Step:
    """One step of a chain; equal steps give equal kernels."""

    does: Callable[[Any, Any, str, Any], Any]
    fn: Any = None


@dataclass(frozen=True)
class _Chain:
    """Steps, one after another."""

    steps: tuple[_Step, ...]

    def __call__(self, x: Any, tile: Any) -> Any:
        for name, step in zip(_names(self.steps), self.steps, strict=True):
            x = step.does(x, tile, name, step.fn)
        return x


def _names(steps: tuple[_Step, ...]) -> list[str]:
    """Names of steps: those of their pieces, with their place where there are several."""
    names = [step.does.__name__.lstrip("_") for step in steps]
    return [
        sys.intern(n if names.count(n) == 1 else f"{n} (piece {i})") for i, n in enumerate(names)
    ]


Piece = tuple[_Step, "Operand | None"]


def chain(*pieces: Piece, gated: Callable[[Any], Any] | None = None) -> Visitor:
    """A visitor that does one piece after another.

    Raises:
        ArgumentTypeError: something is no piece.
    """
    for i, piece in enumerate(pieces):
        if not (isinstance(piece, tuple) and len(piece) == 2 and isinstance(piece[0], _Step)):
            raise ArgumentTypeError(
                f"piece {i} of the chain is a plain function; write apply(fn)"
                if callable(piece) else f"piece {i} of the chain is not a piece",
                code="OC2537", found=_short(piece),
                expected="what scale(x), add_columns(x), apply(fn), keep(x), ... give",
                hint="pass them one by one: chain(*pieces)" if isinstance(piece, list) else None,
            )  # fmt: skip
    key = _same_chain(pieces, gated)
    known = _known.get(key) if key is not None else None
    if known is None:
        steps = tuple(step for step, _ in pieces)
        known = Visitor(_Chain(steps), gated=gated), tuple(_names(steps))
        if key is not None:
            known = _known.setdefault(key, known)
    bare, names = known
    named = zip(names, pieces, strict=True)
    return bare.given({n: o for n, (_, o) in named if o is not None})


_known: Recent[Any, tuple[Visitor, tuple[str, ...]]] = Recent(1024)
_TOLD_APART = frozenset({types.FunctionType, int, float, type(None)})


def _same_chain(pieces: tuple[Piece, ...], gated: Any) -> tuple[Any, ...] | None:
    """What chains have in common that differ in their operands only; None where functions are
    objects of which equal ones may be told apart. Users write `chain` at each call: it takes
    a seventh of the time to find one than to make it."""
    key: list[Any] = [gated, type(gated)]
    for step, operand in pieces:
        key += (step.does, step.fn, operand is None, type(step.fn))
    return tuple(key) if _TOLD_APART.issuperset(key[1::4]) else None


def _scale(x: Any, tile: Any, name: str, _: Any) -> Any:
    return tile.floats(x) * tile.scalar(name)


def _scale_rows(x: Any, tile: Any, name: str, _: Any) -> Any:
    return tile.floats(x) * tile.row(name)


def _scale_columns(x: Any, tile: Any, name: str, _: Any) -> Any:
    return tile.floats(x) * tile.column(name)


def _add_rows(x: Any, tile: Any, name: str, _: Any) -> Any:
    return tile.floats(x) + tile.row(name)


def _add_columns(x: Any, tile: Any, name: str, _: Any) -> Any:
    return tile.floats(x) + tile.column(name)


def _add(x: Any, tile: Any, name: str, factor: Any) -> Any:
    if factor == 0.0:
        return x
    more = tile.load(name)
    return tile.floats(x) + (more if factor == 1.0 else more * factor)


def _apply(x: Any, tile: Any, name: str, fn: Any) -> Any:
    return applied("the function of apply(...)", fn, tile.floats(x))


def _keep(x: Any, tile: Any, name: str, _: Any) -> Any:
    tile.store(name, x)
    return x


def _peak(x: Any, tile: Any, name: str, _: Any) -> Any:
    tile.amax(name, x)
    return x


_SCALE, _SCALE_ROWS, _SCALE_COLUMNS = _Step(_scale), _Step(_scale_rows), _Step(_scale_columns)
_ADD_ROWS, _ADD_COLUMNS = _Step(_add_rows), _Step(_add_columns)
_KEEP, _PEAK = _Step(_keep), _Step(_peak)


def scale(number: float) -> Piece:
    """Multiply with a number."""
    return _SCALE, scalar(number)


def scale_rows(vector: Any) -> Piece:
    """Multiply each row with its number."""
    return _SCALE_ROWS, row(vector)


def scale_columns(vector: Any) -> Piece:
    """Multiply each column with its number."""
    return _SCALE_COLUMNS, column(vector)


def add_rows(vector: Any) -> Piece:
    """Add to each row its number."""
    return _ADD_ROWS, row(vector)


def add_columns(vector: Any) -> Piece:
    """Add to each column its number, as a bias."""
    return _ADD_COLUMNS, column(vector)


def add(matrix: Any, factor: float = 1.0) -> Piece:
    """Add a matrix, as a residual; `factor` is compiled in, and where it is 0 nothing is read.

    Raises:
        ArgumentTypeError: the factor is no number.
    """
    if not hasattr(factor, "__float__") or tuple(getattr(factor, "shape", ())):
        raise ArgumentTypeError("add: the factor is no number", code="OC2537", found=_short(factor))
    return _Step(_add, factor), load(matrix) if factor != 0.0 else None


def apply(fn: Callable[[Any], Any]) -> Piece:
    """Apply a function on vectors of Float32, such as an activation.

    Raises:
        ArgumentTypeError: it is none.
    """
    if not callable(fn):
        raise ArgumentTypeError("apply: this is no function", code="OC2537", found=_short(fn))
    refuse_function("the function of apply(...)", fn)
    return _Step(_apply, fn), None


def keep(matrix: Any) -> Piece:
    """Store what there is at this point, too."""
    return _KEEP, store(matrix)


def peak(cell: Any) -> Piece:
    """Note the largest magnitude at this point."""
    return _PEAK, amax(cell)
