# SPDX-FileCopyrightText: 2026 The OpenCuTe authors
# SPDX-License-Identifier: Apache-2.0
"""`match` statements, as chains of `if` that may depend on run-time values.

Before::                        After::

    match p:                        subject = p
        case (0, y):                found = __oc__.match(subject, ("seq", (("value", 0), ...)))
            f(y)                    if found.holds:
                                        (y,) = found.take(("y",))
                                        f(y)
        case _:                     else:
            g()                         g()

A guard is evaluated with the case's names bound, and the names are bound again for its body.
"""

from __future__ import annotations

import ast
from collections.abc import Callable

from opencute.frontend.rewrite.scope import TEMPORARY, call, name_tuple, target_tuple

__all__ = ["lower_match"]


def _tuple(*items: ast.expr) -> ast.Tuple:
    return ast.Tuple(list(items), ast.Load())


def _kind(name: str, *items: ast.expr) -> ast.Tuple:
    return _tuple(ast.Constant(name), *items)


def _pattern(p: ast.pattern | None) -> ast.expr:
    """An expression whose value describes a pattern; see `frontend.matching`."""
    if isinstance(p, ast.MatchValue):
        return _kind("value", p.value)
    if isinstance(p, ast.MatchSingleton):
        return _kind("is", ast.Constant(p.value))
    if isinstance(p, ast.MatchSequence):
        return _kind("sequence", *map(_pattern, p.patterns))
    if isinstance(p, ast.MatchStar):
        return _kind("star", ast.Constant(p.name))
    if isinstance(p, ast.MatchOr):
        return _kind("or", *map(_pattern, p.patterns))
    if isinstance(p, ast.MatchMapping):
        keys, values = _tuple(*p.keys), _tuple(*map(_pattern, p.patterns))
        return _kind("mapping", keys, values, ast.Constant(p.rest))
    if isinstance(p, ast.MatchClass):
        by_name = _tuple(*map(_pattern, p.kwd_patterns))
        names = name_tuple(p.kwd_attrs)
        return _kind("class", p.cls, _tuple(*map(_pattern, p.patterns)), names, by_name)
    assert p is None or isinstance(p, ast.MatchAs)
    if p is None or (p.pattern is None and p.name is None):
        return _kind("any")
    return _kind("as", _pattern(p.pattern), ast.Constant(p.name))


def _names(p: ast.pattern) -> list[str]:
    names: dict[str, None] = {}
    for node in ast.walk(p):
        name = node.rest if isinstance(node, ast.MatchMapping) else getattr(node, "name", None)
        if name is not None and isinstance(node, ast.pattern):
            names.setdefault(name)
    return list(names)


def lower_match(node: ast.Match, number: Callable[[], int]) -> list[ast.stmt]:
    """The statements that replace a `match`; its parts are rewritten afterwards.

    Args:
        node: the statement.
        number: gives a new number for each name.
    """
    subject = f"{TEMPORARY}subject_{number()}"
    out: list[ast.stmt] = [ast.Assign([ast.Name(subject, ast.Store())], node.subject)]
    _at(out[0], node)
    out += _cases(subject, node.cases, number)
    return out


def _cases(subject: str, cases: list[ast.match_case], number: Callable[[], int]) -> list[ast.stmt]:
    if not cases:
        return []
    case, *others = cases
    found, names = f"{TEMPORARY}found_{number()}", _names(case.pattern)
    holds: ast.expr = ast.Attribute(ast.Name(found, ast.Load()), "holds", ast.Load())

    def take() -> list[ast.stmt]:
        taken = ast.Call(
            ast.Attribute(ast.Name(found, ast.Load()), "take", ast.Load()), [name_tuple(names)], []
        )
        return [_at(ast.Assign([target_tuple(names)], taken), case.pattern)] if names else []

    test = call("match", ast.Name(subject, ast.Load()), _pattern(case.pattern))
    head = ast.Assign([ast.Name(found, ast.Store())], test)
    out: list[ast.stmt] = [_at(head, case.pattern)]
    if case.guard is not None:
        guard = f"__ocv_guard_{number()}"
        keep = ast.Assign([ast.Name(guard, ast.Store())], call("truth", case.guard))
        fail = ast.Assign([ast.Name(guard, ast.Store())], ast.Constant(False))
        out.append(_at(ast.If(holds, [*take(), _at(keep, case.guard)], [fail]), case.guard))
        holds = ast.Name(guard, ast.Load())
    rest = _cases(subject, others, number)
    out.append(_at(ast.If(holds, [*take(), *case.body], rest), case.pattern))
    return out


def _at(new: ast.stmt, old: ast.AST) -> ast.stmt:
    """Place a statement; parts that have a place keep it."""
    return ast.fix_missing_locations(ast.copy_location(new, old))
