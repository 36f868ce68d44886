# SPDX-FileCopyrightText: 2026 The OpenCuTe authors
# SPDX-License-Identifier: Apache-2.0
"""Is this IR well formed? Nothing that fails here reaches the simulator or LLVM.

An operation goes in (a module, as a rule); nothing comes out, or a VerificationError that points at
the user's line::

    verify(module)      # after tracing, and after each pass when OPENCUTE_VERIFY_PASSES is set
"""

from __future__ import annotations

from collections.abc import Iterable

from opencute.base.errors import OpenCuTeError, VerificationError
from opencute.ir.attributes import SymbolAttr
from opencute.ir.core import Block, Op, Region, Value
from opencute.ir.declare import Declaration, Trait, declaration

__all__ = ["lookup_symbol", "verify"]


def verify(op: Op) -> None:
    """Raise VerificationError unless `op` and everything inside it is well formed.

    Checked, for each operation:

    - its name is declared (OC1450);
    - its operands, results, attributes and regions are as declared (OC1401 to OC1409);
    - the rules of its dialect, `Op.verify` (codes of the dialect);
    - each operand is a result of an earlier operation of its block, an argument of its block, or
      one of these for an enclosing block, but never across an isolated operation (OC1451: defined
      later, OC1452: defined in a region or block that does not enclose the use, OC1453: defined
      outside of an isolated operation, OC1454: not defined in this IR at all). In a region of
      several blocks, the values of the entry block are visible in all others;
    - a terminator stands at the end of its block and nowhere else; each block ends in one, unless
      its operation is a symbol table (OC1455);
    - parents and owners are linked as the tree is, and no operation stands twice (OC1456);
    - names of symbols are unique in their table (OC1457), and symbols that attributes refer to
      exist (OC1458) and fit, `Op.verify_symbols` (codes of the dialect). When the IR has no symbol
      table around the reference, such as a single function, references are not followed.
    """
    _Verifier(op).run()


def lookup_symbol(table: Op, path: Iterable[str]) -> Op | None:
    """The operation that a symbol names, starting from the block of `table`; None if there is none.

    >>> lookup_symbol(module, ("kernels", "relu"))
    <gpu.func>
    """
    found: Op | None = table
    for name in path:
        ops = found.regions[0].blocks[0].ops if found is not None and found.regions else []
        found = next((op for op in ops if op.symbol == name), None)
    return found


def _error(op: Op, code: str, what: str) -> VerificationError:
    return VerificationError(f"{op.name}: {what}", code=code, loc=op.loc)


