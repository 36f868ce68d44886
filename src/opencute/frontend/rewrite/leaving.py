# SPDX-FileCopyrightText: 2026 The OpenCuTe authors
# SPDX-License-Identifier: Apache-2.0
"""`return`, `break` and `continue`: flags that guard the statements which they skip.

Before::                        After::

    for i in range(n):              broken = False
        if c:                       for i in range(n):          # ends when `broken` is set
            f()                         if c:
            if d:                           f()
                break                       if d:
            g()                                 broken = True
        h()                                 if go_on(broken):
                                                g()
                                        if go_on(broken):
                                            h()

What follows an `if` of which one branch always leaves moves into the other one, without a flag. The
flags are Python's bools as long as the conditions are known while tracing. Returns under
`const_expr` at the top level of a function stay as they are: Python runs them.
"""

from __future__ import annotations

import ast
from collections.abc import Callable, Iterable
from dataclasses import dataclass

from opencute.frontend.rewrite.scope import SCOPES, assigned, call, is_constexpr, target_tuple

__all__ = [
    "RESULT",
    "guard_of",
    "keep_generator",
    "leaves_of",
    "lower_exits",
    "next_turn",
    "runs_in_python",
    "static_leaves",
]

RESULT = "__ocr_result"
RETURNED = "__ocr_returned"
_LOOPS = (ast.For, ast.While)
_ENDS = (ast.Break, ast.Return)
_YIELDS = (ast.Yield, ast.YieldFrom)


@dataclass(frozen=True)
class _Loop:
    """The flags of a loop."""

    broken: str
    skipped: str


def leaves_of(loop: ast.For) -> list[str]:
    """The flags that end a loop."""
    return getattr(loop, "oc_leaves", [])


def guard_of(node: ast.If) -> tuple[list[str], list[str]]:
    """The flags by which an `if` guards what follows a statement, and the variables of that
    statement which it reads: they are bound where no flag is set."""
    return getattr(node, "oc_guard", ([], []))


def next_turn(loop: ast.While) -> ast.Assign | None:
    """The statement at the end of a turn that runs the next one."""
    return getattr(loop, "oc_next", None)


def static_leaves(loop: ast.While) -> list[str]:
    """The flags that end a loop which runs while tracing."""
    return getattr(loop, "oc_static", [])


def keep_generator(fn: ast.FunctionDef) -> bool:
    """Whether a function is a generator; then the statements around its `yield`s, and those that
    leave, are marked to stay Python's."""
    nodes = [n for s in fn.body for n in _own(s)]
    if not any(isinstance(n, _YIELDS) for n in nodes):
        return False
    for n in nodes:
        if isinstance(n, (ast.If, *_LOOPS)) and (
            _exits([n]) or any(isinstance(m, (*_YIELDS, *_ENDS)) for m in _own(n))
        ):
            n.oc_python = True  # type: ignore[union-attr]
    return True


def runs_in_python(node: ast.AST) -> bool:
    """Whether a statement made here stays Python's."""
    return getattr(node, "oc_python", False)


def _exits(nodes: Iterable[ast.AST]) -> set[str]:
    """By which of `return`, `break` and `continue` statements leave what is around them."""
    out: set[str] = set()
    for node in nodes:
        if isinstance(node, ast.Return | ast.Break | ast.Continue):
            out.add(type(node).__name__.lower())
        elif isinstance(node, _LOOPS):
            out |= (_exits(node.body) & {"return"}) | _exits(node.orelse)
        elif not isinstance(node, SCOPES):
            out |= _exits(ast.iter_child_nodes(node))
    return out


def _inner(node: ast.stmt) -> bool:
    """Whether a statement contains loops that something leaves."""
    return any(isinstance(n, _LOOPS) and _exits(n.body) for n in _own(node))


def _own(node: ast.AST) -> Iterable[ast.AST]:
    """A node and those inside of it, without those of functions."""
    if not isinstance(node, SCOPES):
        yield node
        for child in ast.iter_child_nodes(node):
            yield from _own(child)


