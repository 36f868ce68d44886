# SPDX-FileCopyrightText: 2026 The OpenCuTe authors
# SPDX-License-Identifier: Apache-2.0
"""`Tensor`: a pointer (or a coordinate) with a layout.

    >>> a = gA[(None, (i, j))]      # a view: pointer moved, layout sliced
    >>> v = a.load()                # all its elements as a TensorSSA
    >>> gC[(None, (i, j))] = v * 2

A tensor whose iterator is a coordinate is an identity tensor: its elements are coordinates.
"""

# pyright: reportUnknownArgumentType=false
# pyright: reportUnknownLambdaType=false
# Users' objects and nested tuples are of any type; annotations cannot say more.

from __future__ import annotations

import math
from abc import ABCMeta
from typing import TYPE_CHECKING, Any

from opencute.base.errors import LanguageError, LayoutError, TypeMismatchError
from opencute.dialects import cute, registers
from opencute.dialects.cute import Dyn, LayoutAttr
from opencute.dialects.smem import BASE_ALIGN, SmemAllocOp
from opencute.ir.attributes import IntAttr
from opencute.ir.cleanup import constant_of
from opencute.ir.core import Value
from opencute.lang.block.smem_plan import is_member, widened
from opencute.lang.numbers import (
    Int32,
    Int64,
    Integer,
    Numeric,
    NumericMeta,
    as_numeric,
    class_of,
    number_in,
)
from opencute.lang.pointers import AddressSpace, Pointer, element_bits
from opencute.lang.values.packed_access import is_packed, load_element, store_element
from opencute.lang.values.runs import fragment
from opencute.lang.values.stored import check_stored
from opencute.lang.values.text import print_rows
from opencute.lang.vectors import TensorSSA, splat
from opencute.layout import (
    ComposedLayout,
    Layout,
    Swizzle,
    coord_add,
    cosize,
    group_modes,
    is_static,
    make_identity_layout,
    make_layout,
    make_ordered_layout,
    product,
    slice_and_offset,
    to_str,
)
from opencute.layout.ints import is_sequence, is_tuple
from opencute.numeric.literals import plain_kind

__all__ = [
    "Tensor",
    "TracedTensor",
    "addressed",
    "grouped",
    "layout_operands",
    "make_fragment_like",
    "make_identity_tensor",
    "make_rmem_tensor",
    "make_rmem_tensor_like",
    "make_tensor",
    "offset_coord",
    "tile",
]


class Tensor(metaclass=ABCMeta):  # noqa: B024 - a marker that outside classes register with
    """What `isinstance(x, cute.Tensor)` accepts: tensors inside compiled code, and the tensors that
    `from_dlpack` and the fake-tensor functions make outside of it."""

    __slots__ = ()

    if TYPE_CHECKING:  # what kernels ask of their parameters; each kind of tensor has its own
        shape: Any
        stride: Any
        layout: Any
        iterator: Any
        element_type: Any
        memspace: Any
        leading_dim: Any
        type: Any

        def __getitem__(self, crd: Any, /) -> Any: ...

        def __setitem__(self, crd: Any, value: Any, /) -> None: ...

        def load(self) -> TensorSSA: ...

        def store(self, data: Any, /) -> None: ...

        def fill(self, value: Any, /) -> None: ...


def _map(f: Any, x: Any) -> Any:
    if is_tuple(x):
        items: Any = x
        return tuple(_map(f, i) for i in items)
    return f(x)


