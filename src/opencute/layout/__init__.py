# SPDX-FileCopyrightText: 2026 The OpenCuTe authors
# SPDX-License-Identifier: Apache-2.0
"""Rank 1: the layout algebra, on Python ints and on integers whose value is known only later.

In: shapes, strides, layouts. Out: layouts. Pure Python, no dependencies, no state::

    from opencute.layout import Layout, composition, zipped_divide

    print(composition(Layout((6, 2), (8, 2)), Layout((4, 3), (3, 1))))  # ((2,2),3):((24,2),8)

Modules, in the order in which they build on each other:

    ints      the integer protocol: static ints, dynamic integers, divisibility
    basis     scaled basis elements and coordinate arithmetic
    tuples    trees: flatten, group, slice, zip
    arith     product, divisions, comparisons
    coords    coordinates to offsets and back; compact strides
    layout    Layout and its constructors
    swizzle   Swizzle and ComposedLayout
    modes     what works alike on tuples, layouts and composed layouts
    algebra   coalesce, filter, composition, complement
    inverse   inverses, common vectors
    divides   divides, local_tile, local_partition
    products  products, tile_to_shape
    recast    other element widths
    tv        thread-value layouts

Each public function states its law in its docstring; the test of the law bears the function's name.

Errors are LayoutErrors:

    OC1301  not an integer, layout or function where one is needed
    OC1302  division by zero
    OC1303  extents or strides that do not divide
    OC1305  offsets or basis elements that do not fit together
    OC1306  profiles or ranks that differ
    OC1307  a mode out of range
    OC1308  a coordinate that does not fit
    OC1309  a tiler or target profile that does not fit
    OC1310  an operation that needs static or plain strides
    OC1311  bad swizzle parameters
    OC1312  a layout that is not injective, compact or invertible as needed
    OC1313  a recast that does not work out
"""

from __future__ import annotations

from opencute.layout.algebra import (
    coalesce,
    coalesce_shape,
    complement,
    composition,
    filter,
    filter_zeros,
    with_shape,
)
from opencute.layout.arith import (
    elem_less,
    elem_scale,
    inner_product,
    is_compatible,
    prefix_product,
    product,
    product_each,
    product_like,
    round_up,
    shape_div,
    tuple_equal,
    tuple_max,
)
from opencute.layout.basis import (
    E,
    ScaledBasis,
    basis_get,
    basis_value,
    coord_add,
    coord_negate,
    coord_sub,
    is_scaled_basis,
    make_basis_like,
)
from opencute.layout.coords import (
    compact_col_major,
    compact_order,
    compact_row_major,
    crd2crd,
    idx2crd,
    increment_coord,
)
from opencute.layout.divides import (
    ceil_div,
    flat_divide,
    local_partition,
    local_tile,
    logical_divide,
    tiled_divide,
    zipped_divide,
)
from opencute.layout.ints import (
    Coord,
    DynamicInt,
    IntTuple,
    Shape,
    Stride,
    Tiler,
    divides,
    divisibility,
    is_dynamic_int,
    is_int,
    is_static,
    is_static_int,
    known_equal,
    to_str,
    width,
)
from opencute.layout.inverse import (
    left_inverse,
    max_alignment,
    max_common_layout,
    max_common_vector,
    nullspace,
    right_inverse,
)
from opencute.layout.layout import (
    Layout,
    make_identity_layout,
    make_layout,
    make_layout_like,
    make_ordered_layout,
)
from opencute.layout.modes import (
    append,
    append_ones,
    coshape,
    cosize,
    crd2idx,
    depth,
    dice,
    domain_offset,
    flatten,
    get,
    group_modes,
    prepend,
    prepend_ones,
    rank,
    select,
    shape,
    size,
    slice_,
    slice_and_offset,
    stride,
    zip_modes,
)
from opencute.layout.products import (
    blocked_product,
    flat_product,
    logical_product,
    raked_product,
    tile_to_shape,
    tiled_product,
    zipped_product,
)
from opencute.layout.recast import (
    downcast,
    recast_layout,
    upcast,
)
from opencute.layout.swizzle import (
    Chain,
    ComposedLayout,
    Swizzle,
    make_composed_layout,
    make_swizzle,
)
from opencute.layout.tuples import (
    congruent,
    find,
    find_if,
    flatten_to_tuple,
    has_none,
    insert,
    remove,
    repeat,
    repeat_like,
    replace,
    transform_leaf,
    unflatten,
    unwrap,
    weakly_congruent,
    wrap,
)
from opencute.layout.tv import (
    make_layout_tv,
)

__all__ = [
    "Chain",
    "ComposedLayout",
    "Coord",
    "DynamicInt",
    "E",
    "IntTuple",
    "Layout",
    "ScaledBasis",
    "Shape",
    "Stride",
    "Swizzle",
    "Tiler",
    "append",
    "append_ones",
    "basis_get",
    "basis_value",
    "blocked_product",
    "ceil_div",
    "coalesce",
    "coalesce_shape",
    "compact_col_major",
    "compact_order",
    "compact_row_major",
    "complement",
    "composition",
    "congruent",
    "coord_add",
    "coord_negate",
    "coord_sub",
    "coshape",
    "cosize",
    "crd2crd",
    "crd2idx",
    "depth",
    "dice",
    "divides",
    "divisibility",
    "domain_offset",
    "downcast",
    "elem_less",
    "elem_scale",
    "filter",
    "filter_zeros",
    "find",
    "find_if",
    "flat_divide",
    "flat_product",
    "flatten",
    "flatten_to_tuple",
    "get",
    "group_modes",
    "has_none",
    "idx2crd",
    "increment_coord",
    "inner_product",
    "insert",
    "is_compatible",
    "is_dynamic_int",
    "is_int",
    "is_scaled_basis",
    "is_static",
    "is_static_int",
    "known_equal",
    "left_inverse",
    "local_partition",
    "local_tile",
    "logical_divide",
    "logical_product",
    "make_basis_like",
    "make_composed_layout",
    "make_identity_layout",
    "make_layout",
    "make_layout_like",
    "make_layout_tv",
    "make_ordered_layout",
    "make_swizzle",
    "max_alignment",
    "max_common_layout",
    "max_common_vector",
    "nullspace",
    "prefix_product",
    "prepend",
    "prepend_ones",
    "product",
    "product_each",
    "product_like",
    "raked_product",
    "rank",
    "recast_layout",
    "remove",
    "repeat",
    "repeat_like",
    "replace",
    "right_inverse",
    "round_up",
    "select",
    "shape",
    "shape_div",
    "size",
    "slice_",
    "slice_and_offset",
    "stride",
    "tile_to_shape",
    "tiled_divide",
    "tiled_product",
    "to_str",
    "transform_leaf",
    "tuple_equal",
    "tuple_max",
    "unflatten",
    "unwrap",
    "upcast",
    "weakly_congruent",
    "width",
    "with_shape",
    "wrap",
    "zip_modes",
    "zipped_divide",
    "zipped_product",
]
