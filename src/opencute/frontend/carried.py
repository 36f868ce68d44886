# SPDX-FileCopyrightText: 2026 The OpenCuTe authors
# SPDX-License-Identifier: Apache-2.0
"""Values that cross a region: how any Python object becomes SSA values and comes back.

A *plan* describes objects of one structure: which parts are static and which are SSA values of
which types. It turns an object into values (`values`), gives their types (`types`), and rebuilds an
equal object around other values (`rebuild`). `plan_for(a, b)` makes a plan that fits several
objects, as a join of two branches needs: numbers are promoted, facts that differ are forgotten.

    plan = plan_for((1, Int32(x)), (1, Int64(y)))     # (static 1, Int64)
"""

# pyright: reportUnknownArgumentType=false
# pyright: reportUnknownMemberType=false
# pyright: reportUnknownVariableType=false
# Users' objects and nested tuples are of any type; annotations cannot say more.

from __future__ import annotations

import dataclasses
import math
from collections.abc import Iterator
from typing import Any

from opencute.base.errors import TypeMismatchError
from opencute.dialects import cute
from opencute.dialects.cute import PtrType
from opencute.frontend.state.objects import fill, is_mutable, shell, state_of
from opencute.frontend.state.value_trees import difference, form, leaves, shaped
from opencute.frontend.unbound import Unbound
from opencute.ir.core import Value
from opencute.ir.types import I32, I64, Type, VectorType
from opencute.lang import facts
from opencute.lang import number_ops as ops
from opencute.lang.hopper.descriptors import Descriptor
from opencute.lang.numbers import Numeric, NumericMeta, as_numeric, ir_type, number_in
from opencute.lang.pointers import Pointer
from opencute.lang.streams import Stream
from opencute.lang.tensors import TracedTensor
from opencute.lang.vectors import TensorSSA, splat
from opencute.layout import ComposedLayout, Layout, ScaledBasis, is_static
from opencute.layout.ints import is_sequence, is_tuple
from opencute.numeric.dtypes import DType
from opencute.numeric.literals import plain_kind

__all__ = ["Built", "NoJoin", "Parts", "Plan", "Session", "Static", "items_of", "plan_for"]


class NoJoin(TypeMismatchError):
    """Two objects that no plan fits."""

    default_code = "OC1250"


class Plan:
    """How objects of one structure cross a region."""

    def types(self) -> list[Type]:
        """Types of the values."""
        return []

    def values(self, obj: Any) -> list[Value]:
        """The values of an object, converted at the insertion point."""
        return []

    def rebuild(self, values: Iterator[Value]) -> Any:
        """An object of this structure around the next values."""
        raise AssertionError

    def facts(self) -> tuple[Any, ...]:
        """What tells this plan from that of another turn: classes and facts of the parts."""
        return (type(self).__name__, *self.types())

    def unbound(self) -> bool:
        """Whether this is the plan of a variable that is not bound on every path."""
        return False


@dataclasses.dataclass(eq=False)
class Static(Plan):
    """An object that is the same on all paths."""

    obj: Any

    def rebuild(self, values: Iterator[Value]) -> Any:
        return self.obj

    def facts(self) -> tuple[Any, ...]:
        return ("Static", "unbound" if self.unbound() else id(self.obj))

    def unbound(self) -> bool:
        return isinstance(self.obj, Unbound)


@dataclasses.dataclass
class Number(Plan):
    """A number of a class, with the facts that hold on all paths."""

    cls: Any
    div: int = 1
    nonneg: bool = False
    is_index: bool = False

    def types(self) -> list[Type]:
        return [ir_type(self.cls.dtype)]

    def values(self, obj: Any) -> list[Value]:
        return [as_numeric(obj, self.cls).to(self.cls).ir_value()]

    def facts(self) -> tuple[Any, ...]:
        return (self.cls, self.div, self.nonneg, self.is_index)

    def rebuild(self, values: Iterator[Value]) -> Any:
        out = self.cls(next(values))
        out.div, out.nonneg, out.is_index = self.div, self.nonneg, self.is_index
        return out


