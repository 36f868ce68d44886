# SPDX-FileCopyrightText: 2026 The OpenCuTe authors
# SPDX-License-Identifier: Apache-2.0
"""Where new operations go.

Building functions (``arith.addi(a, b)``) append to the insertion point of the calling thread::

    with insert_at(block):
        c = arith.addi(a, b)

The source location of a new operation comes from `locate`, a callable that tracing installs; passes
set a fixed one with ``at_loc``.
"""

from __future__ import annotations

import gc
import threading
from collections.abc import Callable, Generator, Mapping, Sequence
from contextlib import contextmanager
from typing import Any

from opencute.base.errors import LanguageError
from opencute.base.location import Location
from opencute.ir.attributes import Attribute
from opencute.ir.core import Block, Held, Op, OpResult, Region, Value, op_class
from opencute.ir.declare import Trait, declaration
from opencute.ir.types import Type

__all__ = [
    "at_loc",
    "build",
    "build1",
    "collect_young",
    "current_block",
    "current_loc",
    "insert_at",
    "known_here",
    "locating",
    "new_block",
    "paused_gc",
    "set_loc",
    "tracing_block",
]


class _State(threading.local):
    block: Block | None = None
    loc: Location | None = None
    locate: Callable[[], Location | None] | None = None


_STATE = _State()
_PAUSE_LOCK = threading.Lock()
_pauses = 0


@contextmanager
def insert_at(block: Block | None) -> Generator[None]:
    """Append new operations to `block`; None: building is an error again."""
    before = _STATE.block
    _STATE.block = block
    try:
        yield
    finally:
        _STATE.block = before


@contextmanager
def at_loc(loc: Location | None) -> Generator[None]:
    """Give new operations a fixed location."""
    before = _STATE.loc, _STATE.locate
    _STATE.loc, _STATE.locate = loc, None
    try:
        yield
    finally:
        _STATE.loc, _STATE.locate = before


def set_loc(loc: Location | None) -> None:
    """Change the location of new operations within an `at_loc` block."""
    _STATE.loc = loc


@contextmanager
def locating(locate: Callable[[], Location | None]) -> Generator[None]:
    """Ask `locate` for the location of each new operation."""
    before = _STATE.locate
    _STATE.locate = locate
    try:
        yield
    finally:
        _STATE.locate = before


@contextmanager
def paused_gc() -> Generator[None]:
    """Stop Python's cyclic garbage collector for a block of code that builds much IR.

    Operations and their results refer to each other; collecting while thousands of them are made
    finds nothing and doubles the time. At the end of each pause, but of one within another, all of
    them are looked at once; so there should be one from the trace to the machine code.
    """
    global _pauses
    with _PAUSE_LOCK:
        if _pauses == 0 and not gc.isenabled():
            paused = False
        else:
            paused = True
            _pauses += 1
            gc.disable()
    try:
        yield
    finally:
        if paused:
            with _PAUSE_LOCK:
                _pauses -= 1
                if _pauses == 0:
                    gc.enable()


def collect_young() -> None:
    """Look now at what was made since the collector was paused.

    It would do so at the end of the pause, when whoever asked for code waits; called while another
    process works, this costs nothing.
    """
    if _pauses:
        gc.collect(0)


def current_block() -> Block | None:
    """The block that new operations are appended to, None outside of building."""
    return _STATE.block


def known_here() -> dict[Any, OpResult] | None:
    """While tracing: the values without effects that were built in the current block, by what they
    are. An operation that would be equal to one of them is not built again, which saves its cost
    in everything that follows. None elsewhere: passes put operations before those that a block
    has.

    Only the block's own values: those of the blocks around it, which a nested block sees too, are
    not known to surround it before the operation that has both is built.
    """
    state = _STATE
    block = state.block
    if state.locate is None or block is None:
        return None
    known = block.known
    if known is None:
        known = block.known = {}
    return known


def tracing_block() -> Block | None:
    """The block that operations are appended to, if they are those of a trace; passes put
    operations anywhere."""
    state = _STATE
    return None if state.locate is None else state.block


def current_loc() -> Location | None:
    """The location that a new operation would get."""
    return _STATE.locate() if _STATE.locate is not None else _STATE.loc


def build(
    name: str,
    operands: Sequence[Value] = (),
    result_types: Sequence[Type] = (),
    attributes: Mapping[str, Attribute] | None = None,
    regions: Sequence[Region] = (),
) -> Op:
    """Make an operation at the insertion point."""
    state = _STATE
    block = state.block
    if block is None:
        raise LanguageError(
            f"{name} is built outside of any block", code="OC1138",
            hint="a value of a traced function was used after its trace, or device code was called "
            "outside of a @jit or @kernel function",
        )  # fmt: skip
    held = block.held
    if held is not None:
        effect = _effect_of_regions(held, regions) if regions else _effect_on_held(name)
        if effect == _WRITES:
            held.written()
        elif effect == _READS:
            held.read()
    locate = state.locate
    loc = locate() if locate is not None else state.loc
    op = (op_class(name) or Op)(name, operands, result_types, attributes, regions, loc)
    op.parent = block
    block.ops.append(op)
    return op


_NOTHING, _READS, _WRITES = range(3)
# What a block holds are elements of registers; who loads and stores one of them tells by itself.
_EFFECTS_ON_HELD = {"cute.load": _NOTHING, "cute.store": _NOTHING}


def _effect_on_held(name: str) -> int:
    """What an operation may do to what a block holds."""
    effect = _EFFECTS_ON_HELD.get(name)
    if effect is None:
        effect = _EFFECTS_ON_HELD[name] = _declared_effect(name)
    return effect


def _declared_effect(name: str) -> int:
    declared = declaration(name)
    if declared is None or declared.own_traits is not None:
        return _WRITES
    traits = declared.traits
    if traits & Trait.TERMINATOR:
        return _NOTHING
    if not traits or traits & Trait.WRITES:
        return _WRITES
    # Warps that meet exchange values, not memory.
    return _READS if traits & Trait.READS else _NOTHING


def _effect_of_regions(held: Held, regions: Sequence[Region]) -> int:
    effect = _NOTHING
    for region in regions:
        for block in region.blocks:
            for op in block.ops:
                if op.regions:
                    found = _effect_of_regions(held, op.regions)
                elif op.name in ("cute.load", "cute.store") and held.reached(op.operands[-1]):
                    found = _WRITES if op.name == "cute.store" else _READS
                else:
                    found = _effect_on_held(op.name)
                if found == _WRITES:
                    return found
                effect = max(effect, found)
    return effect


def build1(
    name: str,
    operands: Sequence[Value],
    result_type: Type,
    attributes: Mapping[str, Attribute] | None = None,
) -> OpResult:
    """Make an operation with one result and return that result."""
    return build(name, operands, (result_type,), attributes).results[0]


def new_block(arg_types: Sequence[Type] = ()) -> tuple[Region, Block]:
    """A region with one empty block."""
    block = Block(arg_types)
    return Region([block]), block
