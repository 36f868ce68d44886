# SPDX-FileCopyrightText: 2026 The OpenCuTe authors
# SPDX-License-Identifier: Apache-2.0
"""`copy`, `gemm` and their kin: atoms applied to partitioned tensors."""

from __future__ import annotations

from typing import Any

from opencute import layout as la
from opencute.arch.sparse import SparseMmaAtom
from opencute.arch.wgmma import WgmmaAtom
from opencute.base.errors import LayoutError, TypeMismatchError
from opencute.base.suggest import did_you_mean
from opencute.dialects import cute
from opencute.dialects import tiled as tiled_dialect
from opencute.lang.hopper import wgmma
from opencute.lang.mlir.control import for_generate, yield_out
from opencute.lang.numbers import Boolean
from opencute.lang.pointers import AddressSpace, Pointer, element_bits
from opencute.lang.tensors import TracedTensor, addressed, grouped, tile
from opencute.lang.tiled import sparse
from opencute.lang.tiled.atoms import CopyAtom, MmaAtom
from opencute.lang.tiled.hints import HINTS, check_hints, hints_of, with_policy
from opencute.lang.tiled.operations import CopyUniversalOp
from opencute.layout import ComposedLayout, Layout, make_layout

__all__ = [
    "autovec_copy",
    "basic_copy",
    "basic_copy_if",
    "copy",
    "copy_atom_call",
    "gemm",
    "mma_atom_call",
    "operand",
]


# ---------------------------------------------------------------- copies
def operand(who: str, name: str, x: Any) -> TracedTensor:
    """A tensor in memory with a plain layout of static shape.

    Args:
        who: the function whose operand it is.
        name: the operand.
        x: what was given.
    """
    if not isinstance(x, TracedTensor) or not isinstance(x.iterator, Pointer):
        raise TypeMismatchError(
            f"{who}: {name} is not a tensor in memory", code="OC1236", found=str(x)
        )
    if not la.is_static(x.layout.shape):
        raise LayoutError(
            f"{who}: {name} needs a static shape", code="OC1362", found=x.layout,
            hint="tile or slice it to compile-time extents",
        )  # fmt: skip
    return TracedTensor(*addressed(x, who))


# Keywords of `copy` for the atoms that have them.
_OPTIONS = ("cache_policy", "mbar_ptr", "mcast_mask", "tma_bar_ptr", "tma_desc_ptr")


def _known(who: str, options: dict[str, Any], known: tuple[str, ...]) -> None:
    for name in options:
        if name not in known:
            raise TypeMismatchError(
                f"{who}() has no argument {name!r}", code="OC1267", expected=", ".join(known),
                hint=did_you_mean(name, known) or None,
            )  # fmt: skip


def copy(
    atom: Any, src: Any, dst: Any, *, pred: Any = None, unroll_factor: int | None = None,
    loc: Any = None, ip: Any = None, **options: Any,
) -> None:  # fmt: skip
    """Copy `src` to `dst` by an atom.

    Args:
        atom: a CopyAtom, TiledCopy or ThrCopy.
        src: tensor of shape (V, Rest...).
        dst: tensor with as many elements, or with as many uses of the atom.
        pred: Boolean register tensor with one entry per use of the atom (per coordinate of Rest),
            or one per element; what its entry forbids is neither read nor written.
        unroll_factor: how many uses of the atom stand in the body of a loop over all of them; none
            is left out when omitted, or where registers take part, which have no addresses.
        options: what atoms of the copy unit take. Of tensor maps: ``tma_bar_ptr=`` (loads: the
            mbarrier that counts the bytes), ``mcast_mask=`` (multicast loads: the blocks that get
            the tile), ``tma_desc_ptr=`` (another tensor map); a whole warp calls these, and the
            copy elects a thread. Of bulk copies: ``mbar_ptr=`` and ``mcast_mask=``; each thread
            that calls these starts a copy, so one calls, such as within ``elect_one()``. All of
            them, loads, stores and cp.async take ``cache_policy=``; for the last three it is known
            at compile time: its bits, or "evict_first", "evict_last", "evict_normal".

    Raises:
        LayoutError: sizes differ, a shape is not static, or alignment and layout do not suit the
            instruction.
        TypeMismatchError: element types or memory spaces do not fit.
    """
    if not isinstance(atom, CopyAtom):
        raise TypeMismatchError("copy: not a copy atom", code="OC1237", found=repr(atom))
    _known("copy", options, ("pred", "unroll_factor", *_OPTIONS))
    own = getattr(atom, "copy_tensors", None)
    if own is not None:  # an atom that knows itself what it copies, and how
        own(src, dst, pred, **options)
        return
    if options.get("cache_policy") is not None:
        atom = _with_policy(atom, options["cache_policy"])
    s, d = operand("copy", "src", src), operand("copy", "dst", dst)
    if s.element_type is not d.element_type:
        raise TypeMismatchError(
            "copy: element types differ", code="OC1238",
            expected=s.element_type, found=d.element_type,
            hint="load, convert with .to(...), and store",
        )  # fmt: skip
    if atom.record.spaces:
        _copy_by_instruction(atom, s, d, pred, unroll_factor)
    else:
        _copy_universal(atom, s, d, pred, unroll_factor)