@dataclasses.dataclass
class Vector(Plan):
    """A TensorSSA."""

    shape: Any
    cls: NumericMeta

    def types(self) -> list[Type]:
        n = math.prod(_flat(self.shape))
        return [VectorType(n, ir_type(self.cls.dtype))]

    def values(self, obj: Any) -> list[Value]:
        if not isinstance(obj, TensorSSA):
            obj = splat(obj, self.shape, self.cls)
        return [obj.to(self.cls).value]

    def rebuild(self, values: Iterator[Value]) -> Any:
        return TensorSSA(next(values), self.shape, self.cls)


@dataclasses.dataclass
class Ptr(Plan):
    """A pointer."""

    type: PtrType
    cls: NumericMeta

    def types(self) -> list[Type]:
        return [self.type]

    def values(self, obj: Any) -> list[Value]:
        value = obj.value
        return [value if value.type == self.type else cute.recast(value, self.type)]

    def rebuild(self, values: Iterator[Value]) -> Any:
        return Pointer(next(values), self.cls)


@dataclasses.dataclass
class StreamPlan(Plan):
    """A stream handle."""

    def types(self) -> list[Type]:
        return [I64]

    def values(self, obj: Any) -> list[Value]:
        return [obj.value]

    def rebuild(self, values: Iterator[Value]) -> Any:
        return Stream(next(values))


@dataclasses.dataclass
class Parts(Plan):
    """An object with parts, taken apart and put together by two functions of its kind."""

    kind: Any
    keys: tuple[Any, ...]
    plans: list[Plan]
    extra: Any = None

    def types(self) -> list[Type]:
        return [t for p in self.plans for t in p.types()]

    def values(self, obj: Any) -> list[Value]:
        split = _split(obj)
        assert split is not None
        return [v for p, x in zip(self.plans, split[2], strict=True) for v in p.values(x)]

    def facts(self) -> tuple[Any, ...]:
        return tuple(p.facts() for p in self.plans)

    def rebuild(self, values: Iterator[Value]) -> Any:
        return _join(self.kind, self.keys, [p.rebuild(values) for p in self.plans], self.extra)


@dataclasses.dataclass
class Custom(Plan):
    """A user's class with `__extract_mlir_values__` and `__new_from_mlir_values__`."""

    example: Any
    value_types: list[Type]
    session: Session

    def types(self) -> list[Type]:
        return self.value_types

    def values(self, obj: Any) -> list[Value]:
        if not is_mutable(obj):
            return list(leaves(obj.__extract_mlir_values__()))
        before = state_of(obj) or {}
        fill(obj, self.session.state(obj, self.session.path))
        out = list(leaves(obj.__extract_mlir_values__()))
        fill(obj, before)
        return out

    def rebuild(self, values: Iterator[Value]) -> Any:
        tree = self.example.__extract_mlir_values__()
        return self.example.__new_from_mlir_values__(shaped(tree, values))


@dataclasses.dataclass
class Raw(Plan):
    """A value of the IR itself."""

    type: Type

    def types(self) -> list[Type]:
        return [self.type]

    def values(self, obj: Any) -> list[Value]:
        return [obj]

    def rebuild(self, values: Iterator[Value]) -> Any:
        return next(values)


@dataclasses.dataclass(eq=False)
class Built(Plan):
    """A mutable object that is another one on each path: a new one with joined items. Where it is
    met again, the same new one stands for it."""

    sources: tuple[Any, ...]
    session: Session
    paths: tuple[int, ...]
    keys: tuple[Any, ...] = ()
    plans: list[Plan] = dataclasses.field(default_factory=list[Plan])
    made: Any = None

    def types(self) -> list[Type]:
        return [t for p in self.plans for t in p.types()]

    def values(self, obj: Any) -> list[Value]:
        state = self.session.state(obj, self.session.path)
        return [v for k, p in zip(self.keys, self.plans, strict=True) for v in p.values(state[k])]

    def facts(self) -> tuple[Any, ...]:
        return ("Built", self.keys, *(p.facts() for p in self.plans))

    def rebuild(self, values: Iterator[Value]) -> Any:
        new = self.made = shell(self.sources[0])
        items = [p.rebuild(values) for p in self.plans]
        fill(new, dict(zip(self.keys, items, strict=True)))
        return new


@dataclasses.dataclass(eq=False)
class Again(Plan):
    """An object that another part of the same plan makes."""

    first: Built

    def rebuild(self, values: Iterator[Value]) -> Any:
        return self.first.made


