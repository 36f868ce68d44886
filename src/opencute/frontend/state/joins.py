# SPDX-FileCopyrightText: 2026 The OpenCuTe authors
# SPDX-License-Identifier: Apache-2.0
"""Where paths meet: one plan for each variable and changed item, from its values on all paths.

In: names, and a row of values per path. Out: plans that take each row apart and put the joined
variables together::

    plans = join(("x", "p"), [(1, a), (Int32(n), b)], "differs in the branches", Session())
"""

# pyright: reportUnknownArgumentType=false
# pyright: reportUnknownMemberType=false
# pyright: reportUnknownVariableType=false
# Users' objects and nested tuples are of any type; annotations cannot say more.

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from opencute.base.errors import LanguageError, TypeMismatchError
from opencute.dialects import arith, cute
from opencute.dialects.cute import PtrType
from opencute.frontend.carried import NoJoin, Plan, Session, Static, plan_for
from opencute.frontend.locations import here
from opencute.frontend.state.links import link
from opencute.frontend.state.objects import state_of
from opencute.frontend.state.watch import MISSING, Key, Watch
from opencute.frontend.unbound import Later, Mixed, Partial, Unbound
from opencute.ir.core import Value
from opencute.ir.types import I64, FloatType, IntegerType, Type, element_type

__all__ = [
    "RESULT", "Names", "Values", "check_shapes", "flatten", "item_values", "join", "keys_of",
    "link_all", "rebuild", "shapes_of", "states_of", "types_of", "write_back", "zeros_of",
]  # fmt: skip

Names = tuple[str, ...]
Values = tuple[Any, ...]

RESULT = "__ocr_result"  # the variable of a function's return value
_FLAGS = ("__ocr_returned", "__ocr_broken", "__ocr_skipped")


def join(
    names: Names,
    rows: list[Values],
    what: str,
    session: Session,
    *,
    dynamic: bool = False,
    fill: bool = False,
) -> list[Plan]:
    """A plan for each variable. The return value may have no value on paths that go on; so may
    others if `fill`.

    Args:
        names: the variables.
        rows: their values, a row for each path.
        what: ends the message of an error.
        session: what the plans share.
        dynamic: as for `plan_for`.
        fill: give a variable without value on some path any value there.

    Raises:
        TypeMismatchError: a variable has values that cannot be joined.
    """
    flags = [frozenset(n for n, x in zip(names, row, strict=True) if x is True and
                       n.startswith(_FLAGS)) for row in rows]  # fmt: skip
    plans: list[Plan] = []
    for i, name in enumerate(names):
        column = [row[i] for row in rows]
        try:
            if fill or name == RESULT or _comes_later(column):
                plans.append(_filled(column, dynamic, session))
            elif any(isinstance(x, Unbound) for x in column):
                plans.append(_partial(name, column, flags, session))
            else:
                plans.append(plan_for(*column, dynamic=dynamic, session=session))
        except NoJoin as e:
            if name == RESULT or name.startswith("the "):
                raise _error(e, name, what) from None
            # Only an error where it is used.
            none = any(x is None for x in column)
            plans.append(Static(_nothing(name) if none else Mixed(_error(e, name, what), here())))
    return plans


def _comes_later(column: list[Any]) -> bool:
    """Whether a variable is one that is bound where it is read, and has no value on some path."""
    missing = [x for x in column if isinstance(x, Unbound)]
    return any(isinstance(x, Later) for x in missing) and all(
        isinstance(x, Later | Partial) for x in missing
    )


def _nothing(name: str) -> Unbound:
    return Unbound(name, here(), f"on one path it is None: give {name!r} a value of one type "
                   "before the 'if' or loop, or in every branch")  # fmt: skip


def _called(name: str) -> str:
    """A variable as it is written in messages; some have a description for a name."""
    return name if name.startswith("the ") else f"variable {name!r}"


def _error(error: NoJoin, name: str, what: str) -> TypeMismatchError:
    if name == RESULT:
        message = "the function returns different kinds of values on its paths"
    else:
        message = f"{_called(name)} {what}"
    return TypeMismatchError(
        message, code="OC1250", expected=error.expected, found=error.found, hint=error.hint
    )