def _clean(c: Any) -> Any:
    """One entry of a coordinate: None and full slices keep a mode, the rest are integers."""
    if c is None or type(c) is int or c is Ellipsis:
        return c
    if isinstance(c, slice):
        if c == slice(None):
            return None
        raise LayoutError(
            "only full slices select a mode", code="OC1354", found=c,
            hint="a part is a tile: cute.local_tile(x, (4,), (i,)) has elements 4 i to 4 i + 3; "
            "cute.domain_offset((i,), x) begins at any element",
        )  # fmt: skip
    c = number_in(c)
    if isinstance(c, Numeric):
        if c.dtype.is_float:
            raise TypeMismatchError("a coordinate is made of integers", code="OC1230", found=c)
        if not isinstance(c, Integer) or c.dtype.width < 32:
            return Int32(c)
        if not c.is_dynamic:
            return int(c)
        return c if c.dtype.signed else c.to(Int64)
    if not hasattr(c, "__index__"):
        raise TypeMismatchError(
            "a coordinate is made of integers", code="OC1230", found=str(c),
            hint="a tensor is indexed by integers, None, ':' or '...'",
        )  # fmt: skip
    return int(c)


def _unit_mode(shape: Any, stride: Any) -> Any:
    """The mode with stride 1, one of more elements than one first."""
    if not is_tuple(stride):
        return 0 if isinstance(stride, int) and stride == 1 else None
    found: list[tuple[bool, Any]] = []
    for i, (n, d) in enumerate(zip(shape, stride, strict=True)):
        inside = _unit_mode(n, d)
        if inside is not None:
            path = (i, *(inside if isinstance(inside, tuple) else (inside,)))
            found.append((isinstance(n, int) and n == 1, path if is_tuple(d) else i))
    return min(found, key=lambda f: f[0])[1] if found else None


def offset_coord(crd: Any, layout: Any) -> Any:
    """A coordinate as the layout algebra takes it: `:` as None, `...` filled in."""
    crd = _map(_clean, tuple(crd) if isinstance(crd, list) else crd)
    if is_tuple(crd) and any(c is Ellipsis for c in crd):
        at = next(i for i, c in enumerate(crd) if c is Ellipsis)
        crd = crd[:at] + (None,) * (layout.rank - len(crd) + 1) + crd[at + 1 :]
    return None if crd is Ellipsis else crd


def layout_operands(layout: Layout) -> tuple[LayoutAttr, tuple[Value, ...]]:
    """A layout as an attribute and the SSA values of its dynamic integers."""
    values: list[Value] = []

    def leaf(x: Any) -> Any:
        if isinstance(x, Integer) and x.is_dynamic:
            values.append(x.ir_value())
            return Dyn(x.dtype.width, x.div)
        return int(x)

    shape = _map(leaf, layout.shape)
    return LayoutAttr(shape, _map(leaf, layout.stride)), tuple(values)


def _dynamic_parts(x: Any) -> list[Any]:
    """The pointers and dynamic integers in a tensor, a layout or a tuple, in a fixed order."""
    if isinstance(x, TracedTensor):
        return [*_dynamic_parts(x.iterator), *_dynamic_parts(x.layout)]
    if isinstance(x, Layout):
        return [*_dynamic_parts(x.shape), *_dynamic_parts(x.stride)]
    if isinstance(x, ComposedLayout):
        return [*_dynamic_parts(x.offset), *_dynamic_parts(x.outer)]
    if is_sequence(x):
        return [n for item in x for n in _dynamic_parts(item)]
    return [x] if isinstance(x, Pointer) or (isinstance(x, Numeric) and x.is_dynamic) else []


def _with_values(x: Any, values: Any) -> Any:
    """The same with the next values in the place of its dynamic parts."""
    if isinstance(x, Pointer):
        return x.__new_from_mlir_values__([next(values)])
    if isinstance(x, Layout):
        return Layout(_with_values(x.shape, values), _with_values(x.stride, values))
    if isinstance(x, ComposedLayout):
        return ComposedLayout(
            x.inner, _with_values(x.offset, values), _with_values(x.outer, values)
        )
    if is_sequence(x):
        return tuple(_with_values(item, values) for item in x)
    if not (isinstance(x, Numeric) and x.is_dynamic):
        return x
    out = type(x)(next(values))
    out.div, out.nonneg, out.is_index = x.div, x.nonneg, x.is_index
    return out


