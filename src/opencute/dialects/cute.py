# SPDX-FileCopyrightText: 2026 The OpenCuTe authors
# SPDX-License-Identifier: Apache-2.0
"""Pointers with an element type, tiles of memory described by layouts, and copies between them.

A tile is a pointer plus a layout. The layout is an attribute whose static integers are written out;
each dynamic integer stands as ``?`` and is an operand, shape leaves first, then stride leaves, both
in order::

    %v = "cute.tile_load"(%p, %n) {layout = #cute.layout<"(8,1):(1,?{i64})">}
         : (!cute.ptr<f16, gmem, align<16>>, i64) -> vector<8xf16>

Offsets are counted in elements. An i1 element takes one byte of memory.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any, cast

from opencute.arch.copies import COPY_ATOMS
from opencute.arch.hints import AccessHints
from opencute.base.errors import ArgumentError, VerificationError
from opencute.ir.attributes import (
    Attribute,
    DenseI32Attr,
    IntAttr,
    StringAttr,
    quote,
)
from opencute.ir.builder import build, build1, known_here
from opencute.ir.core import Op, OpResult, Value
from opencute.ir.declare import (
    ANY,
    SCALAR_INT,
    Trait,
    attr,
    op,
    operand,
    optional,
    result,
    type_is,
    variadic,
)
from opencute.ir.syntax import Syntax, register_attr_parser, register_type_parser
from opencute.ir.types import I32, I64, IntegerType, Type, VectorType, lanes, with_lanes

__all__ = [
    "POINTER",
    "ROUNDINGS",
    "SPACES",
    "Dyn",
    "LayoutAttr",
    "PtrType",
    "Tile",
    "alloca",
    "assume",
    "convert",
    "copy",
    "int_to_ptr",
    "load",
    "print_",
    "ptr_add",
    "ptr_to_int",
    "recast",
    "storage_bits",
    "store",
    "tile_load",
    "tile_store",
]

ROUNDINGS = ("rn", "rz", "rna", "rm", "rp", "rs")
SPACES = ("generic", "gmem", "smem", "rmem", "tmem", "dsmem")


def storage_bits(element: Type) -> int:
    """Bits that one element takes in memory."""
    width: int = getattr(element, "width")  # noqa: B009 - every element type has it
    return 8 if element == IntegerType(1) else width


@dataclass(frozen=True, eq=False)
class PtrType(Type):
    """A pointer to elements in a memory space.

    Args:
        element: what it points to.
        space: one of SPACES.
        align: known alignment of the address, in bytes.
        swizzle: (bits, base, shift), or () for none. An access goes to the address that this
            swizzle makes of the pointer's own, in bytes; arithmetic knows nothing of it.
    """

    element: Type
    space: str = "gmem"
    align: int = 1
    swizzle: tuple[int, ...] = ()

    def __str__(self) -> str:
        tail = f", S<{','.join(map(str, self.swizzle))}>" if self.swizzle else ""
        return f"!cute.ptr<{self.element}, {self.space}, align<{self.align}>{tail}>"


POINTER = type_is(PtrType, "cute pointer")


@dataclass(frozen=True)
class Dyn:
    """A dynamic integer's place in a layout attribute: its width and what divides it."""

    width: int = 32
    div: int = 1

    def __str__(self) -> str:
        facts = [
            f
            for f in ("i64" if self.width == 64 else "", f"div={self.div}" if self.div > 1 else "")
            if f
        ]
        return f"?{{{' '.join(facts)}}}" if facts else "?"


def _leaves(tree: Any) -> Iterator[Any]:
    if isinstance(tree, tuple):
        for item in cast("tuple[Any, ...]", tree):
            yield from _leaves(item)
    else:
        yield tree


def _text(tree: Any) -> str:
    if isinstance(tree, tuple):
        return f"({','.join(map(_text, cast('tuple[Any, ...]', tree)))})"
    return str(tree)


def _bind(tree: Any, values: Iterator[Any], wrap: Callable[[Any, Dyn], Any]) -> Any:
    if isinstance(tree, tuple):
        return tuple(_bind(item, values, wrap) for item in cast("tuple[Any, ...]", tree))
    return wrap(next(values), tree) if isinstance(tree, Dyn) else tree