class _Filled(Plan):
    """A plan whose values are zeros where there is no object."""

    def __init__(self, plan: Plan) -> None:
        self.plan = plan
        self.types, self.rebuild, self.facts = plan.types, plan.rebuild, plan.facts

    def values(self, obj: Any) -> list[Value]:
        obj = Partial.value(obj)
        if not isinstance(obj, Unbound):
            return self.plan.values(obj)
        zeros = zeros_of(self.plan.types())
        assert zeros is not None
        return zeros


class _Partial(_Filled):
    """A plan for a variable that is bound where code goes on."""

    def __init__(self, plan: Plan, name: str, flags: frozenset[frozenset[str]]) -> None:
        super().__init__(plan)
        loc = here()
        self.rebuild = lambda values: Partial(name, plan.rebuild(values), flags, loc)


def _filled(column: list[Any], dynamic: bool, session: Session) -> Plan:
    if all(x is column[0] for x in column) and isinstance(column[0], Unbound):
        return Static(column[0])
    column = [Partial.value(x) for x in column]
    bound = [x for x in column if not isinstance(x, Unbound)]
    if not bound or len(bound) == len(column):
        return plan_for(*column, dynamic=dynamic, session=session)
    plan = _plan_of(column, session, dynamic)
    if _have_zeros(plan.types()):
        return _Filled(plan)
    return plan_for(*column, dynamic=dynamic, session=session)


def _plan_of(column: list[Any], session: Session, dynamic: bool = False) -> Plan:
    """A plan for the values of those paths that have one."""
    session.paths = tuple(p for p, x in enumerate(column) if not isinstance(x, Unbound))
    try:
        return plan_for(*(column[p] for p in session.paths), dynamic=dynamic, session=session)
    finally:
        session.paths = None


def _partial(name: str, column: list[Any], flags: list[frozenset[str]], session: Session) -> Plan:
    """A plan for a variable that is not bound on some paths; those may be ones that leave."""
    need = frozenset[frozenset[str]]()
    for x, left in zip(column, flags, strict=True):
        if isinstance(x, Partial):
            need |= Partial.flags(x)
        elif isinstance(x, Unbound):
            if not left:
                known = len(column) == 1 or isinstance(x, Mixed)
                return Static(x if known else Unbound(name, here()))
            need |= {left}
    values = [Partial.value(x) for x in column]
    if all(isinstance(x, Unbound) for x in values):
        return Static(column[0])
    plan = _plan_of(values, session)
    if not _have_zeros(plan.types()):
        return Static(Unbound(name, here()))
    return _Partial(plan, name, need)


def flatten(plans: list[Plan], row: Values) -> list[Value]:
    """The values of a path, as operands."""
    return [v for p, x in zip(plans, row, strict=True) for v in p.values(x)]


def rebuild(plans: list[Plan], values: Iterable[Value]) -> Values:
    """The variables around values."""
    it = iter(values)
    return tuple(p.rebuild(it) for p in plans)


def types_of(plans: list[Plan]) -> list[Type]:
    """The types of all values."""
    return [t for p in plans for t in p.types()]


def _have_zeros(types: list[Type]) -> bool:
    return all(isinstance(element_type(t), IntegerType | FloatType | PtrType) for t in types)


def _zero(type: Type) -> Value:
    if isinstance(type, PtrType):
        return cute.int_to_ptr(arith.constant(0, I64), type)
    return arith.constant(0.0 if isinstance(element_type(type), FloatType) else 0, type)


def zeros_of(types: list[Type]) -> list[Value] | None:
    """Constants for types that have any; None if one has none."""
    if not _have_zeros(types):
        return None
    return [_zero(t) for t in types]