class Session:
    """What plans that are made together share: objects that occur twice stay one object.

    Args:
        known: identities of objects whose changes are recorded; where all paths have the same one
            of them, it stays itself.
    """

    def __init__(self, known: frozenset[int] | set[int] = frozenset()) -> None:
        self.known = known
        self.made: dict[Any, Built] = {}
        self.states: list[dict[int, dict[Any, Any]]] = []
        """For each path, the items of old objects that it changed, by identity."""
        self.paths: tuple[int, ...] | None = None
        """The paths of the objects that `plan_for` is given; None: all of them."""
        self.path = 0
        """The path whose values are wanted."""

    def state(self, obj: Any, path: int) -> dict[Any, Any]:
        """The items of a mutable object at the end of a path."""
        changed = self.states[path].get(id(obj)) if path < len(self.states) else None
        state = changed if changed is not None else state_of(obj)
        assert state is not None
        return state

    def links(self) -> Iterator[tuple[Any, Any, Built]]:
        """Pairs of objects that may be one: a new object and an old one that it stands for on some
        path, and two new ones that have a path where they are the same."""
        homes: dict[tuple[int, int], Built] = {}
        for plan in self.made.values():
            for path, obj in zip(plan.paths, plan.sources, strict=True):
                if id(obj) in self.known:
                    yield plan.made, obj, plan
                other = homes.setdefault((path, id(obj)), plan)
                if other is not plan:
                    yield plan.made, other.made, plan


def _flat(x: Any) -> Iterator[int]:
    if is_tuple(x):
        for i in x:
            yield from _flat(i)
    else:
        yield x


# ---------------------------------------------------------------- taking apart
def _split(x: Any) -> tuple[Any, tuple[Any, ...], list[Any], Any] | None:
    """(kind, keys, parts, extra) of an object with parts; None for anything else."""
    if is_sequence(x):
        items: Any = x
        kind: Any = type(items)
        return kind, (len(items),), list(items), None
    if isinstance(x, TracedTensor):
        return TracedTensor, (), [x.iterator, x.layout], None
    if isinstance(x, Layout):
        return Layout, (), [x.shape, x.stride], None
    if isinstance(x, ComposedLayout):
        return ComposedLayout, (x.inner,), [x.offset, x.outer], None
    if isinstance(x, ScaledBasis):
        return ScaledBasis, (x.mode,), [x.value], None
    if dataclasses.is_dataclass(x) and not isinstance(x, type):
        names = tuple(f.name for f in dataclasses.fields(x))
        return type(x), names, [getattr(x, n) for n in names], x
    return None


def items_of(plan: Built | Parts, obj: Any) -> list[Any]:
    """What the inner plans of a plan stand for in an object that it fits."""
    if isinstance(plan, Built):
        state = plan.session.state(obj, plan.session.path)
        return [state[k] for k in plan.keys]
    split = _split(obj)
    assert split is not None
    return split[2]


def _join(kind: Any, keys: tuple[Any, ...], parts: list[Any], extra: Any) -> Any:
    if kind in (tuple, list):
        return kind(parts)
    if issubclass(kind, tuple):  # a NamedTuple
        return kind(*parts)
    if kind is TracedTensor:
        return TracedTensor(*parts)
    if kind is Layout:
        return Layout(*parts)
    if kind is ComposedLayout:
        return ComposedLayout(keys[0], *parts)
    if kind is ScaledBasis:
        return ScaledBasis(parts[0], keys[0])
    new = object.__new__(kind)  # a dataclass: fields may be frozen, and __init__ may compute
    for name, value in vars(extra).items() if hasattr(extra, "__dict__") else ():
        object.__setattr__(new, name, value)
    for name, value in zip(keys, parts, strict=True):
        object.__setattr__(new, name, value)
    return new


def _same(a: Any, b: Any) -> bool:
    if a is b:
        return True
    try:
        equal = a == b
    except Exception:
        return False
    return type(a) is type(b) and equal is True


