# SPDX-FileCopyrightText: 2026 The OpenCuTe authors
# SPDX-License-Identifier: Apache-2.0
"""`cute`: pointers, tiles of memory and copies."""

# NumPy's stubs leave much of what arrays of unknown types do unknown.
# pyright: reportUnknownArgumentType=false, reportUnknownLambdaType=false
# pyright: reportUnknownVariableType=false

from __future__ import annotations

from typing import Any

import numpy as np

from opencute.arch.copies import COPY_ATOMS
from opencute.base.errors import MisalignedError, SimulationError
from opencute.dialects.cute import CopyOp, PtrType, storage_bits
from opencute.ir.attributes import StringAttr
from opencute.ir.core import Op, Value
from opencute.sim.access import Access
from opencute.sim.hopper.dsmem import far_address, to_far_pointer
from opencute.sim.lanes import Lanes
from opencute.sim.memory import RowBuffer, SimPointer
from opencute.sim.numbers.rounding import convert_floats, convert_randomly
from opencute.sim.printf import Format
from opencute.sim.registry import Function, semantics
from opencute.sim.semantics.casts import on_arrays
from opencute.sim.semantics.llvm import (
    address_of,
    moved,
    new_registers,
    reading,
    shared_address,
    to_pointer,
    to_shared_pointer,
    writing,
)
from opencute.sim.semantics.matrices import AsyncTile, MatrixTile
from opencute.sim.semantics.tile_access import TileAccess
from opencute.sim.sync.guards import Guard, guarded
from opencute.sim.taint import Taint, report
from opencute.sim.tiles import Tile, int_attr
from opencute.sim.values import as_array, dtype_of, scalar_of

__all__: list[str] = []

_EIGHT = np.ones(8, np.bool_).view(np.uint64)[0]  # eight runs to copy

nd = np.ndarray


def _pointer(value: Value) -> PtrType:
    assert isinstance(value.type, PtrType)
    return value.type


def _to_bytes(op: Op, lanes: Lanes, index: Any, bits: int) -> Any:
    """An offset in elements of some bits as one in bytes, where that is whole."""
    if type(index) is nd:
        index = index.astype(np.int64, copy=False) * bits
        odd = index & 7
        if odd.any():
            where = tuple(np.argwhere(lanes.full(odd))[0])
            raise _inside_a_byte(op, lanes, where)
        return index >> 3
    index *= bits
    if index & 7:
        raise _inside_a_byte(op, lanes, (0, 0))
    return index >> 3


def _inside_a_byte(op: Op, lanes: Lanes, where: tuple[int, ...]) -> MisalignedError:
    return MisalignedError(
        f"{op.name}: an element in the middle of a byte is addressed, {lanes.name(where)}",
        code="OC3202",
        loc=op.loc,
        hint="let tiles of sub-byte elements begin and end at whole bytes",
    )


@semantics("cute.ptr_add", lanes=True)
def ptr_add(op: Op) -> Function:
    """Move by a number of elements."""
    bits = storage_bits(_pointer(op.operands[0]).element)
    if bits % 8:
        return lambda lanes, p, i: moved(p, _to_bytes(op, lanes, i, bits), 1)
    size = bits // 8
    return lambda lanes, p, i: moved(p, i, size)


@semantics("cute.recast", "cute.to_llvm", "cute.from_llvm")
def recast(op: Op) -> Function:
    """The same address."""
    return lambda p: p


@semantics("cute.ptr_to_int", lanes=True)
def ptr_to_int(op: Op) -> Function:
    """The address."""
    by_space = {"smem": shared_address, "dsmem": far_address}
    return by_space.get(_pointer(op.operands[0]).space, address_of)


@semantics("cute.int_to_ptr", lanes=True)
def int_to_ptr(op: Op) -> Function:
    """An address whose buffer is found when it is used."""
    if _pointer(op.results[0]).space == "smem":
        return to_shared_pointer
    if _pointer(op.results[0]).space == "dsmem":
        return lambda lanes, value: to_far_pointer(op, lanes, value)
    return lambda lanes, value: to_pointer(value)


