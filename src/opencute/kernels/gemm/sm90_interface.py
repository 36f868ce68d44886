# SPDX-FileCopyrightText: 2026 The OpenCuTe authors
# SPDX-License-Identifier: Apache-2.0
"""From arrays to a launch on Hopper: what TMA can read and write, and the plan for it.

In: matrices (batch, rows, columns), a visitor. Out: the product, in the last of them::

    if not why_not(left, right, [d], "f16"):
        on_hopper(left, right, d, visitor, kind="f16", swapped=False, config=None)
"""

from __future__ import annotations

import math
from dataclasses import replace
from typing import Any

import opencute as cutlass
from opencute import utils
from opencute.base.errors import ArgumentError
from opencute.base.interned import interned
from opencute.compiler.targets import run_target
from opencute.cute.runtime import from_dlpack
from opencute.kernels.arrays import (
    element_name,
    empty,
    item_bits,
    row_major,
    strides,
    vector_elements,
)
from opencute.kernels.gemm.pad import pad
from opencute.kernels.gemm.sm90 import hopper_gemm
from opencute.kernels.gemm.sm90_choice import hopper_heuristic
from opencute.kernels.gemm.sm90_plan import CONSUMERS, HopperConfig, HopperPlan
from opencute.kernels.gemm.sm90_shared import hopper_shared_gemm
from opencute.kernels.gemm.visitors import Visitor, VisitorPlan
from opencute.kernels.tags import call_tag

__all__ = [
    "address", "choice", "for_tma", "have_hopper", "on_hopper", "pad_time", "padded", "refuse",
    "type_of", "why_not",
]  # fmt: skip

_CLASSES = {
    "float16": cutlass.Float16, "bfloat16": cutlass.BFloat16, "float32": cutlass.Float32,
    "int32": cutlass.Int32, "int8": cutlass.Int8, "uint8": cutlass.Uint8,
    "float8_e4m3fn": cutlass.Float8E4M3FN,
    "float8_e5m2": cutlass.Float8E5M2,
}  # fmt: skip
_MATRICES = ("load", "store")


def have_hopper() -> bool:
    """Whether kernels are run by a processor with `wgmma`."""
    return run_target().arch.startswith("sm_90")


def type_of(array: Any) -> Any:
    """The class of an array's elements."""
    name = element_name(array)
    if name not in _CLASSES:
        raise ArgumentError(
            "no product loads or stores matrices of this type", code="OC2517", found=name,
            expected=" or ".join(_CLASSES),
        )  # fmt: skip
    return _CLASSES[name]


def on_hopper(
    a: Any, b: Any, d: Any, visitor: Visitor, *, kind: str, swapped: bool,
    config: HopperConfig | None,
) -> None:  # fmt: skip
    """Do a product.

    Args:
        a, b, d: (batch, M, K), (batch, N, K) and (batch, M, N), of which `why_not` says nothing.
        visitor: what becomes of the sums; its matrices are (batch, M, N) and row-major.
        kind: of the product.
        swapped: whether M and N are those of the transposed product.
        config: the tiles, or None for a good choice.
    """
    config = config or choice(a, b, d, visitor, kind)
    config = config.check()
    operands = [(o.kind, o.value) for o in visitor.operands.values()]
    if config.transposed:
        a, b, d, swapped = b, a, d.swapaxes(1, 2), not swapped
        operands = [(k, v.swapaxes(1, 2) if k in _MATRICES else v) for k, v in operands]
    moved = [v for k, v in operands if k in _MATRICES]
    shared = [int(d.shape[0]) > 1 and strides(t)[0] == 0 for t in (a, b)]
    a, b = (t[:1] if one else t for t, one in zip((a, b), shared, strict=True))
    a, b = (t if for_tma(t) else padded(t) for t in (a, b))
    plan = interned(replace(
        _plan(config, (a, b, d), visitor.plan(swapped), kind),
        aux=tuple(map(type_of, moved)), shared=(shared[0], shared[1]),
        direct=_direct(d, moved, not config.transposed),
    ))  # fmt: skip
    lead = 2 if plan.row_major else 1
    extra = tuple(_operand(kind, value, lead) for kind, value in operands) or None
    tensors = [
        _tensor(t, 2 if major else 1) for t, major in zip((a, b), plan.k_major, strict=True)
    ] + [_tensor(d, lead)]  # fmt: skip
    if not plan.config.shared:
        hopper_gemm(*tensors, extra, plan)
        return
    sums, flags, tag = None, None, None
    if plan.config.stream:
        cells = config.cluster[0] * config.cluster[1]
        groups = plan.clusters * cells * CONSUMERS
        like = "int32" if plan.acc is cutlass.Int32 else "float32"
        sums, flags = empty(a, (groups, 128 * plan.sums), like), empty(a, (groups,), "int64")
        tag = call_tag()
    hopper_shared_gemm(*tensors, extra, sums, flags, tag, plan)


def choice(a: Any, b: Any, d: Any, visitor: Visitor, kind: str) -> HopperConfig:
    """A good configuration for what `on_hopper` takes."""
    return hopper_heuristic(
        int(a.shape[1]), int(b.shape[1]), int(a.shape[2]), int(d.shape[0]), width=item_bits(a),
        twice=kind == "f8", gated=visitor.gated is not None, lines=(_lines(a), _lines(b)),
        active=_active,
    )  # fmt: skip


def _lines(array: Any) -> int:
    """Bytes that the places of rows, of what TMA will read, are multiples of, at most 256."""
    if not for_tma(array):
        return 128  # as `padded` makes them
    size, at = item_bits(array) // 8, address(array)
    lead = 2 if row_major(array) else 1
    steps = zip(array.shape, strides(array), strict=True)
    return math.gcd(256, at, *(s * size for i, (n, s) in enumerate(steps) if i != lead and n > 1))


