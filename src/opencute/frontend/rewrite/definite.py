# SPDX-FileCopyrightText: 2026 The OpenCuTe authors
# SPDX-License-Identifier: Apache-2.0
"""Variables that are bound wherever they are read, although not on every path through a statement.

In: the statements of a function as they are written. Out: the names, for which joins of paths may
take any value where there is none::

    for i in range(n):
        if i == t:
            r = i
            break
    else:
        r = -1
    return r                # bound: a `break` binds it, and so does the `else`
"""

from __future__ import annotations

import ast
from collections.abc import Iterable

from opencute.frontend.rewrite.scope import SCOPES, assigned, call

__all__ = ["bind_later", "surely_bound"]

_COMPREHENSIONS = (ast.ListComp, ast.SetComp, ast.DictComp, ast.GeneratorExp)
_State = frozenset[str] | None  # None: no path leads here


def surely_bound(fn: ast.FunctionDef, parameters: Iterable[str]) -> list[str]:
    """The variables that statements which code leaves bind on all paths that go on, if every use of
    them in the function is on such a path.

    Args:
        fn: the function.
        parameters: the names of its parameters.
    """
    flow = _Flow()
    flow.run(fn.body, frozenset(parameters))
    own = set(assigned(fn.body)) - flow.refused - flow.early
    return [] if "locals" in flow.loaded else sorted(flow.gained & own)


def bind_later(names: list[str], at: ast.AST) -> ast.stmt:
    """`a, b = __oc__.later(('a', 'b'))`: at the start of the function."""
    target = ast.Tuple([ast.Name(n, ast.Store()) for n in names], ast.Store())
    values = call("later", ast.Tuple([ast.Constant(n) for n in names], ast.Load()))
    return ast.fix_missing_locations(ast.copy_location(ast.Assign([target], values), at))


def _meet(a: _State, b: _State) -> _State:
    if a is None or b is None:
        return b if a is None else a
    return a & b


class _Flow:
    """Which variables are bound at each point."""

    def __init__(self) -> None:
        self.breaks: list[_State] = []
        self.gained: set[str] = set()
        """What is bound after a statement and not before it."""
        self.early: set[str] = set()
        """What is read where it may not be bound."""
        self.refused: set[str] = set()
        """What other functions see, or `del` and `:=` change."""
        self.loaded: set[str] = set()

    def run(self, body: list[ast.stmt], state: _State) -> _State:
        """The variables after statements, from those before."""
        for stmt in body:
            after = self._stmt(stmt, state)
            if (
                state is not None
                and after is not None
                and isinstance(stmt, ast.If | ast.For | ast.While | ast.Try | ast.With)
            ):
                self.gained |= after - state
            state = after
        return state

    def _stmt(self, stmt: ast.stmt, state: _State) -> _State:
        if isinstance(stmt, ast.If):
            self._read(stmt.test, state)
            return _meet(self.run(stmt.body, state), self.run(stmt.orelse, state))
        if isinstance(stmt, ast.For | ast.While):
            return self._loop(stmt, state)
        if isinstance(stmt, ast.Try):
            return self._try(stmt, state)
        if isinstance(stmt, ast.With):
            for item in stmt.items:
                self._read(item.context_expr, state)
                state = self._bind([item.optional_vars], state)
            return self.run(stmt.body, state)
        if isinstance(stmt, ast.Break):
            self.breaks[-1] = _meet(self.breaks[-1], state)
            return None
        if isinstance(stmt, SCOPES):
            self.refused.update(n.id for n in ast.walk(stmt) if isinstance(n, ast.Name))
            return self._bind([stmt], state)
        if isinstance(stmt, ast.Global | ast.Nonlocal):
            self.refused.update(stmt.names)
            return state
        self._read(stmt, state)
        if isinstance(stmt, ast.AugAssign) and isinstance(stmt.target, ast.Name):
            self._use(stmt.target.id, state)
        if isinstance(stmt, ast.AnnAssign) and stmt.value is None:
            return state
        if isinstance(stmt, ast.Return | ast.Raise | ast.Continue):
            return None
        return self._bind([stmt], state)

    def _loop(self, stmt: ast.For | ast.While, state: _State) -> _State:
        endless = False
        if isinstance(stmt, ast.For):
            self._read(stmt.iter, state)
            inside = self._bind([stmt.target], state)
        else:
            self._read(stmt.test, state)
            inside = state
            endless = isinstance(stmt.test, ast.Constant) and bool(stmt.test.value)
        self.breaks.append(None)
        self.run(stmt.body, inside)
        left = self.breaks.pop()
        return _meet(self.run(stmt.orelse, None if endless else state), left)

    def _try(self, stmt: ast.Try, state: _State) -> _State:
        after = self.run(stmt.orelse, self.run(stmt.body, state))
        for handler in stmt.handlers:
            if handler.name:
                self.refused.add(handler.name)
            after = _meet(after, self.run(handler.body, state))
        last = self.run(stmt.finalbody, state)
        if after is None or last is None:
            return None
        return after | (last - state if state is not None else last)

    def _bind(self, nodes: Iterable[ast.AST | None], state: _State) -> _State:
        names = assigned([n for n in nodes if n is not None])
        return None if state is None else state | set(names)

    def _use(self, name: str, state: _State) -> None:
        self.loaded.add(name)
        if state is not None and name not in state:
            self.early.add(name)

    def _read(self, node: ast.AST, state: _State) -> None:
        """Note the variables that an expression, or a statement without others in it, reads."""
        if isinstance(node, SCOPES):
            self.refused.update(n.id for n in ast.walk(node) if isinstance(n, ast.Name))
            return
        if isinstance(node, _COMPREHENSIONS):
            own = {n.id for g in node.generators for n in ast.walk(g.target)
                   if isinstance(n, ast.Name)}  # fmt: skip
            self.refused |= own
        if isinstance(node, ast.NamedExpr):
            self.refused.add(node.target.id)
        if isinstance(node, ast.Name):
            if isinstance(node.ctx, ast.Load):
                self._use(node.id, state)
            elif isinstance(node.ctx, ast.Del):
                self.refused.add(node.id)
            return
        for child in ast.iter_child_nodes(node):
            self._read(child, state)