def _native(stmt: ast.stmt) -> bool:
    """Whether Python itself can run the exits of a statement at the top level of a function."""
    if isinstance(stmt, ast.Return) or not (_exits([stmt]) or _inner(stmt)):
        return True
    if isinstance(stmt, ast.With | ast.Try) or (
        isinstance(stmt, ast.If) and is_constexpr(stmt.test)
    ):
        return all(_native(s) for part in _bodies(stmt) for s in part)
    return False


def _bodies(stmt: ast.stmt) -> Iterable[list[ast.stmt]]:
    """The lists of statements in a statement."""
    for part in [stmt, *getattr(stmt, "handlers", [])]:
        for field in ("body", "orelse", "finalbody"):
            yield getattr(part, field, [])


def _decided(body: list[ast.stmt]) -> bool:
    """Whether code leaves a loop under `const_expr`, so that the loop has to run while tracing."""
    for stmt in body:
        if isinstance(stmt, ast.If) and is_constexpr(stmt.test) and _exits([stmt]):
            return True
        if not isinstance(stmt, (*_LOOPS, *SCOPES)) and any(map(_decided, _bodies(stmt))):
            return True
    return False


def _endless(loop: ast.While) -> bool:
    test = loop.test
    return isinstance(test, ast.Constant) and bool(test.value) and "break" not in _exits(loop.body)


def _ends(body: list[ast.stmt]) -> bool:
    """Whether every path through statements leaves."""
    for stmt in body:
        if isinstance(stmt, ast.Return | ast.Raise | ast.Break | ast.Continue):
            return True
        if isinstance(stmt, ast.If) and _ends(stmt.body) and _ends(stmt.orelse):
            return True
        if isinstance(stmt, ast.With) and _ends(stmt.body):
            return True
        if isinstance(stmt, ast.Try) and (
            _ends(stmt.finalbody)
            or (_ends([*stmt.body, *stmt.orelse]) and all(_ends(h.body) for h in stmt.handlers))
        ):
            return True
        if isinstance(stmt, ast.While) and _endless(stmt):
            return True
    return False


def lower_exits(body: list[ast.stmt], number: Callable[[], int]) -> list[ast.stmt]:
    """A function's statements with returns only where Python itself runs them, and no `break` and
    `continue`.

    Args:
        body: the statements.
        number: gives a new number for each loop.
    """
    if all(map(_native, body)):
        return body
    lowering = _Lowering(number, any(map(_valued, [n for s in body for n in _own(s)])))
    out = lowering.top(body if _ends(body) else [*body, _return_none(body[-1])])
    return [s for s in map(_Unread(lowering.read).visit, out) if s is not None]


def _valued(node: ast.AST) -> bool:
    return isinstance(node, ast.Return) and not (
        node.value is None or (isinstance(node.value, ast.Constant) and node.value.value is None)
    )


def _return_none(at: ast.stmt) -> ast.stmt:
    return ast.copy_location(ast.Return(ast.Constant(None)), at)


def _set(flag: str, value: bool, at: ast.stmt) -> ast.stmt:
    return _assign(flag, ast.Constant(value), at)


def _assign(name: str, value: ast.expr, at: ast.stmt) -> ast.stmt:
    new = ast.copy_location(ast.Assign([ast.Name(name, ast.Store())], value), at)
    return ast.fix_missing_locations(new)


