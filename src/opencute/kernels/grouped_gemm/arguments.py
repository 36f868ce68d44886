# SPDX-FileCopyrightText: 2026 The OpenCuTe authors
# SPDX-License-Identifier: Apache-2.0
"""What both forms of grouped products ask of their arguments, and make of them.

In: arrays and a configuration. Out: errors, results, the plan, memory for tensor maps::

    plan = plan_of(config, types, majors, visitor.plan())
    row_gemm(*tensors, ends, extra, maps_in(room_for(a, plan)), plan)
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from opencute import utils
from opencute.base.errors import ArgumentError, ArgumentTypeError
from opencute.base.interned import interned
from opencute.compiler.targets import run_target
from opencute.cute.runtime import from_dlpack
from opencute.kernels.arrays import apart, contiguous, element_name, empty, row_major, strides
from opencute.kernels.gemm.sm90_interface import address, for_tma, have_hopper, padded
from opencute.kernels.gemm.sm90_plan import HopperPlan
from opencute.kernels.gemm.visitors import VisitorPlan, check_pairs
from opencute.kernels.grouped_gemm.config import GroupedConfig
from opencute.kernels.grouped_gemm.sm90 import DRAFTS, map_slots

__all__ = [
    "check_out", "check_types", "maps_in", "need_hopper", "new_result", "plan_of", "readable",
    "refuse_devices", "refuse_lists", "room_for", "tensor_of",
]  # fmt: skip

_TYPES = ("float16", "bfloat16")
_NARROW = ("float8_e4m3fn", "float8_e5m2")
_RESULTS = (*_TYPES, "float32")


def check_types(arrays: Sequence[Any], *, narrow: bool = False) -> None:
    """Check that operands are of one type.

    Args:
        narrow: whether they may be of 8 bits.

    Raises:
        ArgumentError: they are not.
    """
    names = sorted({element_name(t) for t in arrays})
    types = (*_TYPES, *_NARROW) if narrow else _TYPES
    if len(names) > 1 or names[0] not in types:
        raise ArgumentError(
            "no grouped product of these types", code="OC2581", found=names,
            expected=f"all of {', or of '.join(types)}",
        )  # fmt: skip


def need_hopper() -> None:
    """Raise if groups whose extents the host does not know cannot be multiplied."""
    if not have_hopper():
        raise ArgumentError(
            "groups whose ends only the device knows need a kernel for Hopper", code="OC2539",
            expected="compute capability 9.0", found=run_target().arch,
            hint="grouped_gemm takes lists of matrices on every processor",
        )  # fmt: skip


def new_result(like: Any, shape: tuple[int, ...], dtype: Any = None) -> Any:
    """A new result whose rows TMA can store.

    Args:
        like: an array of its kind.
        dtype: its type; that of `like` when omitted, bf16 where that has 8 bits.
    """
    if dtype is None:
        dtype = "bfloat16" if element_name(like) in _NARROW else like.dtype
    vec = 8  # of 16 bits; more than enough for others
    room = empty(like, (*shape[:-1], -(-shape[-1] // vec) * vec), dtype)
    return room if room.shape[-1] == shape[-1] else room[..., : shape[-1]]


def check_out(name: str, out: Any, shape: tuple[int, ...]) -> None:
    """Check that a result is one that TMA can store.

    Raises:
        ArgumentError: it is not.
    """
    if not hasattr(out, "dtype") or not hasattr(out, "shape"):
        raise ArgumentTypeError(
            f"{name} is no array", code="OC2582", found=type(out).__name__, expected="an array"
        )
    if tuple(out.shape) != shape or element_name(out) not in _RESULTS:
        raise ArgumentError(
            f"{name} does not fit the product", code="OC2582",
            expected=f"{shape} of {', '.join(_RESULTS)}",
            found=f"{tuple(out.shape)} of {element_name(out)}",
        )  # fmt: skip
    batch = out if len(shape) == 3 else out[None]
    if 0 not in shape and not (row_major(out) and for_tma(batch, 2)):
        raise ArgumentError(
            f"rows of {name} do not start at multiples of 16 bytes", code="OC2582",
            expected="contiguous rows, an aligned address and stride", found=strides(out),
            hint="leave out=... away, and a result with room at the end of rows is made",
        )  # fmt: skip


def plan_of(
    config: GroupedConfig, types: tuple[Any, Any, Any], majors: tuple[bool, bool],
    visitor: VisitorPlan, aux: tuple[Any, ...] = (),
) -> HopperPlan:  # fmt: skip
    """The configuration applied to arrays: what the kernel is compiled for.

    Args:
        types: classes of the elements of A, of B and of the result.
        majors: whether A and B are contiguous along k.
        visitor: what becomes of the sums.
        aux: types of the matrices that it loads and stores.
    """
    clusters = max(1, int(utils.HardwareInfo().get_max_active_clusters(1)))
    return interned(HopperPlan(
        config.hopper, types, majors, visitor, aux, (False, False),
        min(config.most or clusters, clusters), utils.get_smem_capacity_in_bytes() - DRAFTS,
    ))  # fmt: skip


def room_for(like: Any, plan: HopperPlan) -> Any:
    """Memory for the tensor maps of all blocks: (blocks, slots, words)."""
    words = plan.clusters * map_slots(plan) * 16
    if getattr(like, "is_cuda", False):
        room = empty(like, (words,), "int64")
    else:  # memory of the host is aligned to less
        room = empty(like, (words + 16,), "int64")
        first = -address(room) % 128 // 8
        room = room[first : first + words]
    return room.reshape(plan.clusters, map_slots(plan), 16)


def maps_in(room: Any) -> Any:
    """What `room_for` gives, as an argument."""
    return from_dlpack(room, assumed_align=128)


def readable(t: Any, lead: int | None = None) -> Any:
    """A matrix of each group, (groups, rows, columns), as TMA reads it: itself, or a copy in the
    same major. Rows that are one in memory, as those of expanded arrays, are copied.

    Args:
        lead: as of `for_tma`.
    """
    steps = zip(t.shape[1:], strides(t)[1:], strict=True)
    if any(int(n) > 1 and s == 0 for n, s in steps):
        rows = t if row_major(t) else t.swapaxes(1, 2)
        t = contiguous(rows) if rows is t else contiguous(rows).swapaxes(1, 2)
    return t if for_tma(t, lead) else padded(t)


def tensor_of(array: Any, leading: int) -> Any:
    return from_dlpack(array).mark_layout_dynamic(leading_dim=leading)


def refuse_lists(a: Any, b: Any, out: Any, *, gated: bool = False) -> list[tuple[int, int]]:
    """The shapes of the results of lists of matrices.

    Args:
        a, b, out: lists, the last one or None.
        gated: whether pairs of columns give one.

    Raises:
        ArgumentError: these lists are no products; it says why.
    """
    for name, arrays in (("a", a), ("b", b), ("out", out)):
        if name == "out" and arrays is None:
            continue
        several = isinstance(arrays, (list, tuple))
        for i, t in enumerate(arrays if several else ()):
            if not (hasattr(t, "dtype") and hasattr(t, "shape")):
                raise ArgumentTypeError(
                    f"grouped_gemm: {name}[{i}] is no array", code="OC2583",
                    found=type(t).__name__, expected="a list of arrays",
                )  # fmt: skip
        if not several:
            raise ArgumentTypeError(
                f"grouped_gemm: {name} is no list of arrays", code="OC2583",
                found=type(arrays).__name__, expected="a list of arrays",
                hint="moe_gemm(a, b, offsets) takes groups that are rows of one array",
            )  # fmt: skip
    pairs = [[tuple(int(n) for n in t.shape) for t in two] for two in zip(a, b, strict=False)]
    good = all(len(x) == 2 == len(y) and x[1] == y[0] for x, y in pairs)
    if len(a) != len(b) or not good:
        raise ArgumentError(
            "these lists are no matrices to multiply", code="OC2580",
            found=pairs if len(a) == len(b) else f"{len(a)} and {len(b)} arrays",
            expected="as many (M, K) as (K, N)",
        )  # fmt: skip
    if a:
        check_types([*a, *b])
    shapes = [(x[0], y[1] // 2 if gated else y[1]) for x, y in pairs]
    for _, (_, columns) in pairs if gated else ():
        check_pairs(columns)
    if out is not None:
        if len(out) != len(shapes) or len({element_name(d) for d in out}) > 1:
            raise ArgumentError(
                "out does not fit the products", code="OC2582", found=len(out),
                expected=f"{len(shapes)} arrays of one type",
            )  # fmt: skip
        for i, (d, shape) in enumerate(zip(out, shapes, strict=True)):
            check_out(f"out[{i}]", d, shape)
            apart(f"out[{i}]", d)
    refuse_devices([*a, *b, *(out or ())])
    return shapes


def refuse_devices(arrays: list[Any]) -> None:
    """Refuse arrays on different devices.

    Raises:
        ArgumentError: they are.
    """
    places = sorted({str(getattr(t, "device", "cpu")) for t in arrays})
    if len(places) > 1:
        raise ArgumentError(
            "matrices of grouped products are on different devices", code="OC2586", found=places,
            expected="all on one",
        )  # fmt: skip