class TracedTensor(Tensor):
    """A tensor inside compiled code.

    Args:
        iterator: a Pointer, or a tuple of integers (a coordinate).
        layout: a Layout or ComposedLayout.
    """

    __slots__ = ("_places", "iterator", "layout")
    __hash__ = object.__hash__

    def __init__(self, iterator: Any, layout: Any) -> None:
        self.iterator = iterator
        self.layout = layout
        self._places: list[int] | None = None

    def __bool__(self) -> bool:
        raise LanguageError(
            "a tensor is neither true nor false", code="OC1262",
            hint="compare an element, or write `is not None`",
        )  # fmt: skip

    # ---- as a part of a user's object that crosses a region
    def __extract_mlir_values__(self) -> list[Value]:
        return [n.ir_value() for n in _dynamic_parts(self)]

    def __new_from_mlir_values__(self, values: Any) -> Any:
        if len(values) == 1 and isinstance(values[0], TracedTensor):
            return values[0]
        it = iter(values)
        iterator = _with_values(self.iterator, it)
        return TracedTensor(iterator, _with_values(self.layout, it))

    # ---- facts
    @property
    def shape(self) -> Any:
        """The layout's shape."""
        return self.layout.shape

    @property
    def stride(self) -> Any:
        """The layout's strides."""
        return self.layout.stride

    @property
    def leading_dim(self) -> Any:
        """The mode whose stride is 1, or the path to it if it is nested; None if there is none."""
        return _unit_mode(self.layout.shape, self.layout.stride)

    @property
    def element_type(self) -> Any:
        """Numeric class of the elements; Int32 of the coordinates of an identity tensor."""
        return self.iterator.dtype if isinstance(self.iterator, Pointer) else Int32

    dtype = element_type
    _dtype = element_type  # published kernels ask for it by this name

    @property
    def memspace(self) -> AddressSpace:
        """Memory space of the elements."""
        return self._pointer().memspace

    @property
    def max_alignment(self) -> int:
        """Known alignment of the first element, in bytes."""
        return self._pointer().alignment

    @property
    def type(self) -> str:
        """The type as it is printed."""
        return str(self)

    @property
    def rank(self) -> int:
        """Number of top-level modes."""
        return self.layout.rank

    def _pointer(self) -> Pointer:
        if not isinstance(self.iterator, Pointer):
            raise TypeMismatchError(
                "an identity tensor has coordinates, no memory", code="OC1231", found=str(self)
            )
        return self.iterator

    def __str__(self) -> str:
        iterator = self.iterator if isinstance(self.iterator, Pointer) else to_str(self.iterator)
        return f"tensor<{iterator} o {self.layout}>"

    __repr__ = __str__

    def __opencute_parts__(self) -> tuple[Any, ...]:
        """What printf shows."""
        return ("tensor(", self.iterator, " o ", self.layout, ")")

    def data_ptr(self, offset: Any = 0, *, loc: Any = None, ip: Any = None) -> Any:
        """A pointer to the first element, or some elements further; it can be indexed.

        Args:
            offset: how many elements.
        """
        return self._pointer().raw_ptr() + offset

    def ir_value(self, *, loc: Any = None, ip: Any = None) -> Value:
        """The address of the first element as an llvm pointer, as MLIR's bindings take it."""
        return self._pointer().llvm_ptr

    def subview(self, offset: Any, shape: Any = None, *, loc: Any = None, ip: Any = None) -> Any:
        """The same memory some elements further, with the same layout or another shape.

        Args:
            offset: how many elements.
            shape: extents of the result.
        """
        layout = self.layout if shape is None else make_layout(shape)
        return TracedTensor(self._pointer() + offset, layout)

    def print_runtime(
        self, max_elements: int | None = None, *, loc: Any = None, ip: Any = None
    ) -> None:
        """Print the elements at run time, at most `max_elements` of each mode."""
        print_rows(self, max_elements)

    # ---- elements and views
    def _at(self, crd: Any) -> TracedTensor:
        """The view that a coordinate with None entries keeps."""
        crd = offset_coord(crd, self.layout)
        layout, offset = slice_and_offset(crd, self.layout)
        if isinstance(self.iterator, Pointer):
            return TracedTensor(self.iterator + offset, layout)
        return TracedTensor(coord_add(self.iterator, offset), layout)

    def _element(self, crd: Any) -> Any:
        swizzle = _address_swizzle(self.iterator, self.layout)
        if swizzle is not None:
            layout = self.layout
            place = layout.outer(offset_coord(crd, layout.outer))
            return _swizzled(self.iterator, swizzle) + coord_add(layout.offset, place)
        offset = self.layout(offset_coord(crd, self.layout))
        if isinstance(self.iterator, Pointer):
            return self.iterator + offset
        return coord_add(self.iterator, offset)

    def __iter__(self) -> Any:
        raise LanguageError(
            "a tensor cannot be iterated", code="OC1110", found=str(self),
            hint="loop over range(cute.size(tensor)) and index it",
        )  # fmt: skip

    def _offset(self, crd: Any) -> Any:
        return self.layout(offset_coord(crd, self.layout))

    def _place(self, crd: int) -> Pointer | None:
        """Where the element of an index known at compile time is; None where that takes more.

        Kernels visit every element of a fragment, many times: all offsets are found at once.
        """
        places = self._places
        if places is None:
            places = self._places = _static_places(self)
        if not 0 <= crd < len(places):
            return None
        pointer: Pointer = self.iterator
        return pointer.moved(places[crd])

    def __getitem__(self, crd: Any) -> Any:
        if type(crd) is int and (place := self._place(crd)) is not None:
            return place.load()
        if _keeps(crd):
            return self._at(crd)
        if is_packed(self.iterator):
            return load_element(self.iterator, self._offset(crd))
        element = self._element(crd)
        return element.load() if isinstance(element, Pointer) else element

    def __setitem__(self, crd: Any, value: Any) -> None:
        self._pointer()
        if type(crd) is int and (place := self._place(crd)) is not None:
            place.store(_scalar(value, self))
        elif _keeps(crd):
            self._at(crd).store(value)
        elif is_packed(self.iterator):
            number = _scalar(value, self)
            check_stored(number, self.element_type)
            store_element(self.iterator, self._offset(crd), number)
        else:
            self._element(crd).store(_scalar(value, self))

    def load(self, *, loc: Any = None, ip: Any = None) -> TensorSSA:
        """All elements as a vector.

        Raises:
            LayoutError: the shape is not static, or has no elements.
        """
        self._static_shape("load")
        if product(self.layout.shape) == 0:
            raise LayoutError(
                "load() needs at least one element", code="OC1367", found=str(self.layout),
                hint="leave it out under const_expr(cute.size(tensor) > 0)",
            )  # fmt: skip
        pointer, layout = addressed(self, "load")
        if pointer.memspace == AddressSpace.rmem:
            places = _static_places(self)
            known = registers.elements(pointer.value, places) if places else None
            if known is not None:
                return TensorSSA(known, self.layout.shape, pointer.dtype)
        attr, dyns = layout_operands(layout)
        return TensorSSA(
            cute.tile_load(pointer.value, attr, dyns), self.layout.shape, pointer.dtype
        )

    def store(self, data: Any, *, loc: Any = None, ip: Any = None) -> None:
        """Write all elements.

        Args:
            data: a TensorSSA of a shape that fits, a number for every element, or a tensor.

        Raises:
            LayoutError: the sizes differ, or the shape is not static.
            TypeMismatchError: the elements do not hold every value of the type that is written.
        """
        self._static_shape("store")
        pointer, layout = addressed(self, "store")
        if isinstance(data, TracedTensor):
            data = data.load()
        if not isinstance(data, TensorSSA):
            data = _filled(data, self)
        check_stored(data, pointer.dtype)
        if product(data.shape) != product(self.shape):
            raise LayoutError(
                "a vector is stored to a tensor of another size", code="OC1356",
                expected=to_str(self.shape), found=to_str(data.shape),
            )  # fmt: skip
        attr, dyns = layout_operands(layout)
        cute.tile_store(data.to(pointer.dtype).value, pointer.value, attr, dyns)

    def fill(self, value: Any, *, loc: Any = None, ip: Any = None) -> None:
        """Write one number to every element.

        Args:
            value: a number, which gets the type of the elements.
        """
        self._pointer()
        self.store(_filled(value, self))

    def _static_shape(self, what: str) -> None:
        if not is_static(self.layout.shape):
            raise LayoutError(
                f"{what}() needs a static shape", code="OC1357", found=str(self),
                hint="slice or tile the tensor so that the extents of what is left are "
                "compile-time integers",
            )  # fmt: skip