@dataclass(frozen=True)
class LayoutAttr(Attribute):
    """A layout whose leaves are ints or `Dyn`."""

    shape: Any
    stride: Any

    def __str__(self) -> str:
        return f"#cute.layout<{quote(self.text())}>"

    def text(self) -> str:
        """``shape:stride``."""
        return f"{_text(self.shape)}:{_text(self.stride)}"

    def dyns(self) -> list[Dyn]:
        """The dynamic leaves in operand order."""
        leaves = [*_leaves(self.shape), *_leaves(self.stride)]
        return [x for x in leaves if isinstance(x, Dyn)]

    def bind(
        self, values: Sequence[Any], wrap: Callable[[Any, Dyn], Any] = lambda v, _: v
    ) -> tuple[Any, Any]:
        """Shape and stride with each dynamic leaf replaced by `wrap(value, leaf)`."""
        it = iter(values)
        return _bind(self.shape, it, wrap), _bind(self.stride, it, wrap)

    def static_size(self) -> int | None:
        """The number of elements, None if it is dynamic."""
        n = 1
        for leaf in _leaves(self.shape):
            if isinstance(leaf, Dyn):
                return None
            n *= leaf
        return n

    @staticmethod
    def parse(text: str) -> LayoutAttr:
        """The inverse of `text`; raises ValueError on anything else."""
        tokens = _LAYOUT_TOKEN.findall(text)
        if "".join(tokens) != text:
            raise ValueError(f"not a layout: {text!r}")
        tokens.append("")
        shape = _tree(tokens, 0)
        if tokens.pop(0) != ":":
            raise ValueError(f"not a layout: {text!r}")
        stride = _tree(tokens, 0)
        if tokens != [""]:
            raise ValueError(f"not a layout: {text!r}")
        return LayoutAttr(shape, stride)


_LAYOUT_TOKEN = re.compile(r"-?[0-9]{1,19}|\?(?:\{[^{}]*\})?|[(),:]")
_DYN = re.compile(r"\?(?:\{(i64)?(?: ?(?<=[{ ])div=([1-9][0-9]{0,18}))?\})?")
_MAX_NESTING = 50


def _tree(tokens: list[str], depth: int) -> Any:
    """One mode from the front of `tokens`, which it removes."""
    token = tokens.pop(0)
    if token == "(" and depth < _MAX_NESTING:
        if tokens[0] == ")":
            tokens.pop(0)
            return ()
        items = [_tree(tokens, depth + 1)]
        while tokens[0] == ",":
            tokens.pop(0)
            items.append(_tree(tokens, depth + 1))
        if tokens.pop(0) != ")":
            raise ValueError("a tuple in a layout is not closed")
        return tuple(items)
    if token[:1] == "?":
        facts = _DYN.fullmatch(token)
        if facts is None:
            raise ValueError(f"not a dynamic integer: {token!r}")
        return Dyn(64 if facts[1] else 32, int(facts[2] or 1))
    if token in ("", "(", ")", ",", ":"):
        raise ValueError("a mode of a layout is missing, or nested too deep")
    return int(token)


def _same_profile(a: Any, b: Any) -> bool:
    if isinstance(a, tuple) and isinstance(b, tuple):
        left, right = cast("tuple[Any, ...]", a), cast("tuple[Any, ...]", b)
        return len(left) == len(right) and all(map(_same_profile, left, right))
    return not isinstance(a, tuple) and not isinstance(b, tuple)


def _parse_pointer(s: Syntax) -> PtrType:
    s.expect("<")
    element = s.type()
    s.expect(",")
    space = s.ident()
    s.expect(",")
    s.expect("align")
    s.expect("<")
    align = s.integer()
    s.expect(">")
    swizzle = _parse_swizzle(s) if s.accept(",") else ()
    s.expect(">")
    if not hasattr(element, "width"):
        raise ValueError(f"{element} is no element of memory")
    if space not in SPACES:
        raise ValueError(f"{space} is no memory space; one of {', '.join(SPACES)}")
    if align < 1 or align & (align - 1):
        raise ValueError(f"alignment {align} is no power of two")
    return PtrType(element, space, align, swizzle)


def _parse_swizzle(s: Syntax) -> tuple[int, ...]:
    s.expect("S")
    s.expect("<")
    numbers = [s.integer()]
    while s.accept(","):
        numbers.append(s.integer())
    s.expect(">")
    if len(numbers) != 3 or min(numbers[:2]) < 0 or numbers[2] < numbers[0]:
        raise ValueError(f"S<{numbers}> is no swizzle of addresses: bits, base, shift >= bits")
    return tuple(numbers)


def _parse_layout(s: Syntax) -> LayoutAttr:
    s.expect("<")
    text = s.string()
    s.expect(">")
    return LayoutAttr.parse(text)


register_type_parser("cute.ptr", _parse_pointer)
register_attr_parser("cute.layout", _parse_layout)