@semantics("cute.alloca", lanes=True)
def alloca(op: Op) -> Function:
    """Registers for some elements, not initialised."""
    bits = storage_bits(_pointer(op.results[0]).element) * int_attr(op, "count")
    size = -(-bits // 8)
    name = f"registers from {op.loc}" if op.loc else "registers"
    if not guarded(op):
        return lambda lanes: new_registers(lanes, name, size)

    def run(lanes: Lanes) -> SimPointer:
        out = new_registers(lanes, name, size)
        out.buffer.guard = Guard(lanes, size)
        return out

    return run


@semantics("cute.load", lanes=True, taint="memory", sinks=((0, "an address"),))
def load(op: Op) -> Function:
    """One element."""
    type = _pointer(op.operands[0])
    return reading(Access(op, type.element, vector=False, align=type.align, swizzle=type.swizzle))


@semantics("cute.store", lanes=True, taint="memory", sinks=((1, "an address"),))
def store(op: Op) -> Function:
    """Write one element."""
    type = _pointer(op.operands[1])
    return writing(Access(op, type.element, vector=False, align=type.align, swizzle=type.swizzle))


def _dyn_sinks(first: int, address: int) -> Any:
    def sinks(op: Op) -> list[tuple[int, str]]:
        return [(i, "an address") for i in (address, *range(first, len(op.operands)))]

    return sinks


@semantics("cute.tile_load", lanes=True, taint="memory", sinks=_dyn_sinks(1, 0))
def tile_load(op: Op) -> Function:
    """All elements of a tile."""
    tile = TileAccess(op, op.operands[0], "layout")
    access = tile.access

    def run(
        lanes: Lanes, ptr: SimPointer, *dyns: Any, taints: Any = (), track: bool = False
    ) -> Any:
        starts = tile.starts(dyns)
        value = access.read(lanes, ptr, starts)
        return (value, access.garbage(lanes, ptr, starts)) if track else value

    return run


@semantics("cute.tile_store", lanes=True, taint="memory", sinks=_dyn_sinks(2, 1))
def tile_store(op: Op) -> Function:
    """Write all elements of a tile."""
    tile = TileAccess(op, op.operands[1], "layout")
    access = tile.access

    def run(lanes: Lanes, value: Any, ptr: SimPointer, *dyns: Any, taints: Any = (None,)) -> None:
        starts = tile.starts(dyns)
        access.write(lanes, value, ptr, starts)
        access.leave(lanes, ptr, taints[0], starts)

    return run


# ---------------------------------------------------------------------- copy
def _copy_sinks(op: Op) -> list[tuple[int, str]]:
    assert isinstance(op, CopyOp)
    return [(i, "an address") for i in range(len(op.operands))]


@semantics("cute.copy", lanes=True, taint="memory", sinks=_copy_sinks)
def copy(op: Op) -> Function:
    """Copy a tile, where a predicate holds if there is one."""
    assert isinstance(op, CopyOp)
    atom = COPY_ATOMS.get(op.atom.value)
    if atom is not None and atom.grain:
        return MatrixTile(op).run
    if atom is not None and atom.cache:
        return AsyncTile(op, _Copy(op)).run
    return _Copy(op).run


class _Copy:
    def __init__(self, op: CopyOp) -> None:
        self.op = op
        bits = int_attr(op, "bits")
        atom = COPY_ATOMS.get(op.atom.value)
        exact = bool(bits and atom is not None and atom.spaces)
        src, dst = _pointer(op.src), _pointer(op.dst)
        if storage_bits(src.element) != storage_bits(dst.element):
            raise SimulationError(
                "cute.copy: source and destination elements differ in size",
                code="OC3001", loc=op.loc, expected=src.element, found=dst.element,
            )  # fmt: skip
        self.n_src, self.n_dst = len(op.src_dyns), len(op.dst_dyns)
        self.has_pred = op.pred is not None
        self.wide: tuple[TileAccess, TileAccess] | None = None
        if self.has_pred:
            assert op.pred is not None and op.pred_layout is not None
            self.pred = TileAccess(op, op.pred, "pred_layout")
            count = self.pred.tile.length
            source = Tile(op, op.src_layout)
            per = (source.first or 1) if count != source.length else 1
            run = min(source.run, Tile(op, op.dst_layout).run, per)
            self.repeat = per // run if per % run == 0 else 1
            run = per // self.repeat
            self.src = TileAccess(op, op.src, "src_layout", bits=bits, exact=exact, run=run)
            self.dst = TileAccess(op, op.dst, "dst_layout", bits=bits, exact=exact, run=run)
            if self.src.run != run or self.dst.run != run:
                self.src = TileAccess(op, op.src, "src_layout", run=1)
                self.dst = TileAccess(op, op.dst, "dst_layout", run=1)
                self.repeat = per
            if per == 1 and not exact:
                self.wide = self._wide(bits)
        else:
            self.src = TileAccess(op, op.src, "src_layout", bits=bits, exact=exact)
            self.dst = TileAccess(op, op.dst, "dst_layout", bits=bits, exact=exact)
        self.recode = src.element != dst.element
        self.dtype = self.dst.access.dtype
        hints = op.access_hints()
        if hints.sem:
            for side, type in ((self.src, src), (self.dst, dst)):
                if type.space != "rmem":
                    side.access.order = (hints.sem, hints.scope)

    def _wide(self, bits: int) -> tuple[TileAccess, TileAccess] | None:
        """Accesses of several elements, for tiles of which no element is masked: machine code has
        them where the addresses turn out to be aligned, whatever their types promise."""
        op = self.op
        src, dst = Tile(op, op.src_layout).run, Tile(op, op.dst_layout).run
        size = storage_bits(_pointer(op.src).element)
        run = min(src, dst, (bits or 128) // size)
        if run < 2 or size % 8 or src % run or dst % run or run & (run - 1):
            return None
        sides = [
            TileAccess(op, p, at, bits=run * size, exact=_pointer(p).space != "rmem", run=run)
            for p, at in ((op.src, "src_layout"), (op.dst, "dst_layout"))
        ]
        return sides[0], sides[1]

    def run(
        self, lanes: Lanes, src: SimPointer, dst: SimPointer, *rest: Any, taints: Any = ()
    ) -> None:
        """Copy for these lanes."""
        from_, to, mask = self.parts(lanes, rest)
        if mask is None:
            self.plain(lanes, src, from_, dst, to)
        elif self.wide is None:
            self.masked(lanes, src, from_, dst, to, mask)
        else:
            self._by_element(lanes, src, dst, from_, to, mask, rest)

    def _by_element(
        self, lanes: Lanes, src: SimPointer, dst: SimPointer, from_: Any, to: Any, mask: Any,
        rest: Any,
    ) -> None:  # fmt: skip
        """As `masked`; lanes of which nothing is masked access several elements at a time."""
        assert self.wide is not None
        starts = [side.starts(dyns) for side, dyns in zip(self.wide, self._dyns(rest), strict=True)]
        whole = _all_runs(mask)
        for side, ptr, at in zip(self.wide, (src, dst), starts, strict=True):
            whole = whole & _aligned(ptr, at, side.access.width)
        if whole.any():
            part, pick, _ = (lanes, _same, None) if whole.all() else lanes.sub(whole)
            a, b = (_picked(pick, at) for at in starts)
            self.plain(part, pick(src), a, pick(dst), b, self.wide)
        if not whole.all():
            part, pick, _ = (lanes, _same, None) if not whole.any() else lanes.sub(~whole)
            self.masked(
                part, pick(src), _picked(pick, from_), pick(dst), _picked(pick, to), pick(mask)
            )

    def _dyns(self, rest: Any) -> tuple[Any, Any]:
        """The operands of both layouts, of those after the two pointers."""
        at = 1 if self.has_pred else 0
        return rest[at : at + self.n_src], rest[at + self.n_src : at + self.n_src + self.n_dst]

    def parts(self, lanes: Lanes, rest: Any) -> tuple[Any, Any, Any]:
        """Offsets of the runs on both sides, and the mask of those to copy, from the operands
        after the two pointers."""
        src_dyns, dst_dyns = self._dyns(rest)
        mask = None
        if self.has_pred:
            mask = self._mask(lanes, rest[0], rest[1 + self.n_src + self.n_dst :])
        return self.src.starts(src_dyns), self.dst.starts(dst_dyns), mask

    def plain(
        self, lanes: Lanes, src: SimPointer, from_: Any, dst: SimPointer, to: Any,
        sides: tuple[TileAccess, TileAccess] | None = None,
    ) -> None:  # fmt: skip
        """Copy all runs now."""
        get, put = sides or (self.src, self.dst)
        value = get.access.read(lanes, src, from_)
        garbage = get.access.garbage(lanes, src, from_)
        put.access.write(lanes, self._recoded(value), dst, to)
        put.access.leave(lanes, dst, garbage, to)

    def _recoded(self, value: Any) -> Any:
        return value.view(self.dtype) if self.recode else value

    def _mask(self, lanes: Lanes, pred: SimPointer, dyns: Any) -> Any:
        starts = self.pred.starts(dyns)
        mask = self.pred.access.read(lanes, pred, starts)
        garbage = self.pred.access.garbage(lanes, pred, starts)
        if garbage is not None:
            report(lanes, garbage, self.op, "a predicate")
        return np.repeat(mask, self.repeat, axis=2) if self.repeat > 1 else mask

    def masked(
        self, lanes: Lanes, src: SimPointer, from_: Any, dst: SimPointer, to: Any, mask: Any
    ) -> None:
        """Copy the runs in `mask` now."""
        if mask.all():
            self.plain(lanes, src, from_, dst, to)
            return
        if not mask.any():
            return
        if mask.shape[2] > 1:
            agree = bool((mask == mask[:, :, :1]).all())
        else:
            agree = True
        if agree:
            # Whole threads take part or not: no mask is needed for those that do.
            first = mask[:, :, 0]
            part, pick, _ = lanes.sub(first)
            args = (pick(src), _picked(pick, from_), pick(dst), _picked(pick, to))
            self.plain(part, *args)
            return
        runs = mask.shape[2]
        from_ = np.zeros(runs, np.int64) if from_ is None else from_
        to = np.zeros(runs, np.int64) if to is None else to
        value = self.src.access.read_where(lanes, src, from_, mask)
        garbage = self._garbage_where(lanes, src, from_, mask)
        self.dst.access.write_where(lanes, self._recoded(value), dst, to, mask)
        self.dst.access.leave(lanes, dst, garbage, to)

    def _garbage_where(self, lanes: Lanes, src: SimPointer, from_: Any, mask: Any) -> Taint | None:
        if type(src.buffer) is not RowBuffer:
            return None
        garbage = self.src.access.garbage(lanes, src, from_)
        if garbage is None:
            return None
        return Taint(garbage.mask & np.repeat(mask, self.src.run, axis=2), garbage.origin)


def _same(value: Any) -> Any:
    return value


def _aligned(ptr: SimPointer, starts: Any, width: int) -> Any:
    """For which lanes all accesses are at multiples of their width; True for registers."""
    if type(ptr.buffer) is RowBuffer:
        return True
    address = np.asarray(ptr.address())
    if width & (width - 1) == 0 and (starts is None or (starts.ndim == 1 and starts.size)):
        rest = 0 if starts is None else int(starts[0]) & (width - 1)
        if starts is not None and ((starts & (width - 1)) != rest).any():
            fits = np.zeros(address.shape, np.bool_)
        else:
            fits = (address + rest) & (width - 1) == 0
        return fits if fits.ndim == 2 else bool(fits.all())
    places = address[..., None] if address.ndim == 2 else address
    fits = (places if starts is None else places + starts) % width == 0
    return fits.all(axis=2) if fits.ndim == 3 else bool(fits.all())


def _all_runs(mask: Any) -> Any:
    """As ``mask.all(axis=2)``, several runs at once."""
    runs = mask.shape[2]
    if runs % 8 or not mask.flags.c_contiguous:
        return mask.all(axis=2)
    words = mask.view(np.uint64) == _EIGHT
    out = words[:, :, 0]
    for i in range(1, words.shape[2]):
        out = out & words[:, :, i]
    return out


def _picked(pick: Any, starts: Any) -> Any:
    return pick(starts) if starts is not None and starts.ndim == 3 else starts


# ---------------------------------------------------------------------- values
@semantics("cute.assume", lanes=True)
def assume(op: Op) -> Function:
    """The value, which must be a multiple of `divby`."""
    by = int_attr(op, "divby")

    def check(lanes: Lanes, value: Any) -> Any:
        rest = value % by
        if rest.any() if type(rest) is nd else rest:
            where = tuple(np.argwhere(lanes.full(rest))[0]) if type(rest) is nd else (0, 0)
            found = value if type(value) is not nd else lanes.full(value)[where[:2]]
            raise SimulationError(
                f"a promise is broken: {found} is not a multiple of {by}, {lanes.name(where)}",
                code="OC3005", loc=op.loc, expected=f"a multiple of {by}", found=found,
            )  # fmt: skip
        return value

    return check


@semantics("cute.convert")
def convert(op: Op) -> Function:
    """A float conversion with a rounding mode."""
    rounding = op.attributes["rounding"]
    assert isinstance(rounding, StringAttr)
    if rounding.value == "rs":
        types = (op.operands[0].type, op.results[0].type)
        random = convert_randomly(op, *types, bool(int_attr(op, "saturate")))
        source, target = (dtype_of(t, op.loc) for t in types)

        def run(x: Any, bits: Any) -> Any:
            out = random(as_array(x, source), as_array(bits, np.dtype(np.int32)))
            return out if type(x) is nd or type(bits) is nd else scalar_of(out[0, 0], target)

        return run
    fn = convert_floats(
        op, op.operands[0].type, op.results[0].type, rounding.value, bool(int_attr(op, "saturate"))
    )
    return on_arrays(op, fn)


def _print_sinks(op: Op) -> list[tuple[int, str]]:
    return [(i, "a print") for i in range(len(op.operands))]


@semantics("cute.print", lanes=True, sinks=_print_sinks)
def print_(op: Op) -> Function:
    """Hand one line for each lane to the run."""
    text = op.attributes["format"]
    assert isinstance(text, StringAttr)
    format = Format(op, text.value, [v.type for v in op.operands])

    def run(lanes: Lanes, *args: Any) -> None:
        values = [address_of(lanes, a) if isinstance(a, SimPointer) else a for a in args]
        lanes.run.printed(lanes, format, values)

    return run
