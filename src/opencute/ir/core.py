# SPDX-FileCopyrightText: 2026 The OpenCuTe authors
# SPDX-License-Identifier: Apache-2.0
"""Values, operations, blocks and regions.

Operations are plain data: a name, operands, results, attributes, regions and the user's source
location. What an operation may look like is declared in `declare`; how it is printed is in
`printer`. There are no use lists: rewriting walks forward with a substitution (see `rewrite`),
which is enough because every definition stands before its uses.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from itertools import chain
from typing import Any, TypeVar

from opencute.base.location import Location
from opencute.ir.attributes import Attribute, StringAttr, SymbolAttr
from opencute.ir.printer import print_op
from opencute.ir.types import Type

__all__ = [
    "Block", "BlockArgument", "Held", "Op", "OpResult", "Region", "Value", "op_class", "register",
]  # fmt: skip


class Value:
    """A typed SSA value: the result of an operation, or a block's argument."""

    __slots__ = ("hint", "type")
    type: Type
    hint: str

    def __init__(self, type: Type, hint: str = "") -> None:
        self.type = type
        self.hint = hint

    @property
    def op(self) -> Op | None:
        """The operation that defines this value, None for a block argument."""
        return None


class OpResult(Value):
    """A result of an operation."""

    __slots__ = ("index", "owner")

    def __init__(self, type: Type, owner: Op, index: int) -> None:
        self.type = type
        self.hint = ""
        self.owner = owner
        self.index = index

    @property
    def op(self) -> Op | None:
        return self.owner


class BlockArgument(Value):
    """An argument of a block: function arguments, loop-carried values."""

    __slots__ = ("block", "index")

    def __init__(self, type: Type, block: Block, index: int, hint: str = "") -> None:
        self.type = type
        self.hint = hint
        self.block = block
        self.index = index


_NO_OPS: Iterator[Op] = iter(())


class Op:
    """One operation.

    Args:
        name: full name with dialect, such as ``arith.addi``.
        operands: the values it reads.
        result_types: one type per result.
        attributes: compile-time facts by name.
        regions: nested code.
        loc: the user's source position.

    `Op.make` picks the declared subclass by name; subclasses give names to operands and attributes.
    """

    __slots__ = ("attributes", "loc", "name", "operands", "parent", "regions", "results")
    NAME: str = ""
    ISOLATED: bool = False
    """Whether its regions see nothing of what is around it; see `declare.Trait`."""

    def __init__(
        self,
        name: str,
        operands: Sequence[Value] = (),
        result_types: Sequence[Type] = (),
        attributes: Mapping[str, Attribute] | None = None,
        regions: Sequence[Region] = (),
        loc: Location | None = None,
    ) -> None:
        self.name = name
        self.operands: list[Value] = [*operands]
        if len(result_types) == 1:
            self.results: list[OpResult] = [OpResult(result_types[0], self, 0)]
        else:
            self.results = [OpResult(t, self, i) for i, t in enumerate(result_types)]
        self.attributes: dict[str, Attribute] = {**attributes} if attributes else {}
        self.regions: list[Region] = [*regions]
        for region in regions:
            region.parent = self
        self.loc = loc
        self.parent: Block | None = None

    @staticmethod
    def make(
        name: str,
        operands: Sequence[Value] = (),
        result_types: Sequence[Type] = (),
        attributes: Mapping[str, Attribute] | None = None,
        regions: Sequence[Region] = (),
        loc: Location | None = None,
    ) -> Op:
        """An operation of the class declared for `name`, or a plain Op for an unknown name."""
        cls = _CLASSES.get(name, Op)
        return cls(name, operands, result_types, attributes, regions, loc)

    @property
    def result(self) -> OpResult:
        """The only result."""
        (only,) = self.results
        return only

    @property
    def dialect(self) -> str:
        """The part of the name before the first dot."""
        return self.name.split(".", 1)[0]

    @property
    def symbol(self) -> str | None:
        """The name that this operation defines as a symbol, if any."""
        attr = self.attributes.get("sym_name")
        return attr.value if isinstance(attr, StringAttr) else None

    def walk(self) -> Iterator[Op]:
        """This operation and all nested ones, parents first."""
        # One generator for all levels: of nested ones, each hands on what those below it find.
        yield self
        outer: list[tuple[Iterator[Block], Iterator[Op]]] = []
        blocks, ops = chain.from_iterable(r.blocks for r in self.regions), _NO_OPS
        while True:
            for op in ops:
                if not op.regions:
                    yield op
                    continue
                yield op
                outer.append((blocks, ops))
                blocks, ops = chain.from_iterable(r.blocks for r in op.regions), _NO_OPS
                break
            else:
                block = next(blocks, None)
                if block is not None:
                    ops = iter(list(block.ops))
                elif outer:
                    blocks, ops = outer.pop()
                else:
                    return

    def clone(self, values: dict[Value, Value]) -> Op:
        """A deep copy with operands mapped by `values`; results and arguments are added to it."""
        # Past __init__, which would go over every list once more.
        copy = type(self).__new__(type(self))
        copy.name, copy.loc, copy.parent = self.name, self.loc, None
        get = values.get
        copy.operands = [get(v, v) for v in self.operands]
        copy.attributes = self.attributes.copy()
        copy.regions = []
        copy.results = results = []
        for mine in self.results:
            theirs = OpResult(mine.type, copy, mine.index)
            theirs.hint = mine.hint
            values[mine] = theirs
            results.append(theirs)
        for region in self.regions:
            new = region.clone(values)
            new.parent = copy
            copy.regions.append(new)
        return copy

    def verify(self) -> None:
        """Rules beyond the declaration; raises VerificationError. Overridden by dialects."""

    def verify_symbols(self, lookup: Callable[[SymbolAttr], Op | None]) -> None:
        """Rules about the symbols that attributes refer to; raises VerificationError.

        Args:
            lookup: finds what a symbol names, from the nearest enclosing symbol table.
        """

    def __str__(self) -> str:
        return print_op(self)

    def __repr__(self) -> str:
        return f"<{self.name}>"