# ---------------------------------------------------------------- changed objects
def check_shapes(watch: Watch, paths: list[dict[int, tuple[Any, ...]]], what: str) -> None:
    """Refuse lists and dicts that have different items on the paths that meet.

    Args:
        watch: the objects.
        paths: the structure of each object that may have another one, for each path.
        what: the statement.

    Raises:
        LanguageError: OC1117.
    """
    for i in dict.fromkeys(i for path in paths for i in path):
        shapes = [path.get(i, watch.old_shape(i)) for path in paths]
        if all(s == shapes[0] for s in shapes):
            continue
        kind = type(watch.objects[i]).__name__
        is_dict = isinstance(watch.objects[i], dict)
        sizes = " and ".join(str(list(s)) if is_dict else str(len(s)) for s in shapes)
        if is_dict and all(set(s) == set(shapes[0]) for s in shapes):
            raise LanguageError(
                f"the keys of a dict do not come in the same order on all paths of {what}",
                code="OC1117", found=sizes,
                hint="assign to d[key]: a key that is taken out and put back comes last",
            )  # fmt: skip
        raise LanguageError(
            f"a {kind} does not have the same {'keys' if is_dict else 'length'} on all paths of "
            f"{what}", code="OC1117", found=f"{sizes} {'' if is_dict else 'items'}".strip(),
            hint="the structure of lists and dicts is fixed at compile time: change it the same "
            "way on every path, decide with const_expr(), loop over range_constexpr(), or use a "
            "register tensor",
        )  # fmt: skip


def states_of(watch: Watch, changes: dict[Key, Any]) -> dict[int, dict[Any, Any]]:
    """The items of the objects that a path changed, by identity; before they are put back."""
    objects = (watch.objects[i] for i in dict.fromkeys(i for i, _ in changes))
    return {id(obj): state_of(obj) or {} for obj in objects}


def item_values(watch: Watch, keys: list[Key], changes: dict[Key, Any]) -> Values:
    """The items of `keys` on a path; an attribute that is missing there is that of the class, or
    unbound."""
    row = (changes.get(k, watch.old(k)) for k in keys)
    return tuple(
        _inherited(watch, k, keys) if v is MISSING else v for k, v in zip(keys, row, strict=True)
    )


def _inherited(watch: Watch, key: Key, keys: list[Key]) -> Any:
    """What reading an attribute gives that an object does not have itself."""
    obj, name = watch.objects[key[0]], key[1]
    changed = {id(watch.objects[i]) for i, n in keys if n == name}
    for kind in obj.__mro__[1:] if isinstance(obj, type) else type(obj).__mro__:
        if id(kind) in changed:
            break
        value = vars(kind).get(name, MISSING) if isinstance(name, str) else MISSING
        if value is not MISSING:
            if hasattr(type(value), "__get__"):  # computed by the class
                break
            return value
    return Unbound(watch.describe(key), here())


def shapes_of(watch: Watch, changes: dict[Key, Any]) -> dict[int, tuple[Any, ...]]:
    """The lists and dicts that have another structure than before."""
    found = {i: watch.shape(i) for i in dict.fromkeys(i for i, _ in changes)}
    return {i: s for i, s in found.items() if s is not None and s != watch.old_shape(i)}


def keys_of(
    watch: Watch, paths: list[dict[Key, Any]], shapes: dict[int, tuple[Any, ...]]
) -> list[Key]:
    """The items that some path changes, except those that no path has in the end."""
    every = dict.fromkeys(k for path in paths for k in path)
    return [k for k in every if k[0] not in shapes or k[1] in shapes[k[0]]]


def write_back(
    watch: Watch, keys: list[Key], out: Values, shapes: dict[int, tuple[Any, ...]]
) -> Values:
    """Set the changed items, and the structure of lists and dicts; returns the rest."""
    count = len(out) - len(keys)
    if keys or shapes:
        watch.put(dict(zip(keys, out[count:], strict=True)), shapes)
    return out[:count]


def link_all(session: Session, names: Names, plans: list[Plan]) -> None:
    """Note which joined objects may be the same as others."""
    named = {id(p): n for p, n in zip(plans, names, strict=True)}
    for plan in session.made.values():
        if plan.made is None:
            return
    for a, b, plan in session.links():
        name = named.get(id(plan))
        link(a, b, _called(name) if name else f"a {type(a).__name__}")