class _Verifier:
    def __init__(self, root: Op) -> None:
        self.root = root
        self.visible: set[Value] = set()
        self.seen: set[Op] = set()
        self.tables: list[Op] = []

    def run(self) -> None:
        root = self.root
        # Values around the root are its surroundings' business: take its operands as given.
        self.visible.update(root.operands)
        self.op(root, None)

    def op(self, op: Op, block: Block | None) -> Declaration:
        """Check one operation, then what is inside it; returns its declaration."""
        decl = declaration(op.name)
        if decl is None:
            raise _error(op, "OC1450", "there is no such operation")
        operands = op.operands
        if operands and not self.visible.issuperset(operands):
            raise self.misplaced(op, next(v for v in operands if v not in self.visible))
        try:
            decl.check(op)
            if type(op).verify is not Op.verify:
                op.verify()
        except OpenCuTeError as e:
            raise e.at(op.loc) from None
        self.links(op, block)
        if op.attributes:
            self.symbols(op)
        if op.regions:
            self.regions(op, decl)
        return decl

    def links(self, op: Op, block: Block | None) -> None:
        """Parents, owners and indices."""
        if block is not None and op.parent is not block:
            raise _error(op, "OC1456", "its parent is not the block that it stands in")
        seen = self.seen
        if op in seen:
            raise _error(op, "OC1456", "stands in the IR twice")
        seen.add(op)
        for i, r in enumerate(op.results):
            if r.owner is not op or r.index != i:
                raise _error(op, "OC1456", f"result {i} belongs to another operation")

    def symbols(self, op: Op) -> None:
        """What the attributes refer to."""
        if not self.tables:
            return
        table = self.tables[-1]
        for key, value in op.attributes.items():
            if isinstance(value, SymbolAttr) and lookup_symbol(table, value.path) is None:
                raise _error(op, "OC1458", f"{key} = {value} names nothing")
        if type(op).verify_symbols is not Op.verify_symbols:
            op.verify_symbols(lambda symbol: lookup_symbol(table, symbol.path))

    def regions(self, op: Op, decl: Declaration) -> None:
        """Check the regions of an operation; what they define is forgotten afterwards."""
        outside = self.visible
        isolated = Trait.ISOLATED in decl.traits
        is_table = Trait.SYMBOL_TABLE in decl.traits
        if is_table:
            self.unique_symbols(op)
            self.tables.append(op)
        for region in op.regions:
            if region.parent is not op:
                raise _error(op, "OC1456", "a region belongs to another operation")
            self.visible = set() if isolated else outside
            self.region(op, region, needs_terminator=not is_table)
        self.visible = outside
        if is_table:
            self.tables.pop()

    def region(self, op: Op, region: Region, *, needs_terminator: bool) -> None:
        """Check the blocks of a region."""
        entry: list[Value] = []
        for i, block in enumerate(region.blocks):
            if block.parent is not region:
                raise _error(op, "OC1456", "a block belongs to another region")
            defined = self.block(op, block, needs_terminator=needs_terminator)
            if i == 0:
                entry = defined
            else:
                self.visible.difference_update(defined)
        self.visible.difference_update(entry)

    def block(self, op: Op, block: Block, *, needs_terminator: bool) -> list[Value]:
        """Check the operations of a block; returns the values that it defines."""
        for i, arg in enumerate(block.args):
            if arg.block is not block or arg.index != i:
                raise _error(op, "OC1456", f"block argument {i} belongs to another block")
        defined: list[Value] = list(block.args)
        self.visible.update(defined)
        last, final = len(block.ops) - 1, None
        for i, inner in enumerate(block.ops):
            final = self.op(inner, block)
            if final.terminates and i != last:
                raise _error(inner, "OC1455", "a terminator must be the last operation")
            defined += inner.results
            self.visible.update(inner.results)
        ends = final is not None and final.terminates
        at = block.ops[-1] if block.ops else op
        if needs_terminator and not ends:
            raise _error(at, "OC1455", "the block does not end in a terminator")
        if ends and not needs_terminator:
            raise _error(at, "OC1455", f"{op.name} takes no terminator")
        return defined

    def unique_symbols(self, op: Op) -> None:
        """No name twice."""
        names: set[str] = set()
        for inner in op.regions[0].block.ops:
            name = inner.symbol
            if name is None:
                continue
            if name in names:
                raise _error(inner, "OC1457", f"symbol @{name} is defined twice")
            names.add(name)

    def misplaced(self, op: Op, value: Value) -> VerificationError:
        """Why an operand is not visible: walks the whole IR, so only on the way to an error."""
        number = next(i for i, v in enumerate(op.operands) if v is value)
        what = f"operand {number}" + (f" (%{value.hint})" if value.hint else "")
        inside: set[Value] = set(self.root.operands)
        for other in self.root.walk():
            inside.update(other.results)
            for region in other.regions:
                for block in region.blocks:
                    inside.update(block.args)
        if value not in inside:
            return _error(op, "OC1454", f"{what} is not defined in this IR")
        isolated = op
        while (parent := _parent(isolated)) is not None:
            decl = declaration(parent.name)
            if decl is not None and Trait.ISOLATED in decl.traits:
                if not _defines(parent, value):
                    return _error(op, "OC1453", f"{what} is defined outside of {parent.name}")
                break
            isolated = parent
        if value.op is not None and _encloses(value.op.parent, op):
            return _error(op, "OC1451", f"{what} is defined later")
        return _error(op, "OC1452", f"{what} is defined in a region that does not enclose this use")


def _parent(op: Op) -> Op | None:
    region = op.parent.parent if op.parent is not None else None
    return region.parent if region is not None else None


def _defines(op: Op, value: Value) -> bool:
    """Whether a value is defined somewhere inside of `op`."""
    for region in op.regions:
        for block in region.blocks:
            if value in block.args or any(
                value in o.results or _defines(o, value) for o in block.ops
            ):
                return True
    return False


def _encloses(block: Block | None, op: Op) -> bool:
    """Whether `op` stands in `block` or in a region of one of its operations."""
    here: Op | None = op
    while here is not None:
        if here.parent is block:
            return True
        here = _parent(here)
    return False
