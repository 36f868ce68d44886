# SPDX-FileCopyrightText: 2026 The OpenCuTe authors
# SPDX-License-Identifier: Apache-2.0
"""From arrays to a launch on Hopper: what TMA can read and write, and the plan for it.

In: matrices (batch, rows, columns), a visitor. Out: the product, in the last of them::

    if not why_not(left, right, [d], "f16"):
        on_hopper(left, right, d, visitor, kind="f16", swapped=False, config=None)
"""

from __future__ import annotations

from typing import Any

import opencute as cutlass
from opencute import utils
from opencute.base.errors import ArgumentError
from opencute.compiler.targets import run_target
from opencute.cute.runtime import from_dlpack
from opencute.kernels.arrays import strides
from opencute.kernels.gemm.sm90 import hopper_gemm
from opencute.kernels.gemm.sm90_plan import HopperConfig, HopperPlan, hopper_heuristic
from opencute.kernels.gemm.visitors import Visitor

__all__ = ["have_hopper", "k_major", "on_hopper", "refuse", "type_of", "why_not"]

_CLASSES = {
    "float16": cutlass.Float16, "bfloat16": cutlass.BFloat16, "float32": cutlass.Float32,
    "int32": cutlass.Int32, "int8": cutlass.Int8, "uint8": cutlass.Uint8,
    "float8_e4m3fn": cutlass.Float8E4M3FN, "float8_e5m2": cutlass.Float8E5M2,
}  # fmt: skip
_MATRICES = ("load", "store")


def have_hopper() -> bool:
    """Whether kernels are run by a processor with `wgmma`."""
    return run_target().arch.startswith("sm_90")


def type_of(array: Any) -> Any:
    """The class of an array's elements."""
    return _CLASSES[str(array.dtype).rpartition(".")[2]]


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
    batch, m, n = d.shape[0], a.shape[1], b.shape[1]
    if config is None:
        config = hopper_heuristic(int(m), int(n), int(batch), kind == "f8")
    config = config.check()
    types = [cutlass.TFloat32 if kind == "tf32" else type_of(t) for t in (a, b)]
    shared = [int(batch) > 1 and strides(t)[0] == 0 for t in (a, b)]
    a, b = (t[:1] if one else t for t, one in zip((a, b), shared, strict=True))
    majors = [k_major(t) for t in (a, b)]
    operands = visitor.operands.values()
    cells = config.cluster[0] * config.cluster[1]
    clusters = utils.HardwareInfo().get_max_active_clusters(cells)
    plan = HopperPlan(
        config, (types[0], types[1], type_of(d)), (majors[0], majors[1]), visitor.plan(swapped),
        tuple(type_of(o.value) for o in operands if o.kind in _MATRICES),
        (shared[0], shared[1]), min(config.most or clusters, clusters),
        utils.get_smem_capacity_in_bytes(),
    )  # fmt: skip
    extra = tuple(_operand(o.kind, o.value) for o in operands)
    lead = [2 if major else 1 for major in majors]
    hopper_gemm(_tensor(a, lead[0]), _tensor(b, lead[1]), _tensor(d, 2), extra, plan)


def _operand(kind: str, value: Any) -> Any:
    if kind == "scalar":
        return cutlass.Float32(float(value))
    if kind in _MATRICES:
        return _tensor(value, 2)
    return from_dlpack(value).mark_layout_dynamic()


def _tensor(array: Any, leading: int) -> Any:
    return from_dlpack(array).mark_layout_dynamic(leading_dim=leading)


def k_major(array: Any) -> bool:
    """Whether elements of a row of (batch, rows, k) are neighbours in memory."""
    return int(array.shape[2]) == 1 or strides(array)[2] == 1


def why_not(a: Any, b: Any, matrices: list[Any], kind: str) -> str:
    """What keeps TMA and wgmma from a product, in words; empty if nothing does.

    Args:
        a, b: (batch, rows, k).
        matrices: (batch, M, N): the result, and what visitors read and write.
        kind: of the product.
    """
    for name, t in (("a", a), ("b", b)):
        if kind not in ("f16", "bf16") and not k_major(t):
            return f"{name} is not contiguous along k, as wgmma wants elements of this type"
    rows = [(t if k_major(t) else t.swapaxes(1, 2)) for t in (a, b)]
    names = ["a", "b", "out"] + ["a matrix of the epilogue"] * (len(matrices) - 1)
    for name, t in zip(names, (*rows, *matrices), strict=True):
        if int(t.shape[2]) > 1 and strides(t)[2] != 1:
            return f"neither rows nor columns of {name} are contiguous"
        size = t.element_size() if hasattr(t, "element_size") else t.dtype.itemsize
        if any(s * size % 16 for s in strides(t)[:2]):
            return f"strides of {name} are no multiples of 16 bytes, as TMA wants them"
        at = t.data_ptr() if hasattr(t, "data_ptr") else t.ctypes.data
        if at % 16:
            return f"{name} does not start at a multiple of 16 bytes"
    return ""


def refuse(reason: str) -> ArgumentError:
    """The error for a product that only Hopper's kernels do."""
    return ArgumentError(
        f"this product needs a kernel for Hopper: {reason}", code="OC2539",
        expected="compute capability 9.0, and matrices that TMA reads", found=run_target().arch,
        hint="copy the matrix to one whose rows are padded to 16 bytes",
    )  # fmt: skip