# ---------------------------------------------------------------- making plans
def plan_for(*objs: Any, dynamic: bool = False, session: Session | None = None) -> Plan:
    """A plan that fits all objects.

    Args:
        objs: the objects, one per path.
        dynamic: make Python numbers SSA values even when they are equal, as loops need.
        session: what the plans of one statement share; None: of one call.

    Raises:
        NoJoin: their structures differ, or they are static and not equal.
    """
    first = objs[0]
    if session is None:
        session = Session()
    if any(isinstance(o, Unbound) for o in objs):
        return Static(next(o for o in objs if isinstance(o, Unbound)))
    if len(objs) > 1 and not dynamic and all(o is first for o in objs):
        return Static(first)
    objs = tuple(map(number_in, objs))
    first = objs[0]
    if is_mutable(first):
        return _heap(objs, dynamic, session)
    if any(isinstance(o, TensorSSA) for o in objs):
        return _vector(objs)
    if all(_is_number(o) for o in objs):
        return _number(objs, dynamic)
    if isinstance(first, Descriptor):
        return _descriptor(objs, session)
    if isinstance(first, Pointer) and isinstance(first.value.type, PtrType):
        return _pointer(objs)
    if isinstance(first, Stream):
        return StreamPlan()
    if isinstance(first, Value):
        return _raw_values(objs)
    if _is_custom(first):
        return _custom(objs, session)
    split = _split(first)
    if split is not None:
        return _parts(objs, dynamic, session)
    if all(_same(first, o) for o in objs):
        return Static(first)
    raise NoJoin(
        "a variable has values that cannot be joined", expected=_show(first),
        found=next(_show(o) for o in objs if not _same(first, o)),
        hint="decide at compile time with const_expr(), or give the variable numbers or tensors "
        "of one structure on every path",
    )  # fmt: skip


def _is_custom(x: Any) -> bool:
    """Whether an object, not a class, says itself what it consists of."""
    if isinstance(x, type | TracedTensor | Numeric):
        return False
    return hasattr(x, "__extract_mlir_values__") and hasattr(x, "__new_from_mlir_values__")


def _custom(objs: tuple[Any, ...], session: Session) -> Plan:
    trees = [o.__extract_mlir_values__() for o in objs if hasattr(o, "__extract_mlir_values__")]
    if len(trees) != len(objs):
        raise NoJoin("objects of different structure cannot be joined", expected=_show(objs[0]),
                     found=_show(objs[-1]))  # fmt: skip
    other = next((t for t in trees if form(t) != form(trees[0])), None)
    if other is not None:
        here, there = difference(trees[0], other)
        name = type(objs[0]).__name__
        raise NoJoin("objects of different structure cannot be joined",
                     expected=f"{name}: {here}", found=f"{name}: {there}")  # fmt: skip
    return Custom(objs[0], [v.type for v in leaves(trees[0])], session)


def _raw_values(objs: tuple[Any, ...]) -> Plan:
    first = objs[0]
    if any(not isinstance(o, Value) or o.type != first.type for o in objs):
        raise NoJoin("values of different types cannot be joined", expected=_show(first),
                     found=_show(objs[-1]))  # fmt: skip
    return Raw(first.type)


def _heap(objs: tuple[Any, ...], dynamic: bool, session: Session) -> Plan:
    """A plan for objects that can change."""
    first = objs[0]
    same = all(o is first for o in objs)
    if same and id(first) in session.known:
        return Static(first)
    paths = session.paths if session.paths is not None else tuple(range(len(objs)))
    key = paths, tuple(map(id, objs))
    if key in session.made:
        return Again(session.made[key])
    if _is_custom(first):
        return _custom(objs, session)
    states = [
        session.state(o, p) if is_mutable(o) else {} for p, o in zip(paths, objs, strict=True)
    ]
    for o, state in zip(objs, states, strict=True):
        if type(o) is not type(first) or list(state) != list(states[0]):
            raise NoJoin("objects of different structure cannot be joined",
                         expected=_show(first), found=_show(o))  # fmt: skip
    plan = session.made[key] = Built(objs, session, paths, tuple(states[0]))
    inner = dynamic and isinstance(first, list | dict)
    plan.plans = [
        plan_for(*(s[k] for s in states), dynamic=inner, session=session) for k in plan.keys
    ]
    return plan


def _show(x: Any) -> str:
    return f"{type(x).__name__} {str(x)[:60]}"


def _is_number(x: Any) -> bool:
    return isinstance(x, Numeric | bool | int | float) or _is_scalar(x)


def _is_scalar(x: Any) -> bool:
    """Whether this is a NumPy scalar that has a type of the language."""
    return isinstance(plain_kind(x), DType)