_MOST_PLACES = 1 << 12


def _static_places(tensor: TracedTensor) -> list[int]:
    """The offset of each element of a fragment, by its index; [] for tensors of other kinds."""
    pointer, layout = tensor.iterator, tensor.layout
    if type(pointer) is not Pointer or type(layout) is not Layout or is_packed(pointer):
        return []
    if not is_static(layout) or layout.size() > _MOST_PLACES:
        return []
    places = layout.offsets()
    return places if all(type(p) is int for p in places) else []


def _filled(value: Any, target: TracedTensor) -> TensorSSA:
    check_stored(value, target.element_type)
    number = value if plain_kind(value) in (int, float, bool) else as_numeric(value)
    return splat(number, target.shape, target.element_type)


def _keeps(crd: Any) -> bool:
    if is_sequence(crd):
        items: Any = crd
        return any(map(_keeps, items))
    return crd is None or isinstance(crd, slice) or crd is Ellipsis


def _scalar(value: Any, target: TracedTensor) -> Any:
    if isinstance(value, TensorSSA):
        if product(value.shape) != 1:
            raise LayoutError(
                "a vector is stored to a single element", code="OC1356",
                expected="a number", found=str(value), hint="keep a mode with None to store tiles",
            )  # fmt: skip
        return value[0]
    if isinstance(value, TracedTensor):
        raise TypeMismatchError(
            "a tensor is stored to a single element", code="OC1232", found=str(value),
            expected=f"a number that {target.element_type} can hold",
        )  # fmt: skip
    return value


