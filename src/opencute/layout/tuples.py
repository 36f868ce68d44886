# SPDX-FileCopyrightText: 2026 The OpenCuTe authors
# SPDX-License-Identifier: Apache-2.0
"""Tuples as trees: take apart, regroup, walk. No arithmetic.

In: nested tuples with any leaves. Out: nested tuples::

    flatten(((1, 2), 3))                    # (1, 2, 3)
    group_tuple((1, 2, 3), 0, 2)            # ((1, 2), 3)
    unflatten((1, 2, 3), ((0, 0), 0))       # ((1, 2), 3)
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from typing import Any, cast

from opencute.layout.ints import fail, is_tuple, known_equal, to_str

__all__ = [
    "append_tuple",
    "congruent",
    "depth_of",
    "dice_tuple",
    "find",
    "find_if",
    "flatten_to_tuple",
    "flatten_tuple",
    "get_path",
    "group_tuple",
    "has_none",
    "insert",
    "mode_path",
    "prepend_tuple",
    "profile_of",
    "remove",
    "repeat",
    "repeat_like",
    "replace",
    "select_tuple",
    "slice_tuple",
    "transform_leaf",
    "unflatten",
    "unwrap",
    "weakly_congruent",
    "wrap",
    "zip2_by",
    "zip_tuples",
]


def wrap(t: Any) -> tuple[Any, ...]:
    """`t` if it is a tuple, else the tuple of `t` alone.

    Law: ``wrap(t)`` is a tuple, and ``wrap(wrap(t)) == wrap(t)``.

    Example:
        >>> cute.wrap(3)
        (3,)
    """
    return t if is_tuple(t) else (t,)


def unwrap(t: Any) -> Any:
    """The content of nested one-element tuples.

    Law: ``unwrap((t,)) == unwrap(t)``.

    Example:
        >>> cute.unwrap(((3,),))
        3
    """
    while is_tuple(t) and len(t) == 1:
        t = t[0]
    return t


def flatten_to_tuple(t: Any) -> tuple[Any, ...]:
    """All leaves from left to right; a leaf gives a tuple of one.

    Law: ``unflatten(flatten_to_tuple(t), t) == t``.

    Example:
        >>> cute.flatten_to_tuple((1, (2, 3)))
        (1, 2, 3)
    """
    if not isinstance(t, tuple):
        return (t,)
    whole = cast("tuple[Any, ...]", t)
    for i in whole:
        if isinstance(i, tuple):
            break
    else:
        return whole if type(whole) is tuple else tuple(whole)
    out: list[Any] = []
    for i in whole:
        if isinstance(i, tuple):
            out.extend(flatten_to_tuple(i))
        else:
            out.append(i)
    return tuple(out)


def flatten_tuple(t: Any) -> Any:
    """All leaves from left to right; a leaf stays a leaf.

    Law: ``depth(flatten(t)) <= 1`` and the product stays.
    """
    return flatten_to_tuple(t) if is_tuple(t) else t


def unflatten(flat: Iterable[Any], profile: Any) -> Any:
    """Arrange leaves in the profile of `profile`.

    Law: ``flatten_to_tuple(unflatten(f, p)) == f`` and the result is congruent to ``p``.
    """
    items = tuple(flat)
    need = len(flatten_to_tuple(profile))
    if len(items) != need:
        fail("OC1306", f"unflatten: {len(items)} leaves for the profile {to_str(profile)}",
             expected=f"{need} leaves", found=to_str(items))  # fmt: skip
    it = iter(items)

    def build(p: Any) -> Any:
        return tuple(build(i) for i in p) if is_tuple(p) else next(it)

    return build(profile)


def transform_leaf(f: Callable[..., Any], t: Any, *more: Any) -> Any:
    """Apply `f` at the leaves of `t`; further trees are walked along and may be deeper.

    Args:
        f: called with the leaves of all trees at a place.
        t: a tree of tuples.
        more: further trees.

    Law: ``flatten(transform_leaf(f, t)) == tuple(map(f, flatten(t)))``.

    Example:
        >>> cute.transform_leaf(lambda extent: extent + 1, (1, (2, 3)))
        (2, (3, 4))
    """
    if not is_tuple(t):
        return f(t, *more)
    for m in more:
        if not is_tuple(m) or len(m) != len(t):
            fail("OC1306", f"{to_str(t)} and {to_str(m)} differ in rank")
    return tuple(transform_leaf(f, *row) for row in zip(t, *more, strict=True))


def profile_of(t: Any) -> Any:
    """`t` with 0 at every leaf."""
    return repeat_like(0, t)


def repeat(x: Any, n: int) -> tuple[Any, ...]:
    """`n` times `x` as a tuple.

    Law: the rank is ``n`` and each mode is ``x``.

    Example:
        >>> cute.repeat(4, 3)
        (4, 4, 4)
    """
    return (x,) * n


def repeat_like(x: Any, target: Any) -> Any:
    """`x` at every leaf of `target` (a tuple, or something with a shape).

    Law: the result is congruent to ``target`` and all its leaves are ``x``.

    Example:
        >>> cute.repeat_like(1, (4, (8, 2)))
        (1, (1, 1))
    """
    shape = getattr(target, "shape", target)
    return tuple(repeat_like(x, i) for i in shape) if is_tuple(shape) else x


def congruent(a: Any, b: Any) -> bool:
    """Whether `a` and `b` have the same profile.

    Law: an equivalence; ``congruent(t, repeat_like(0, t))``.

    Example:
        >>> cute.congruent((1, (2, 3)), (4, (5, 6)))
        True
    """
    if type(a) is int and type(b) is int:
        return True
    a, b = getattr(a, "shape", a), getattr(b, "shape", b)
    if is_tuple(a) and is_tuple(b):
        return len(a) == len(b) and all(map(congruent, a, b))
    return is_tuple(a) == is_tuple(b)


def weakly_congruent(a: Any, b: Any) -> bool:
    """Whether `b` has the profile of `a` or refines it: leaves of `a` match anything.

    Law: a partial order on profiles; both ways round it is congruence.

    Example:
        >>> cute.weakly_congruent((1, 2), (4, (5, 6)))
        True
    """
    a, b = getattr(a, "shape", a), getattr(b, "shape", b)
    if is_tuple(a):
        return is_tuple(b) and len(a) == len(b) and all(map(weakly_congruent, a, b))
    return True


def depth_of(t: Any) -> int:
    """Levels of nesting: 0 for a leaf, 1 for a flat tuple."""
    if not is_tuple(t):
        return 0
    return 1 + max((depth_of(i) for i in t), default=0)


def mode_path(mode: int | Sequence[int] | None) -> tuple[int, ...]:
    """A `mode=` argument as a path of indices; None is the empty path."""
    if mode is None:
        return ()
    return (mode,) if isinstance(mode, int) else tuple(mode)


def get_path(t: Any, path: Iterable[int]) -> Any:
    """The subtree at `path`, one index per level.

    Raises:
        LayoutError: an index outside the tuple.
    """
    whole = t
    for i in path:
        if not is_tuple(t):
            t = (t,)
        if not -len(t) <= i < len(t):
            fail("OC1307", f"mode {i} is out of range: {to_str(whole)} has no such mode",
                 expected=f"a mode below {len(t)}")  # fmt: skip
        t = t[i]
    return t


def select_tuple(t: Any, modes: Iterable[int]) -> tuple[Any, ...]:
    """The top-level modes listed, in that order."""
    return tuple(get_path(t, (i,)) for i in modes)


def group_tuple(t: Any, begin: int, end: int) -> tuple[Any, ...]:
    """Modes ``begin`` to ``end - 1`` as one mode; ``end == -1`` means up to the last."""
    items = wrap(t)
    stop = len(items) if end == -1 else end
    if not 0 <= begin <= stop <= len(items):
        fail("OC1307", f"cannot group the modes [{begin}, {end}) of {to_str(t)}")
    if begin == stop:
        return items
    return (*items[:begin], items[begin:stop], *items[stop:])


def append_tuple(t: Any, x: Any, up_to_rank: int | None = None) -> tuple[Any, ...]:
    """`t` with `x` as one more mode, or with as many as `up_to_rank` needs."""
    items = wrap(t)
    return items + (x,) * _missing(items, up_to_rank)


def prepend_tuple(t: Any, x: Any, up_to_rank: int | None = None) -> tuple[Any, ...]:
    """Like `append_tuple`, at the front."""
    items = wrap(t)
    return (x,) * _missing(items, up_to_rank) + items


def _missing(items: tuple[Any, ...], up_to_rank: int | None) -> int:
    if up_to_rank is None:
        return 1
    if up_to_rank < len(items):
        fail("OC1307", f"{to_str(items)} already has more than {up_to_rank} modes")
    return up_to_rank - len(items)


def insert(t: Any, position: int, x: Any) -> tuple[Any, ...]:
    """`t` with `x` as a new mode at `position`.

    Law: ``remove(insert(t, i, x), i) == t``.

    Example:
        >>> cute.insert((2, 3), 1, 9)
        (2, 9, 3)
    """
    items = wrap(t)
    if not 0 <= position <= len(items):
        fail("OC1307", f"cannot insert at {position} into {to_str(t)}")
    return (*items[:position], x, *items[position:])


def remove(t: Any, position: int) -> tuple[Any, ...]:
    """`t` without the mode at `position`.

    Law: ``remove(insert(t, i, x), i) == t``.
    """
    items = wrap(t)
    get_path(items, (position,))
    return items[:position] + items[position + 1 :]


def replace(t: Any, position: int, x: Any) -> tuple[Any, ...]:
    """`t` with the mode at `position` exchanged for `x`.

    Law: mode ``position`` of the result is ``x``, all others are those of ``t``.

    Example:
        >>> cute.replace((2, 3), 1, 9)
        (2, 9)
    """
    items = wrap(t)
    get_path(items, (position,))
    return (*items[:position], x, *items[position + 1 :])


def find_if(t: Any, predicate: Callable[[Any], bool]) -> int | None:
    """Index of the first top-level mode that fulfils `predicate`, or None.

    Args:
        t: a tuple.
        predicate: called with each mode in turn.

    Law: the mode found fulfils the predicate, and none before it does.

    Example:
        >>> cute.find_if((4, 8), lambda extent: extent > 4)
        1
    """
    return next((i for i, x in enumerate(wrap(t)) if predicate(x)), None)


def find(t: Any, x: Any) -> int | None:
    """Index of the first top-level mode that is certainly equal to `x`, or None.

    Args:
        t: a tuple.
        x: what is looked for.

    Law: the mode found is equal, and none before it is known to be.

    Example:
        >>> cute.find((4, 8, 4), 8)
        1
    """
    return find_if(t, lambda i: known_equal(i, x))


def has_none(t: Any) -> bool:
    """Whether None, the mark of a mode to keep, appears in a coordinate.

    Law: ``has_none(t) == (None in flatten_to_tuple(t))``.

    Example:
        >>> cute.has_none((None, 3))
        True
    """
    return any(has_none(i) for i in t) if is_tuple(t) else t is None


def _paired(crd: Any, t: Any, what: str) -> Iterable[tuple[Any, Any]]:
    if not is_tuple(t) or len(crd) != len(t):
        fail("OC1308", f"{what}: the coordinate {to_str(crd)} does not fit {to_str(t)}",
             hint="one entry per mode; None keeps a mode whole")  # fmt: skip
    return zip(crd, t, strict=True)


def slice_tuple(crd: Any, t: Any) -> Any:
    """The parts of `t` whose coordinate is None.

    What remains of a mode that is partly kept takes its place, without a level of its own:
    ``(None, (None, 0))`` of ``(A, (B, C))`` is ``(A, B)``. A bare None gives `t` itself.
    """
    if crd is None:
        return t
    return _lift_slice(crd, t) if is_tuple(crd) else ()


def _lift_slice(crd: Any, t: Any) -> tuple[Any, ...]:
    if is_tuple(crd):
        return tuple(x for c, s in _paired(crd, t, "slice") for x in _lift_slice(c, s))
    return (t,) if crd is None else ()


def dice_tuple(crd: Any, t: Any) -> Any:
    """The parts of `t` whose coordinate is not None; the complement of `slice_tuple`."""
    if is_tuple(crd):
        return _lift_dice(crd, t)
    return () if crd is None else t


def _lift_dice(crd: Any, t: Any) -> tuple[Any, ...]:
    if is_tuple(crd):
        return tuple(x for c, s in _paired(crd, t, "dice") for x in _lift_dice(c, s))
    return () if crd is None else (t,)


def zip_tuples(*ts: Any) -> Any:
    """Transpose: mode i of the result holds mode i of every argument."""
    if all(is_tuple(t) for t in ts):
        if len({len(t) for t in ts}) > 1:
            fail("OC1306", "zip: ranks differ", found=", ".join(map(to_str, ts)))
        return tuple(zip(*ts, strict=True))
    return ts


def zip2_by(t: Any, guide: Any) -> tuple[Any, Any]:
    """Gather a tree of pairs, found at the leaves of `guide`, into a pair of trees.

    ``((A,a),((B,b),C))`` by ``(x,(y,))`` becomes ``((A,(B,)),(a,(b,C)))``: what `guide` does not
    reach goes to the second.
    """
    if not is_tuple(guide):
        first, second = t
        return first, second
    pairs = [zip2_by(i, g) for i, g in zip(t, guide, strict=False)]
    rest = tuple(t[len(guide) :])
    return tuple(p[0] for p in pairs), tuple(p[1] for p in pairs) + rest