def _check_dyns(op_: Op, key: str, values: Sequence[Value]) -> LayoutAttr:
    layout = op_.attributes[key]
    assert isinstance(layout, LayoutAttr)
    if not _same_profile(layout.shape, layout.stride):
        raise VerificationError(
            f"{op_.name}: {key}: shape and stride are nested differently",
            code="OC1444", loc=op_.loc, found=layout.text(),
        )  # fmt: skip
    want = [IntegerType(d.width) for d in layout.dyns()]
    if [v.type for v in values] != want:
        raise VerificationError(
            f"{op_.name}: {key} needs {len(want)} dynamic integers",
            code="OC1440", loc=op_.loc,
            expected=[str(t) for t in want], found=[str(v.type) for v in values],
        )  # fmt: skip
    return layout


def _check_tile(op_: Op, ptr: Value, vector: Value, dyns: Sequence[Value]) -> None:
    n = _check_dyns(op_, "layout", dyns).static_size()
    assert isinstance(ptr.type, PtrType)
    if vector.type != VectorType(n or 0, ptr.type.element):
        raise VerificationError(
            f"{op_.name}: vector and tile differ",
            code="OC1441", loc=op_.loc,
            expected=f"{n} elements of {ptr.type.element}", found=vector.type,
        )  # fmt: skip


@op("cute.ptr_add", Trait.PURE)
class PtrAddOp(Op):
    """The pointer `offset` elements further; the result type states the alignment that is left."""

    ptr = operand(POINTER)
    offset = operand(SCALAR_INT)
    out = result(POINTER)

    def verify(self) -> None:
        src, dst = self.ptr.type, self.out.type
        assert isinstance(src, PtrType) and isinstance(dst, PtrType)
        before, after = ((t.element, t.space, t.swizzle) for t in (src, dst))
        if before != after:
            raise VerificationError(
                "cute.ptr_add: element, space and swizzle stay as they are",
                code="OC1446", loc=self.loc, expected=src, found=dst,
            )  # fmt: skip


@op("cute.recast", Trait.PURE)
class RecastOp(Op):
    """The same address with another element type, space, alignment or swizzle."""

    ptr = operand(POINTER)
    out = result(POINTER)


@op("cute.ptr_to_int", Trait.PURE)
class PtrToIntOp(Op):
    """The address as an i64."""

    ptr = operand(POINTER)
    out = result(SCALAR_INT)


@op("cute.int_to_ptr", Trait.PURE)
class IntToPtrOp(Op):
    """An i64 as an address."""

    value = operand(SCALAR_INT)
    out = result(POINTER)


@op("cute.alloca", Trait.ALLOCATES)
class AllocaOp(Op):
    """`count` uninitialised elements in the thread's registers (space rmem)."""

    count = attr(IntAttr)
    out = result(POINTER)


@op("cute.load", Trait.READS)
class LoadOp(Op):
    """One element."""

    ptr = operand(POINTER)
    out = result(ANY)

    def verify(self) -> None:
        _check_element(self, self.operands[0], self.result)


@op("cute.store", Trait.WRITES)
class StoreOp(Op):
    """Write one element."""

    value = operand(ANY)
    ptr = operand(POINTER)

    def verify(self) -> None:
        _check_element(self, self.operands[1], self.operands[0])


def _check_element(op_: Op, ptr: Value, value: Value) -> None:
    assert isinstance(ptr.type, PtrType)
    if value.type != ptr.type.element:
        raise VerificationError(
            f"{op_.name}: pointer and value differ in type",
            code="OC1442", loc=op_.loc, expected=ptr.type.element, found=value.type,
        )  # fmt: skip


@op("cute.tile_load", Trait.READS)
class TileLoadOp(Op):
    """All elements of a tile, in the order of the layout's linear coordinate."""

    ptr = operand(POINTER)
    dyns = variadic(SCALAR_INT)
    layout = attr(LayoutAttr)
    out = result(ANY)

    def verify(self) -> None:
        _check_tile(self, self.operands[0], self.result, self.operands[1:])


@op("cute.tile_store", Trait.WRITES)
class TileStoreOp(Op):
    """Write all elements of a tile."""

    value = operand(ANY)
    ptr = operand(POINTER)
    dyns = variadic(SCALAR_INT)
    layout = attr(LayoutAttr)

    def verify(self) -> None:
        _check_tile(self, self.operands[1], self.operands[0], self.operands[2:])