def _plan(
    config: HopperConfig, arrays: tuple[Any, Any, Any], visitor: VisitorPlan, kind: str
) -> HopperPlan:  # fmt: skip
    """The configuration applied to arrays, as the kernel multiplies them."""
    a, b, d = arrays
    types = [cutlass.TFloat32 if kind == "tf32" else type_of(t) for t in (a, b)]
    majors = [row_major(t) for t in (a, b)]
    k_tiles = -(-int(a.shape[2]) // (1024 // types[0].width))
    if config.split > k_tiles:
        config = replace(config, split=k_tiles)
    clusters = _active(config.blocks[0] * config.blocks[1])
    return HopperPlan(
        config, (types[0], types[1], type_of(d)), (majors[0], majors[1]), visitor, (),
        (False, False), min(config.most or clusters, clusters),
        utils.get_smem_capacity_in_bytes(), not config.transposed,
    )  # fmt: skip


def _direct(d: Any, matrices: list[Any], rows: bool) -> int:
    """What `HopperPlan.direct` is."""
    every = [d, *matrices]
    if all(for_tma(t, 2 if rows else 1) for t in every):
        return 0
    if not rows:
        return 1
    return min(2, *(vector_elements(int(t.shape[2]), item_bits(t), t) for t in every))


def address(array: Any) -> int:
    """Where an array begins."""
    return int(array.data_ptr() if hasattr(array, "data_ptr") else array.ctypes.data)


def for_tma(array: Any, lead: int | None = None) -> bool:
    """Whether TMA can move (batch, rows, columns): strides and address in 16 bytes.

    Args:
        lead: the mode along which elements are neighbours, the stride of which is none of TMA's;
            None: the last one if it can be.
    """
    size, at = item_bits(array) // 8, address(array)
    lead = lead or (2 if row_major(array) else 1)
    steps = zip(array.shape, strides(array), strict=True)
    return at % 16 == 0 and not any(
        i != lead and int(n) > 1 and s * size % 16 for i, (n, s) in enumerate(steps)
    )


def padded(array: Any) -> Any:
    """A copy of (batch, rows, columns) that TMA can read, in the same major."""
    rows = array if row_major(array) else array.swapaxes(1, 2)
    batch, count, columns = (int(n) for n in rows.shape)
    each = 128 // item_bits(rows)
    room = empty(rows, (batch, count, -(-columns // each) * each), rows.dtype)
    pad(_tensor(rows, 2), _tensor(room, 2))
    out = room[:, :, :columns]
    return out if rows is array else out.swapaxes(1, 2)


def pad_time(a: Any, b: Any) -> float:
    """Microseconds that copies for TMA take."""
    wrong = [t for t in (a, b) if not for_tma(t)]
    sizes = (2 * int(t.shape[0]) * int(t.shape[1]) * int(t.shape[2]) * item_bits(t) / 8
             for t in wrong)  # fmt: skip
    return sum(size / 4e6 + 2 for size in sizes)


def _active(blocks: int) -> int:
    """Clusters of so many blocks that run at a time, one at least: part of a device may have no
    room for some, and choices divide by it."""
    return max(1, int(utils.HardwareInfo().get_max_active_clusters(blocks)))


def _operand(kind: str, value: Any, leading: int) -> Any:
    if kind == "scalar":
        return cutlass.Float32(float(value))
    if kind in _MATRICES:
        return _tensor(value, leading)
    return from_dlpack(value).mark_layout_dynamic()


def _tensor(array: Any, leading: int) -> Any:
    return from_dlpack(array).mark_layout_dynamic(leading_dim=leading)


def why_not(a: Any, b: Any, matrices: list[Any], kind: str) -> str:
    """What keeps TMA and wgmma from a product, in words; empty if nothing does.

    Args:
        a, b: (batch, rows, k).
        matrices: (batch, M, N): the result, and what visitors read and write.
        kind: of the product.
    """
    for name, t in (("a", a), ("b", b)):
        if kind not in ("f16", "bf16") and not row_major(t):
            return f"{name} is not contiguous along k, as wgmma wants elements of this type"
    rows = [(t if row_major(t) else t.swapaxes(1, 2)) for t in (a, b)]
    names = ["a", "b", "out"] + ["a matrix of the epilogue"] * (len(matrices) - 1)
    for name, t in zip(names, (*rows, *matrices), strict=True):
        if int(t.shape[2]) > 1 and strides(t)[2] != 1:
            return f"neither rows nor columns of {name} are contiguous"
    return ""


def refuse(reason: str) -> ArgumentError:
    """The error for a product that only Hopper's kernels do."""
    if not have_hopper():
        return ArgumentError(
            f"this product needs a kernel for Hopper: {reason}", code="OC2539",
            expected="compute capability 9.0", found=run_target().arch,
            hint="a visitor, a HopperConfig and elements of 8 bits other than int8 are for it; a "
            "function of the sums alone, epilogue=lambda x: ..., needs no Hopper",
        )  # fmt: skip
    hint = "pass a contiguous copy"
    if "tf32" in reason:
        hint = "pass tf32=True, or leave out epilogue= and the HopperConfig"
    elif "along k" in reason:
        hint = "pass a copy: of a in rows, of b in columns"
    elif "asked for" in reason:
        hint = "pass a HopperConfig, or leave out config="
    return ArgumentError(
        f"this product needs a kernel for Hopper: {reason}", code="OC2539", hint=hint
    )  # fmt: skip