def tile(tensor: TracedTensor) -> cute.Tile:
    """A tensor as the operand of a copy."""
    pointer, layout = addressed(tensor, "copy")
    attr, dyns = layout_operands(layout)
    return cute.Tile(pointer.value, attr, dyns)


def grouped(tensor: TracedTensor) -> TracedTensor:
    """The same tensor as (V, rest), the form of operands of a copy."""
    layout = tensor.layout
    if layout.rank == 1:
        layout = make_layout(layout, make_layout(1, stride=0))
    elif layout.rank > 2:
        layout = group_modes(layout, 1, layout.rank)
    return TracedTensor(tensor.iterator, layout)


def addressed(tensor: TracedTensor, what: str) -> tuple[Pointer, Layout]:
    """A tensor in memory as a pointer, which may have a swizzle, and a plain layout.

    Raises:
        LayoutError: a composed layout that is no swizzle of shared memory.
    """
    pointer, layout = tensor._pointer(), tensor.layout  # pyright: ignore[reportPrivateUsage]
    pointer.accessed()
    if not isinstance(layout, ComposedLayout):
        return pointer, layout
    swizzle = _address_swizzle(pointer, layout)
    if swizzle is None:
        raise LayoutError(
            f"{what} needs a plain layout, or a swizzled one in shared memory", code="OC1355",
            found=layout, hint="copy the elements one by one",
        )  # fmt: skip
    return _swizzled(pointer, swizzle) + layout.offset, layout.outer