class _Lowering:
    def __init__(self, number: Callable[[], int], valued: bool) -> None:
        self.number = number
        self.valued = valued
        self.read: set[str] = set()

    def top(self, body: list[ast.stmt]) -> list[ast.stmt]:
        """The statements of a function."""
        count = next(i for i, s in enumerate(body) if not _native(s))
        at = body[count]
        out = [*body[:count], _set(RETURNED, False, at), *self.block(body[count:], None)]
        if self.valued:
            out.append(ast.copy_location(ast.Return(ast.Name(RESULT, ast.Load())), at))
        return out

    def block(self, body: list[ast.stmt], loop: _Loop | None) -> list[ast.stmt]:
        """Statements inside of a loop or none."""
        out: list[ast.stmt] = []
        for i, stmt in enumerate(body):
            rest = body[i + 1 :]
            if isinstance(stmt, ast.Return):
                if self.valued:
                    value = stmt.value or ast.Constant(None)
                    if not isinstance(value, ast.Constant):
                        value = ast.copy_location(call("given", value), value)
                    out.append(_assign(RESULT, value, stmt))
                return [*out, _set(RETURNED, True, stmt)]
            if isinstance(stmt, ast.Break | ast.Continue):
                assert loop is not None
                flag = loop.broken if isinstance(stmt, ast.Break) else loop.skipped
                return [*out, _set(flag, True, stmt)]
            if not _exits([stmt]) and not _inner(stmt):
                out.append(stmt)
            elif isinstance(stmt, _LOOPS):
                return [*out, *self._loop(stmt, rest, loop)]
            elif _exits([stmt]):
                return [*out, *self._branch(stmt, rest, loop)]
            else:
                out += self._branch(stmt, [], loop)
        return out

    def _branch(self, stmt: ast.stmt, rest: list[ast.stmt], loop: _Loop | None) -> list[ast.stmt]:
        """A statement that is no loop and has exits inside, and what follows it."""
        exits = _exits([stmt])
        if exits and isinstance(stmt, ast.If):
            if _ends(stmt.body):
                stmt.orelse, rest = [*stmt.orelse, *rest], []
            elif _ends(stmt.orelse):
                stmt.body, rest = [*stmt.body, *rest], []
        left = _exits(stmt.body) if isinstance(stmt, ast.Try) else set[str]()
        ends = _exits(stmt.finalbody) if isinstance(stmt, ast.Try) else set[str]()
        pending = self._pending(stmt, loop) if isinstance(stmt, ast.Try) else []
        for part in [stmt, *getattr(stmt, "handlers", [])]:
            for field in ("body", "orelse", "finalbody"):
                if field == "orelse" and left and stmt.orelse:  # type: ignore[attr-defined]
                    stmt.orelse = self._guard(  # type: ignore[attr-defined]
                        self._flags(left, loop), stmt.orelse, stmt, loop)  # type: ignore[attr-defined]  # fmt: skip
                elif getattr(part, field, None):
                    inside = self.block(getattr(part, field), loop)
                    if field == "finalbody" and pending:
                        inside = self._last(stmt, inside, pending, ends, loop)
                    setattr(part, field, inside)
        if not exits:
            return [stmt]
        return [stmt, *self._guard(self._flags(exits, loop), rest, stmt, loop)]

    def _pending(self, stmt: ast.Try, loop: _Loop | None) -> list[str]:
        """The flags by which the parts of a `try` leave while its `finally` runs, if that has exits
        or loops of its own: it starts without them."""
        if not any(_exits([s]) or _inner(s) for s in stmt.finalbody):
            return []
        return self._flags(_exits([*stmt.body, *stmt.handlers, *stmt.orelse]), loop)

    def _last(
        self,
        at: ast.stmt,
        body: list[ast.stmt],
        pending: list[str],
        ends: set[str],
        loop: _Loop | None,
    ) -> list[ast.stmt]:
        """A `finally`: how the `try` leaves counts only if this one does not leave itself."""
        n = self.number()
        kept = [(f, f"__ocr_pending_{n}_{f[6:]}") for f in pending]
        self.read.update(x for pair in kept for x in pair)
        head = [_assign(k, ast.Name(f, ast.Load()), at) for f, k in kept]
        head += [_set(f, False, at) for f in pending]
        back = [_assign(f, ast.Name(k, ast.Load()), at) for f, k in kept]
        return [*head, *body, *self._guard(self._flags(ends, loop), back, at, loop)]

    def _flags(self, exits: set[str], loop: _Loop | None) -> list[str]:
        flags = [RETURNED] if "return" in exits else []
        if loop is not None:
            flags += [loop.broken] if "break" in exits else []
            flags += [loop.skipped] if "continue" in exits else []
        return flags

    def _go_on(self, flags: list[str]) -> ast.expr:
        self.read.update(flags)
        return call("go_on", *(ast.Name(f, ast.Load()) for f in flags))

    def _guard(
        self, flags: list[str], body: list[ast.stmt], at: ast.stmt, loop: _Loop | None
    ) -> list[ast.stmt]:
        """Statements that run if no flag is set."""
        if not body or not flags:
            return self.block(body, loop)
        read = {n.id for s in body for n in ast.walk(s) if isinstance(n, ast.Name)}
        bound = [n for n in assigned([at]) if n in read]
        new = ast.copy_location(ast.If(self._go_on(flags), self.block(body, loop), []), at)
        new.oc_guard = flags, bound  # type: ignore[attr-defined]
        new.test = ast.copy_location(new.test, body[0])
        return [ast.fix_missing_locations(new)]

    def _loop(
        self, stmt: ast.For | ast.While, rest: list[ast.stmt], outer: _Loop | None
    ) -> list[ast.stmt]:
        """A loop, its `else`, and what follows it."""
        exits = _exits(stmt.body)
        n, static = self.number(), _decided(stmt.body)
        static = static or (isinstance(stmt, ast.While) and is_constexpr(stmt.test))
        loop = _Loop(f"__ocr_broken_{n}", f"__ocr_skipped_{n}")
        turn = None
        if (
            static
            and isinstance(stmt, ast.While)
            and exits - {"continue"}
            and ("continue" not in exits)
        ):
            # The next turn stands where this one goes on, so that what is static there stays so.
            turn = ast.Assign([ast.Tuple([], ast.Store())], call("next_turn"))
            stmt.body.append(_placed(turn, stmt))
        stmt.body = [_set(loop.skipped, False, stmt), *self.block(stmt.body, loop)]
        if turn is not None:
            stmt.oc_next = turn  # type: ignore[union-attr]
            test = stmt.test if isinstance(stmt, ast.While) else stmt.iter
            names = [*assigned([test, *stmt.body]), loop.broken]
            names += [RETURNED, RESULT] if "return" in exits else []
            turn.targets = [target_tuple(list(dict.fromkeys(names)))]
            _placed(turn, stmt)
        leaves = [loop.broken] if "break" in exits else []
        leaves += [RETURNED] if "return" in exits else []
        if leaves:
            self.read.update(leaves)
            self._end(stmt, leaves, static)
        if stmt.orelse and "break" in exits:
            unbroken = ast.If(self._go_on([loop.broken]), stmt.orelse, [])
            rest = [_placed(unbroken, stmt.orelse[0]), *rest]
        else:
            rest = [*stmt.orelse, *rest]
        stmt.orelse = []
        after = [RETURNED] if "return" in exits else []
        return [_set(loop.broken, False, stmt), stmt, *self._guard(after, rest, stmt, outer)]

    def _end(self, stmt: ast.For | ast.While, leaves: list[str], static: bool) -> None:
        """Make a loop end when a flag is set; `static`: it runs while tracing."""
        if isinstance(stmt, ast.For):
            stmt.oc_leaves = leaves  # type: ignore[attr-defined]
            if static:
                stmt.iter = ast.copy_location(call("unrolled", stmt.iter), stmt.iter)
                ast.fix_missing_locations(stmt.iter)
        elif static:
            stmt.oc_static = leaves  # type: ignore[attr-defined]
        else:
            test = ast.BoolOp(ast.And(), [self._go_on(leaves), stmt.test])
            stmt.test = ast.copy_location(test, stmt.test)
            ast.fix_missing_locations(stmt.test)


def _placed(new: ast.stmt, at: ast.stmt) -> ast.stmt:
    return ast.fix_missing_locations(ast.copy_location(new, at))


class _Unread(ast.NodeTransformer):
    """Removes flags that nothing reads."""

    def __init__(self, read: set[str]) -> None:
        self.read = read

    def visit_Assign(self, node: ast.Assign) -> ast.stmt:
        target = node.targets[0]
        name = target.id if isinstance(target, ast.Name) else ""
        if name.startswith("__ocr_") and name != RESULT and name not in self.read:
            return ast.copy_location(ast.Pass(), node)
        return node

    def visit_FunctionDef(self, node: ast.FunctionDef) -> ast.stmt:
        return node  # has flags of its own