def _with_policy(atom: CopyAtom, policy: Any) -> CopyAtom:
    hints = with_policy(atom.hints, policy)
    check_hints(atom.op, atom.record, hints)
    return CopyAtom(atom.op, atom.value_type, atom.num_bits, hints)


def _emit(atom: CopyAtom, s: TracedTensor, d: TracedTensor, p: Any, factor: int | None) -> None:
    """The operation for tensors (V, rest), in a loop over the rest if so many uses are enough."""
    name, bits, hints = atom.record.name, atom.num_bits, atom.hints
    count = la.size(s.layout, mode=[1])
    if factor is None or not rolls(s, d, p, count, factor):
        cute.copy(name, bits, tile(s), tile(d), p, hints)
        return

    def one(at: Any) -> None:
        sides = [
            TracedTensor(
                x.iterator + x.layout[1](at),
                make_layout(x.layout[0], make_layout(1, stride=0)),
            )
            for x in (s, d)
        ]
        cute.copy(name, bits, tile(sides[0]), tile(sides[1]), None, hints)

    for turn in for_generate(count // factor):
        for k in range(factor):
            one(turn * factor + k)
        yield_out([])
    for k in range(count - count % factor, count):
        one(k)


def rolls(s: TracedTensor, d: TracedTensor, pred: Any, count: int, factor: Any) -> bool:
    """Whether `count` uses of an atom are written as a loop of `factor` of them."""
    if not isinstance(factor, int) or isinstance(factor, bool) or factor < 1:
        raise TypeMismatchError(
            "copy: unroll_factor is a positive number known at compile time", code="OC1615",
            found=repr(factor),
        )  # fmt: skip
    registers = AddressSpace.rmem in (s.memspace, d.memspace)
    return pred is None and not registers and factor < count == la.size(d.layout, mode=[1])


def _copy_universal(
    atom: CopyAtom, s: TracedTensor, d: TracedTensor, pred: Any, factor: int | None
) -> None:
    _same_size(la.size(s.layout), la.size(d.layout), s, d)
    units = atom.num_values if atom.num_bits else 0
    if units and all(la.size(x.layout, mode=[0]) % units == 0 for x in (s, d)):
        s, d = _by_units(s, units), _by_units(d, units)
    s, d = grouped(s), grouped(d)
    p = None if pred is None else tile(_predicate(pred, s))
    _emit(atom, s, d, p, factor)


def _same_size(a: Any, b: Any, s: TracedTensor, d: TracedTensor) -> None:
    if a != b:
        raise LayoutError(
            "copy: source and destination differ in size", code="OC1363",
            expected=s.layout, found=d.layout,
        )  # fmt: skip


def _by_units(t: TracedTensor, values: int) -> TracedTensor:
    """(V, Rest...) as (values of one atom, everything else)."""
    layout = t.layout
    first, rest = layout, []
    if la.rank(layout) > 1:
        first, rest = layout[0], [layout[i] for i in range(1, la.rank(layout))]
    divided = la.logical_divide(first, values)
    return TracedTensor(t.iterator, make_layout(divided[0], make_layout(divided[1], *rest)))


def _copy_by_instruction(
    atom: CopyAtom, s: TracedTensor, d: TracedTensor, pred: Any, factor: int | None
) -> None:
    """An instruction that fixes what each side of one use of it is."""
    record = atom.record
    spaces = (s.memspace.name, d.memspace.name)
    if spaces not in record.spaces:
        raise TypeMismatchError(
            f"copy: {atom.op} does not copy between these memory spaces", code="OC1277",
            expected=" or ".join(f"{a} to {b}" for a, b in record.spaces),
            found=f"{spaces[0]} to {spaces[1]}",
        )  # fmt: skip
    counts = [la.size(layout, mode=[1]) for layout in (atom.layout_src_tv, atom.layout_dst_tv)]
    sides: list[TracedTensor] = []
    for name, side, values in zip(("src", "dst"), (s, d), counts, strict=True):
        size = la.size(side.layout if la.rank(side.layout) == 1 else side.layout[0])
        if size % values:
            raise LayoutError(
                f"copy: the first mode of {name} is no multiple of the atom's values",
                code="OC1376", expected=f"a multiple of {values}", found=side.layout,
                hint="partition or retile the tensor by a tiled copy of this atom",
            )  # fmt: skip
        sides.append(_by_units(side, values))
    s, d = sides
    _same_size(la.size(s.layout, mode=[1]), la.size(d.layout, mode=[1]), s, d)
    if record.grain:
        memory = s if record.loads else d
        _runs(atom, memory, 128, "a row of a matrix")
    else:
        _runs(atom, s, atom.num_bits, "the source")
        _runs(atom, d, atom.num_bits, "the destination")
    p = None if pred is None else tile(_unit_predicate(pred, s))
    _emit(atom, s, d, p, factor)


def _runs(atom: CopyAtom, t: TracedTensor, bits: int, what: str) -> None:
    """Check that one use of the instruction moves neighbours from an aligned address."""
    values = t.layout[0]
    run = la.coalesce(values)
    n = la.size(values)
    if n > 1 and (la.rank(run) != 1 or run.stride != 1):
        raise LayoutError(
            f"copy: {atom.op}: the elements of {what} are no neighbours", code="OC1377",
            expected=f"{n}:1", found=values, hint=_other_majors(atom),
        )  # fmt: skip
    steps = [t.iterator.alignment]
    width = element_bits(t.element_type)
    for d in la.flatten_to_tuple(t.layout[1].stride):
        known = d if isinstance(d, int) else d.divisibility
        steps += [abs(known) * width // 8] if known else []
    align = min(x & -x for x in steps)
    if align * 8 < bits:
        raise LayoutError(
            f"copy: {atom.op}: {what} is not known to be aligned", code="OC1378",
            expected=f"multiples of {bits // 8} bytes",
            found=f"{t.iterator} with {t.layout}: {align} bytes",
            hint="align the tensor (assumed_align, byte_alignment, .align()) or copy fewer bits",
        )  # fmt: skip


def _other_majors(atom: CopyAtom) -> str:
    """What to do where the elements that an instruction takes together are no neighbours."""
    record = atom.record
    if record.grain != 16:
        return "choose a thread-value layout along the mode of stride 1"
    op = "LdMatrix" if record.loads else "StMatrix"
    if record.trans:
        return (
            "transpose=True is for matrices whose columns are contiguous in shared memory; where "
            f"rows are, as here, take {op}8x8x16bOp(transpose=False, ...)"
        )
    return (
        "without transpose the rows of matrices are contiguous in shared memory; where columns "
        f"are, as of an operand that is major in M or N, take {op}8x8x16bOp(transpose=True, ...)"
    )


def _check_predicate(pred: Any) -> TracedTensor:
    if not isinstance(pred, TracedTensor) or pred.element_type is not Boolean:
        raise TypeMismatchError(
            "copy: pred must be a Boolean tensor", code="OC1239", found=str(pred)
        )
    return pred


def _unit_predicate(pred: Any, src: TracedTensor) -> TracedTensor:
    p, units = _check_predicate(pred), la.size(src.layout, mode=[1])
    if la.size(p.layout) != units:
        raise LayoutError(
            "copy: pred does not fit", code="OC1364",
            expected=f"{units} entries, one per use of the instruction", found=p.layout,
        )  # fmt: skip
    return p


def _predicate(pred: Any, src: TracedTensor) -> TracedTensor:
    p = _check_predicate(pred)
    total, rest = la.size(src.layout), la.size(src.layout, mode=[1])
    if la.size(p.layout) == total and (total != rest or la.rank(p.layout) == 1):
        return grouped(p)
    if la.size(p.layout) == rest:
        return p
    if la.size(p.layout) == total:
        return grouped(p)
    raise LayoutError(
        "copy: pred does not fit", code="OC1364",
        expected=f"{rest} entries (one per rest coordinate) or {total} (one per element)",
        found=p.layout,
    )  # fmt: skip


def copy_atom_call(
    atom: Any, src: Any, dst: Any, *, pred: Any = None, loc: Any = None, ip: Any = None,
    **options: Any,
) -> None:  # fmt: skip
    """One use of a copy atom: tensors of the atom's values.

    Args:
        atom: a CopyAtom or TiledCopy.
        src: tensor of shape (V) or (V, 1, ...).
        dst: tensor of shape (V) or (V, 1, ...).
        pred: a Boolean tensor of one entry.
        options: as of `copy`.
    """
    copy(atom, src, dst, pred=pred, **options)


def _auto(src: Any, **options: Any) -> CopyAtom:
    if not isinstance(src, TracedTensor):
        raise TypeMismatchError(
            "copy: src is not a tensor in memory", code="OC1236", found=str(src)
        )
    return CopyAtom(CopyUniversalOp(), src.element_type, 0, hints_of(**options))


def autovec_copy(src: Any, dst: Any, *, loc: Any = None, ip: Any = None, **options: Any) -> None:
    """Copy with the widest accesses that alignment and both layouts allow.

    Args:
        src: tensor.
        dst: tensor with as many elements.
        options: memory order and cache hints, as of `make_copy_atom`.
    """
    _known("autovec_copy", options, HINTS)
    copy(_auto(src, **options), src, dst)


def basic_copy(src: Any, dst: Any, *, loc: Any = None, ip: Any = None) -> None:
    """Copy element by element; as fast accesses as alignment allows are still used.

    Args:
        src: tensor.
        dst: tensor with as many elements.
    """
    copy(_auto(src), src, dst)


def basic_copy_if(pred: Any, src: Any, dst: Any, *, loc: Any = None, ip: Any = None) -> None:
    """Copy the elements whose predicate holds.

    Args:
        pred: a Boolean tensor with one entry per element.
        src: tensor.
        dst: tensor with as many elements.
    """
    copy(_auto(src), src, dst, pred=pred)


# ---------------------------------------------------------------- matrix products
def gemm(
    atom: Any, d: Any, a: Any, b: Any, c: Any, *, loc: Any = None, ip: Any = None, **options: Any
) -> None:
    """``d = a * b + c`` on fragments, by an MMA atom or a tiled MMA.

    Args:
        atom: an MmaAtom, TiledMma or ThrMma.
        d: (V), (V, M, N), or (M, N).
        a: (V), (V, M), (V, M, K), or (M), (M, K) for an atom of one value; of a sparse A
            ``[a, e]``: the kept elements and their metadata.
        b: as a, with N for M.
        c: as d; often the same tensor.
        options: there are none; another keyword is refused.

    Raises:
        TypeMismatchError: element types or memory spaces that the atom does not take.
        LayoutError: shapes that do not fit the atom or each other.
    """
    _known("gemm", options, ())
    if not isinstance(atom, MmaAtom):
        raise TypeMismatchError(
            "gemm: not an MMA atom", code="OC1278", found=repr(atom),
            expected="what make_mma_atom or make_tiled_mma gives",
        )  # fmt: skip
    op, e = atom.op, None
    if hasattr(op, "metadata_layout"):
        a, e = sparse.split_operand(op, a)
    if isinstance(atom.record, WgmmaAtom):
        words = None if e is None else sparse.metadata_words(e)
        wgmma.gemm(atom, d, a, b, c, _three_modes, words)
        return
    types = (op.acc_dtype, op.a_dtype, op.b_dtype, op.acc_dtype)
    operands = [
        _fragment(name, x, t) for name, x, t in zip("dabc", (d, a, b, c), types, strict=True)
    ]
    layouts = _three_modes([x.layout for x in operands])
    record = atom.record
    _check_shapes(record, layouts)
    if e is not None:
        assert isinstance(record, SparseMmaAtom)
        sparse.gemm(record, operands, layouts, e)
        return
    tiles = [
        tile(TracedTensor(x.iterator, layout)) for x, layout in zip(operands, layouts, strict=True)
    ]
    tiled_dialect.gemm(record.name, *tiles)


def mma_atom_call(
    atom: Any, d: Any, a: Any, b: Any, c: Any, *, loc: Any = None, ip: Any = None, **options: Any
) -> None:
    """One use of an MMA atom: fragments of the atom's values.

    Args:
        atom: the MMA atom.
        d: the fragment of the result.
        a: that of A.
        b: that of B.
        c: that of what is added; often the same tensor as `d`.
        options: there are none.
    """
    gemm(atom, d, a, b, c, **options)


def _fragment(name: str, x: Any, dtype: Any) -> TracedTensor:
    if not isinstance(x, TracedTensor) or not isinstance(x.iterator, Pointer):
        raise TypeMismatchError(f"gemm: {name} is no tensor in memory", code="OC1279", found=str(x))
    if x.element_type is not dtype:
        raise TypeMismatchError(
            f"gemm: the atom does not take {name}", code="OC1280",
            expected=dtype, found=x.element_type,
            hint="convert with .to(...), or recast_tensor where the bits are right already",
        )  # fmt: skip
    if x.memspace != AddressSpace.rmem:
        raise TypeMismatchError(
            f"gemm: {name} is not in registers", code="OC1281", found=str(x),
            hint="copy it to a fragment (make_fragment_A, make_fragment_B) first",
        )  # fmt: skip
    if isinstance(x.layout, ComposedLayout) or not la.is_static(x.layout):
        raise LayoutError(f"gemm: {name} has no static plain layout", code="OC1379", found=x.layout)
    return x


def _three_modes(layouts: list[Layout]) -> list[Layout]:
    """(V, M, N), (V, M, K), (V, N, K), (V, M, N) of operands in one of the accepted forms."""
    d, a, b, c = layouts
    one = Layout(1, 0)
    ranks = tuple(la.rank(x) for x in layouts)
    if ranks == (3, 3, 3, 3):
        return layouts
    if ranks == (3, 2, 2, 3):
        return [d, make_layout(a[0], a[1], one), make_layout(b[0], b[1], one), c]
    if ranks == (1, 1, 1, 1):
        return [make_layout(x, one, one) for x in layouts]
    if ranks == (2, 1, 1, 2):
        (a, b) = (make_layout(one, x, one) for x in (a, b))
        return [make_layout(one, d[0], d[1]), a, b, make_layout(one, c[0], c[1])]
    if ranks == (2, 2, 2, 2):
        return [make_layout(one, x[0], x[1]) for x in layouts]
    raise LayoutError(
        "gemm: the ranks of the operands do not fit", code="OC1380",
        expected="(V,M,N) (V,M,K) (V,N,K) (V,M,N), or without K, or V alone",
        found=" ".join(str(x.shape) for x in layouts),
    )  # fmt: skip


def _check_shapes(record: Any, layouts: list[Layout]) -> None:
    d, a, b, c = ([la.size(x, mode=[i]) for i in range(3)] for x in layouts)
    va, vb, vc = record.values
    if [a[0], b[0], c[0], d[0]] != [va, vb, vc, vc]:
        raise LayoutError(
            "gemm: the first modes are not the atom's values", code="OC1381",
            expected=f"{va} of a, {vb} of b, {vc} of c and d",
            found=f"{a[0]} of a, {b[0]} of b, {c[0]} of c, {d[0]} of d",
        )  # fmt: skip
    if d != c or [a[1], b[1]] != d[1:] or a[2] != b[2]:
        raise LayoutError(
            "gemm: M, N or K of the operands differ", code="OC1382",
            expected="d (V,M,N), a (V,M,K), b (V,N,K), c (V,M,N)",
            found=" ".join(la.to_str(x.shape) for x in layouts),
        )  # fmt: skip