def _address_swizzle(pointer: Any, layout: Any) -> Swizzle | None:
    """The swizzle of a layout where addresses can have it; elsewhere it is a function of
    coordinates."""
    if not isinstance(pointer, Pointer) or pointer.memspace != AddressSpace.smem:
        return None
    inner: Any = layout.inner if isinstance(layout, ComposedLayout) else None
    return inner if isinstance(inner, Swizzle) and inner.shift >= 0 else None


def _swizzled(pointer: Pointer, swizzle: Swizzle) -> Pointer:
    """A pointer whose accesses put a swizzle of element offsets on the address.

    Raises:
        LayoutError: the pointer has a swizzle of its own, or is not aligned as this one needs.
    """
    if swizzle.bits == 0:
        return pointer
    if pointer.swizzle:
        raise LayoutError(
            "both pointer and layout have a swizzle", code="OC1383", found=str(pointer),
            expected=f"a pointer without one, or the outer part of the layout, for {swizzle}",
        )  # fmt: skip
    shift = element_bits(pointer.dtype).bit_length() - 1 - 3
    window = 1 << (swizzle.base + swizzle.bits + shift)
    known = _alignment_in_block(pointer.value)
    if known < window:
        raise LayoutError(
            "a swizzled tensor starts at an address that its swizzle would leave", code="OC1384",
            expected=f"align<{window}>", found=f"align<{known}>",
            hint=f"allocate it with an alignment of {window} bytes",
        )  # fmt: skip
    return pointer.swizzled(Swizzle(swizzle.bits, swizzle.base + shift, swizzle.shift))


def _alignment_in_block(value: Value) -> int:
    """Alignment of an address in shared memory: where its allocation lies may say more than the
    type, which has what was asked for."""
    op, type = value.op, value.type
    known = type.align if isinstance(type, cute.PtrType) else 1
    if op is None:
        return known
    if isinstance(op, SmemAllocOp):
        return max(known, math.gcd(op.offset.value, BASE_ALIGN))
    if op.name == "cute.recast":
        return max(known, _alignment_in_block(op.operands[0]))
    if op.name == "cute.ptr_add" and isinstance(type, cute.PtrType):
        steps = constant_of(op.operands[1])
        if isinstance(steps, IntAttr):
            bytes_ = steps.value * cute.storage_bits(type.element) // 8
            return max(known, math.gcd(bytes_, _alignment_in_block(op.operands[0])))
    return known


def make_tensor(iterator: Any, layout: Any = None, *, loc: Any = None, ip: Any = None) -> Any:
    """A tensor from a pointer (or a coordinate) and a layout or shape.

    Args:
        iterator: a pointer; or a coordinate, an integer or nested tuple, for a tensor of
            coordinates.
        layout: from the tensor's coordinates to elements after the pointer; a shape is
            column-major.

    Raises:
        TypeMismatchError: no pointer and no coordinate.
    """
    if not isinstance(layout, Layout | ComposedLayout):
        layout = make_layout(layout)
    if not isinstance(iterator, Pointer | tuple | int | Numeric):
        raise TypeMismatchError(
            "make_tensor takes a pointer", code="OC1233", found=type(iterator).__name__
        )
    if isinstance(iterator, Pointer) and is_member(iterator.value):
        iterator = _with_room(iterator, layout)
    return TracedTensor(iterator, layout)