class Held:
    """What is known of memory at the end of a block that is being traced."""

    __slots__ = ()

    def read(self) -> None:
        """An operation comes that may read any of it."""

    def written(self) -> None:
        """An operation comes that may change any of it."""

    def reached(self, pointer: Value) -> bool:
        """Whether a pointer may lead to any of it."""
        return True


class Block:
    """Operations that run one after the other; the last one is the terminator.

    Attributes:
        known: what was built here while tracing and may be used again; see `builder.known_here`.
        held: what is known of memory while tracing; see `dialects.registers`.
    """

    __slots__ = ("args", "held", "known", "ops", "parent")

    def __init__(self, arg_types: Sequence[Type] = ()) -> None:
        self.args: list[BlockArgument] = [
            BlockArgument(t, self, i) for i, t in enumerate(arg_types)
        ]
        self.ops: list[Op] = []
        self.parent: Region | None = None
        self.known: dict[Any, OpResult] | None = None
        self.held: Held | None = None

    def add_argument(self, type: Type, hint: str = "") -> BlockArgument:
        """Append an argument."""
        arg = BlockArgument(type, self, len(self.args), hint)
        self.args.append(arg)
        return arg

    def insert_argument(self, index: int, type: Type) -> BlockArgument:
        """Insert an argument before others."""
        arg = BlockArgument(type, self, index)
        self.args.insert(index, arg)
        for i, later in enumerate(self.args[index + 1 :], index + 1):
            later.index = i
        return arg

    def append(self, op: Op) -> Op:
        """Append an operation and return it."""
        op.parent = self
        self.ops.append(op)
        return op

    def set_ops(self, ops: list[Op]) -> None:
        """Replace all operations."""
        for op in ops:
            op.parent = self
        self.ops = ops

    @property
    def terminator(self) -> Op:
        """The last operation."""
        return self.ops[-1]


class Region:
    """Nested code of an operation: a list of blocks (one, outside of lowered control flow)."""

    __slots__ = ("blocks", "parent")

    def __init__(self, blocks: Sequence[Block] = ()) -> None:
        self.blocks: list[Block] = list(blocks)
        for block in self.blocks:
            block.parent = self
        self.parent: Op | None = None

    @property
    def block(self) -> Block:
        """The only block."""
        (only,) = self.blocks
        return only

    def clone(self, values: dict[Value, Value]) -> Region:
        """A deep copy; see `Op.clone`."""
        out = Region()
        for block in self.blocks:
            new = Block()
            new.parent = out
            for arg in block.args:
                values[arg] = new.add_argument(arg.type, arg.hint)
            out.blocks.append(new)
        for block, new in zip(self.blocks, out.blocks, strict=True):
            ops = new.ops
            for op in block.ops:
                copy = op.clone(values)
                copy.parent = new
                ops.append(copy)
        return out


_CLASSES: dict[str, type[Op]] = {}
C = TypeVar("C", bound=type[Op])


def register(name: str) -> Callable[[C], C]:
    """Class decorator: `Op.make(name, ...)` makes instances of the class."""

    def decorate(cls: C) -> C:
        if name in _CLASSES:
            raise ValueError(f"operation {name} is declared twice")
        cls.NAME = name
        _CLASSES[name] = cls
        return cls

    return decorate


def op_class(name: str) -> type[Op] | None:
    """The class declared for `name`, if any."""
    return _CLASSES.get(name)