@op("cute.copy", Trait.READS | Trait.WRITES)
class CopyOp(Op):
    """Copy a tile by an atom: element i of the source goes to element i of the destination.

    `atom` names a record of the arch package and `bits` its widest access (0: as wide as alignment
    and contiguity allow). Both layouts have the form (V, rest): a predicate, if there is one, has
    one i1 for each coordinate of rest, or for each coordinate of (V, rest). `hints` are the text of
    an `AccessHints`.
    """

    src = operand(POINTER)
    dst = operand(POINTER)
    pred = optional(POINTER)
    src_dyns = variadic(SCALAR_INT)
    dst_dyns = variadic(SCALAR_INT)
    pred_dyns = variadic(SCALAR_INT)
    atom = attr(StringAttr)
    bits = attr(IntAttr)
    src_layout = attr(LayoutAttr)
    dst_layout = attr(LayoutAttr)
    pred_layout = attr(LayoutAttr, required=False)
    hints = attr(StringAttr, required=False)

    def access_hints(self) -> AccessHints:
        """Memory order and cache hints."""
        return AccessHints.parse(self.hints.value if "hints" in self.attributes else "")

    def verify(self) -> None:
        self._check_hints()
        src = _check_dyns(self, "src_layout", self.src_dyns)
        dst = _check_dyns(self, "dst_layout", self.dst_dyns)
        if (self.pred is None) != ("pred_layout" not in self.attributes):
            raise VerificationError(
                "cute.copy: a predicate and its layout come together", code="OC1445", loc=self.loc
            )
        if self.pred is not None:
            _check_dyns(self, "pred_layout", self.pred_dyns)
        if self._units(src, self.src, 0) != self._units(dst, self.dst, 1):
            raise VerificationError(
                "cute.copy: source and destination differ in size",
                code="OC1443", loc=self.loc, expected=src.text(), found=dst.text(),
            )  # fmt: skip

    def _check_hints(self) -> None:
        try:
            hints = self.access_hints()
        except ArgumentError as e:
            raise VerificationError(
                f"cute.copy: {e.message}", code="OC1499", loc=self.loc, found=self.hints.value
            ) from None
        record = COPY_ATOMS.get(self.atom.value)
        if not hints or record is None:
            return
        spaces = [p.type.space for p in (self.src, self.dst) if isinstance(p.type, PtrType)]
        wrong = ""
        if record.cache:
            plain = AccessHints(prefetch=hints.prefetch, policy=hints.policy)
            wrong = "" if hints == plain else "cp.async takes an L2 prefetch and a policy only"
        elif record.spaces:
            wrong = f"{record.name} takes no hints"
        elif hints.sem == "acquire" and spaces[1] != "rmem":
            wrong = "a store does not acquire"
        elif hints.sem == "release" and spaces[0] != "rmem":
            wrong = "a load does not release"
        if wrong:
            raise VerificationError(
                f"cute.copy: {wrong}", code="OC1499", loc=self.loc, found=self.hints.value
            )

    def _units(self, layout: LayoutAttr, ptr: Value, side: int) -> Any:
        """How often the atom is used, by what one side has; elements where it moves plain runs."""
        record = COPY_ATOMS.get(self.atom.value)
        size, own = layout.static_size(), None if record is None else (record.src, record.dst)[side]
        if record is None or own is None or size is None:
            return size
        assert isinstance(ptr.type, PtrType)
        bits = own.size() // record.threads * record.grain
        return size * storage_bits(ptr.type.element) / bits


@op("cute.assume", Trait.PURE | Trait.SAME_TYPE)
class AssumeOp(Op):
    """The same integer, promised to be a multiple of `divby`; the simulator checks it."""

    value = operand(SCALAR_INT)
    divby = attr(IntAttr)
    out = result(SCALAR_INT)


@op("cute.convert", Trait.PURE)
class ConvertOp(Op):
    """A float conversion that arith cannot state: another rounding, saturation, or a narrow type.

    `rounding` is one of ROUNDINGS: nearest even, toward zero, nearest with ties away from zero,
    down, up, or stochastic, which takes an i32 of random bits for each element and adds as many of
    its low bits as are dropped. `saturate` clamps to the largest finite value.
    """

    value = operand(ANY)
    random = variadic()
    rounding = attr(StringAttr)
    saturate = attr(IntAttr)
    out = result(ANY)

    def verify(self) -> None:
        src, dst = self.value.type, self.out.type
        random = [with_lanes(I32, src)] if self.rounding.value == "rs" else []
        if (
            lanes(src) != lanes(dst)
            or self.rounding.value not in ROUNDINGS
            or [v.type for v in self.random] != random
        ):
            raise VerificationError(
                f"cute.convert: no conversion {self.rounding.value!r} from {src} to {dst}",
                code="OC1447", loc=self.loc, expected=f"equal lanes, one of {ROUNDINGS}",
            )  # fmt: skip


