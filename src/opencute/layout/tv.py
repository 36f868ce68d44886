# SPDX-FileCopyrightText: 2026 The OpenCuTe authors
# SPDX-License-Identifier: Apache-2.0
"""Thread-value layouts: which elements of a tile belong to which thread.

In: a layout of threads and a layout of the values of one thread. Out: the tile that all threads
cover together, and the layout from (thread, value) to the tile's elements::

    make_layout_tv(Layout((4, 32), (32, 1)), Layout((4, 4), (4, 1)))
    # ((16, 128), ((32,4),(4,4)):((64,4),(16,1)))
"""

from __future__ import annotations

from typing import Any

from opencute.layout.algebra import composition
from opencute.layout.arith import product_each
from opencute.layout.ints import fail, is_static, to_str
from opencute.layout.inverse import right_inverse
from opencute.layout.layout import Layout
from opencute.layout.modes import size
from opencute.layout.products import raked_product

__all__ = ["make_layout_tv"]


def make_layout_tv(thr_layout: Layout, val_layout: Layout) -> tuple[Any, Layout]:
    """The tiler and the thread-value layout of threads that each own a block of values.

    Args:
        thr_layout: from (thread_m, thread_n, ...) to the thread index; compact.
        val_layout: from (value_m, value_n, ...) to the value index; compact.

    Returns:
        The extents of the tile, and the layout from (thread index, value index) to the position
        in the tile, counted colexicographically.

    Law: a bijection from threads and values onto the tile.

    Raises:
        LayoutError: thread or value indices have gaps or repeat, or one of them is no layout.

    Example:
        >>> cute.make_layout_tv(cute.make_layout((4, 8), stride=(8, 1)), cute.make_layout((2, 2)))
        ((8, 16), Layout(((8,4),(2,2)):((16,2),(1,8))))
    """
    for name, x in (("thr_layout", thr_layout), ("val_layout", val_layout)):
        if not isinstance(x, Layout):  # pyright: ignore[reportUnnecessaryIsInstance]
            fail(
                "OC1314", f"make_layout_tv: {name} is no layout", expected="a plain layout",
                found=repr(x), hint="write cute.make_layout(...)",
            )  # fmt: skip
        if is_static(x) and size(right_inverse(x)) != size(x):
            fail(
                "OC1312",
                f"make_layout_tv: the indices of {x} leave gaps or repeat",
                expected=f"each index below {to_str(size(x))} once",
                hint="make_ordered_layout gives compact layouts",
            )
    layout_mn = raked_product(thr_layout, val_layout)
    domain = Layout((size(thr_layout), size(val_layout)))
    return product_each(layout_mn.shape), composition(right_inverse(layout_mn), domain)