def _with_room(pointer: Pointer, layout: Layout | ComposedLayout) -> Pointer:
    """A pointer that may be used by a layout, also where that is larger than a struct's member."""
    outer = layout.outer if isinstance(layout, ComposedLayout) else layout
    size = None
    if isinstance(outer, Layout) and is_static(outer):
        extent = cosize(outer)
        if isinstance(layout, ComposedLayout):
            extent = extent + layout.offset if isinstance(layout.offset, int) else None
        size = -(-extent * element_bits(pointer.dtype) // 8) if isinstance(extent, int) else None
    value = widened(pointer.value, size)
    return pointer if value is pointer.value else Pointer(value, pointer.dtype)


def make_identity_tensor(shape: Any, *, loc: Any = None, ip: Any = None) -> TracedTensor:
    """The tensor whose element at each coordinate is that coordinate.

    Args:
        shape: extents.
    """
    layout = make_identity_layout(shape)
    return TracedTensor(_map(lambda _: 0, layout.shape), layout)


def make_rmem_tensor(
    layout_or_shape: Any, dtype: Any, *, loc: Any = None, ip: Any = None
) -> TracedTensor:
    """An uninitialised tensor in the thread's registers.

    Args:
        layout_or_shape: a static layout or shape.
        dtype: numeric class of the elements; also `int`, `float`, `bool` or a NumPy type.

    Raises:
        LayoutError: the layout is not static, or empty.
        TypeMismatchError: `dtype` is no type of numbers.
    """
    dtype = class_of(dtype)
    layout = layout_or_shape
    if not isinstance(layout, Layout):
        layout = make_layout(layout)
    if not is_static(layout):
        raise LayoutError(
            "registers need a static layout", code="OC1358", found=layout,
            hint="the extents of a register tensor must be compile-time integers",
        )  # fmt: skip
    if cosize(layout) < 1:
        raise LayoutError("registers need at least one element", code="OC1367", found=layout)
    return TracedTensor(Pointer(fragment(dtype, cosize(layout)), dtype), layout)


def make_fragment_like(
    src: Any, dtype: NumericMeta | None = None, *, loc: Any = None, ip: Any = None
) -> TracedTensor:
    """A register tensor with the shape of `src`: its first mode compact, the others in the order of
    the strides of `src` (C++ CuTe's make_fragment_like).

    Args:
        src: a tensor or layout of a static shape.
        dtype: numeric class of the elements; that of `src` when omitted.
    """
    layout = src if isinstance(src, Layout) else src.layout
    if isinstance(layout, ComposedLayout):
        layout = layout.outer
    return make_rmem_tensor(_fragment_layout(layout), _element_type(src, dtype))


def _element_type(src: Any, dtype: NumericMeta | None) -> NumericMeta:
    own = dtype if dtype is not None else getattr(src, "element_type", None)
    if own is None:
        raise TypeMismatchError(
            "a layout has no element type", code="OC1241", found=str(src),
            hint="pass the type of the elements as second argument",
        )  # fmt: skip
    return own


def _fragment_layout(layout: Layout) -> Layout:
    shape = layout.shape
    if not is_tuple(shape) or len(shape) == 1:
        return make_layout(shape)
    first = make_layout(shape[0])
    rest = layout[1] if len(shape) == 2 else make_layout(*[layout[i] for i in range(1, len(shape))])
    if len(shape) == 2:
        rest = Layout((rest.shape,), (rest.stride,))
    ordered = make_ordered_layout(rest.shape, order=_map(_order_key, rest.stride))
    scaled = Layout(ordered.shape, _map(lambda d: d * first.size(), ordered.stride))
    return make_layout(first, *scaled)


def _order_key(d: Any) -> int:
    # A dynamic stride is larger than any static one.
    return d if isinstance(d, int) else 1 << 40


def make_rmem_tensor_like(
    src: Any, dtype: NumericMeta | None = None, *, loc: Any = None, ip: Any = None
) -> TracedTensor:
    """A register tensor with the shape of `src`, compact in the order of its strides.

    Args:
        src: a tensor or layout of a static shape.
        dtype: numeric class of the elements; that of `src` when omitted.
    """
    layout = src if isinstance(src, Layout) else src.layout
    ordered = make_ordered_layout(layout.shape, order=_map(_order_key, layout.stride))
    return make_rmem_tensor(ordered, _element_type(src, dtype))