def _number(objs: tuple[Any, ...], dynamic: bool) -> Plan:
    objs = tuple(as_numeric(o) if _is_scalar(o) else o for o in objs)
    if not dynamic and not any(isinstance(o, Numeric) and o.is_dynamic for o in objs):
        if all(_same(objs[0], o) for o in objs):
            return Static(objs[0])
        if all(isinstance(o, Numeric) and type(o) is type(objs[0]) for o in objs) and all(
            o.value == objs[0].value for o in objs
        ):
            return Static(objs[0])
    cls: Any = type(as_numeric(objs[0]))
    typed = [o for o in objs if isinstance(o, Numeric)]
    if typed:
        cls = type(typed[0])
    for o in objs:
        cls = ops.promoted(cls(0), o) or cls
    div = 0
    nonneg = not cls.dtype.is_float
    for o in objs:
        d = o.div if isinstance(o, Numeric) and o.is_dynamic else 0
        v = o.value if isinstance(o, Numeric) else o
        div = math.gcd(div, d or (abs(int(v)) if not cls.dtype.is_float else 1))
        nonneg = nonneg and bool(o.nonneg if isinstance(o, Numeric) and o.is_dynamic else v >= 0)
    if dynamic:
        return Number(cls)
    index = not cls.dtype.is_float and all(facts.is_index(as_numeric(o)) for o in objs)
    return Number(cls, max(div, 1), nonneg, index)


def _vector(objs: tuple[Any, ...]) -> Plan:
    vectors = [o for o in objs if isinstance(o, TensorSSA)]
    cls = vectors[0].dtype
    for o in objs:
        if not isinstance(o, TensorSSA) and not _is_number(o):
            raise NoJoin("a vector and another object cannot be joined", expected=_show(vectors[0]),
                         found=_show(o))  # fmt: skip
        other: Any = o.dtype(0) if isinstance(o, TensorSSA) else o
        promoted: Any = ops.promoted(cls(0), other)  # type: ignore[operator]
        cls = promoted
        if isinstance(o, TensorSSA) and o.shape != vectors[0].shape:
            raise NoJoin("vectors of different shapes cannot be joined",
                         expected=_show(vectors[0]), found=_show(o))  # fmt: skip
    return Vector(vectors[0].shape, cls)


def _descriptor(objs: tuple[Any, ...], session: Session) -> Plan:
    first = objs[0]
    if not all(isinstance(o, Descriptor) and o.kind == first.kind for o in objs):
        raise NoJoin("matrix descriptors of different tiles cannot be joined",
                     expected=_show(first), found=_show(objs[-1]))  # fmt: skip
    return Custom(first, [I32], session)


def _pointer(objs: tuple[Any, ...]) -> Plan:
    types: list[Any] = [o.value.type if isinstance(o, Pointer) else None for o in objs]
    if any(
        t is None or dataclasses.replace(t, align=1) != dataclasses.replace(types[0], align=1)
        for t in types
    ):
        raise NoJoin("pointers of different types cannot be joined", expected=_show(objs[0]),
                     found=_show(objs[-1]))  # fmt: skip
    align = math.gcd(*(t.align for t in types))
    return Ptr(dataclasses.replace(types[0], align=align), objs[0].dtype)


def _parts(objs: tuple[Any, ...], dynamic: bool, session: Session) -> Plan:
    splits = [_split(o) for o in objs]
    first = splits[0]
    assert first is not None
    kind, keys, parts, extra = first
    for o, s in zip(objs, splits, strict=True):
        if s is None or s[0] is not kind or s[1] != keys:
            raise NoJoin("objects of different structure cannot be joined",
                         expected=_show(objs[0]), found=_show(o))  # fmt: skip
    # Integers inside layouts and coordinates of static objects stay what they are.
    inner = dynamic and kind in (tuple, list, dict)
    columns = [tuple(s[2][i] for s in splits if s is not None) for i in range(len(parts))]
    plans = [plan_for(*column, dynamic=inner, session=session) for column in columns]
    if all(isinstance(p, Static) for p in plans) and all(o is objs[0] for o in objs):
        return Static(objs[0])
    if kind is Layout and all(is_static(o) for o in objs) and all(_same(objs[0], o) for o in objs):
        return Static(objs[0])
    return Parts(kind, keys, plans, extra)