@op("cute.print", Trait.WRITES | Trait.READS)
class PrintOp(Op):
    """Print at run time: `format` is a C format (%d %u %lld %llu %f %s ...), one operand each."""

    args = variadic()
    format = attr(StringAttr)


def ptr_add(ptr: Value, offset: Value, align: int) -> OpResult:
    """`ptr` moved by `offset` elements; `align` is what is known of the result, in bytes."""
    known = known_here()
    key = (ptr, offset, align)
    if known is not None and (found := known.get(key)) is not None:
        return found
    t = ptr.type
    assert isinstance(t, PtrType)
    type = PtrType(t.element, t.space, align, t.swizzle)
    made = build1("cute.ptr_add", (ptr, offset), type)
    if known is not None:
        known[key] = made
    return made


def recast(ptr: Value, type: PtrType) -> OpResult:
    """The same address as another pointer type."""
    return build1("cute.recast", (ptr,), type)


def ptr_to_int(ptr: Value) -> OpResult:
    """The address as an i64."""
    return build1("cute.ptr_to_int", (ptr,), I64)


def int_to_ptr(value: Value, type: PtrType) -> OpResult:
    """An i64 as an address."""
    return build1("cute.int_to_ptr", (value,), type)


def alloca(element: Type, count: int, align: int = 16) -> OpResult:
    """Room for `count` elements in registers."""
    attrs = {"count": IntAttr(count, I64)}
    return build1("cute.alloca", (), PtrType(element, "rmem", align), attrs)


def load(ptr: Value) -> OpResult:
    """One element."""
    assert isinstance(ptr.type, PtrType)
    return build1("cute.load", (ptr,), ptr.type.element)


def store(value: Value, ptr: Value) -> Op:
    """Write one element."""
    return build("cute.store", (value, ptr))


def tile_load(ptr: Value, layout: LayoutAttr, dyns: Sequence[Value] = ()) -> OpResult:
    """All elements of a tile as a vector; the layout's size is static."""
    size = layout.static_size()
    assert isinstance(ptr.type, PtrType) and size is not None
    type = VectorType(size, ptr.type.element)
    return build1("cute.tile_load", (ptr, *dyns), type, {"layout": layout})


def tile_store(value: Value, ptr: Value, layout: LayoutAttr, dyns: Sequence[Value] = ()) -> Op:
    """Write all elements of a tile."""
    return build("cute.tile_store", (value, ptr, *dyns), (), {"layout": layout})


@dataclass(frozen=True)
class Tile:
    """A pointer, a layout, and the layout's dynamic integers."""

    ptr: Value
    layout: LayoutAttr
    dyns: tuple[Value, ...] = ()


def copy(
    atom: str, bits: int, src: Tile, dst: Tile, pred: Tile | None = None,
    hints: AccessHints | None = None,
) -> Op:  # fmt: skip
    """Copy `src` to `dst` where `pred` holds."""
    attrs: dict[str, Attribute] = {
        "atom": StringAttr(atom),
        "bits": IntAttr(bits, I64),
        "src_layout": src.layout,
        "dst_layout": dst.layout,
    }
    if pred is not None:
        attrs["pred_layout"] = pred.layout
    if hints:
        attrs["hints"] = StringAttr(str(hints))
    p = () if pred is None else (pred.ptr,)
    pd = () if pred is None else pred.dyns
    sizes = (1, 1, len(p), len(src.dyns), len(dst.dyns), len(pd))
    attrs["operandSegmentSizes"] = DenseI32Attr(sizes)
    return build("cute.copy", (src.ptr, dst.ptr, *p, *src.dyns, *dst.dyns, *pd), (), attrs)


def assume(value: Value, divby: int) -> OpResult:
    """`value`, promised to be a multiple of `divby`."""
    return build1("cute.assume", (value,), value.type, {"divby": IntAttr(divby, I64)})


def convert(
    value: Value,
    type: Type,
    rounding: str = "rn",
    *,
    saturate: bool = False,
    random: Value | None = None,
) -> OpResult:
    """`value` as another float type (scalar or vector); `random` bits are for rounding ``rs``."""
    attrs: dict[str, Attribute] = {
        "rounding": StringAttr(rounding),
        "saturate": IntAttr(int(saturate), I64),
    }
    operands = (value,) if random is None else (value, random)
    return build1("cute.convert", operands, type, attrs)


def print_(format: str, args: Sequence[Value] = ()) -> Op:
    """Print at run time."""
    return build("cute.print", args, (), {"format": StringAttr(format)})
