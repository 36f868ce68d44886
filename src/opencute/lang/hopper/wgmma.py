# SPDX-FileCopyrightText: 2026 The OpenCuTe authors
# SPDX-License-Identifier: Apache-2.0
"""`cute.gemm` by a warpgroup, and what orders such products.

In: an accumulator in registers, A and B as descriptor tensors (A also in registers). A product runs
while its threads go on, so that they say when it may begin, and wait for it::

    warpgroup.fence()
    cute.gemm(tiled_mma, acc, tCrA[None, None, k], tCrB[None, None, k], acc)
    warpgroup.commit_group()
    warpgroup.wait_group(0)
"""

from __future__ import annotations

from typing import Any

from opencute import layout as la
from opencute.arch.wgmma import WgmmaAtom
from opencute.base.errors import ArgumentError, LayoutError, TypeMismatchError
from opencute.dialects.hopper import wgmma as dialect
from opencute.ir.core import Value
from opencute.lang.hopper.descriptors import Descriptor
from opencute.lang.hopper.operations import WarpgroupOp
from opencute.lang.numbers import Boolean
from opencute.lang.pointers import AddressSpace, Pointer
from opencute.lang.tensors import TracedTensor, layout_operands, tile
from opencute.layout import ComposedLayout, Layout

__all__ = ["commit_group", "fence", "gemm", "wait_group"]


def fence(*, loc: Any = None, ip: Any = None) -> None:
    """What the threads did to registers so far comes before the products that follow."""
    dialect.fence()


def commit_group(*, loc: Any = None, ip: Any = None) -> None:
    """The products since the last call make a group, which `wait_group` counts."""
    dialect.commit()


def wait_group(group: Any, *, loc: Any = None, ip: Any = None) -> None:
    """Wait until at most `group` groups are under way.

    Args:
        group: 0 to 7, a compile-time integer.

    Raises:
        ArgumentError: no such number.
    """
    if not hasattr(group, "__index__") or not 0 <= int(group) <= 7:
        raise ArgumentError(
            "wait_group takes a number of groups that is known when the kernel is compiled",
            code="OC2175", expected="0 to 7", found=group,
        )  # fmt: skip
    dialect.wait(int(group))


def gemm(
    atom: Any, d: Any, a: Any, b: Any, c: Any, three_modes: Any,
    metadata: list[Value] | None = None,
) -> None:  # fmt: skip
    """``d += a * b``, or ``d = a * b`` where the field ACCUMULATE is off.

    Args:
        atom: an MmaAtom or TiledMma of a warpgroup's operation.
        d: the accumulator.
        a: descriptors, or a register tensor for OperandSource.RMEM.
        b: descriptors.
        c: the accumulator again.
        three_modes: brings the layouts of (d, a, b, c) to three modes each.
        metadata: of a sparse product, the thread's word for each tile of A.

    Raises:
        TypeMismatchError: an operand that the instruction does not take.
        LayoutError: shapes that do not fit.
    """
    op, record = atom.op, atom.record
    operands = [_operand(op, name, x) for name, x in zip("dabc", (d, a, b, c), strict=True)]
    d, a, b, c = operands
    if d.iterator.value is not c.iterator.value or d.layout != c.layout:
        raise TypeMismatchError(
            "gemm: a warpgroup adds to its accumulator in place", code="OC1284",
            expected="one tensor for d and c", found=f"{d} and {c}",
        )  # fmt: skip
    if record.a_in_registers and a.element_type is not op.a_dtype:
        a = TracedTensor(a.iterator.recast(op.a_dtype), a.layout)
    layouts = three_modes([x.layout for x in operands])
    _check_shapes(record, layouts)
    if metadata is not None and len(metadata) != la.size(layouts[1]) // la.size(layouts[1][0]):
        raise LayoutError(
            "gemm: the metadata does not fit A", code="OC1382", expected=layouts[1],
            found=f"metadata of {len(metadata)} tiles",
        )  # fmt: skip
    highs = [x.iterator.strides.high if _described(x) else 0 for x in (a, b)]
    majors = ["mn" if _described(x) and x.iterator.mn_major else "k" for x in (a, b)]
    accumulate = Boolean(atom.settings.accumulate)
    dialect.cute_wgmma(
        record.name, tile(TracedTensor(d.iterator, layouts[0])),
        a.iterator.value, layout_operands(layouts[1])[0],
        b.iterator.value, layout_operands(layouts[2])[0], accumulate.ir_value(),
        majors=(majors[0], majors[1]), highs=(highs[0], highs[1]), meta=metadata or (),
        selector=None if metadata is None else 0,
    )  # fmt: skip


def _described(x: TracedTensor) -> bool:
    return isinstance(x.iterator, Descriptor)


def _operand(op: WarpgroupOp, name: str, x: Any) -> TracedTensor:
    if not isinstance(x, TracedTensor) or not isinstance(x.iterator, Pointer):
        raise TypeMismatchError(f"gemm: {name} is no tensor in memory", code="OC1279", found=str(x))
    if not op.takes(name, x.element_type):
        raise TypeMismatchError(
            f"gemm: the atom does not take {name}", code="OC1280",
            expected=getattr(op, f"{'acc' if name in 'dc' else name}_dtype"), found=x.element_type,
            hint="convert with .to(...), or recast_tensor where the bits are right already",
        )  # fmt: skip
    in_registers = name in "dc" or (name == "a" and op.record.a_in_registers)
    if in_registers and (_described(x) or x.memspace != AddressSpace.rmem):
        raise TypeMismatchError(
            f"gemm: {name} is not in registers", code="OC1281", found=str(x),
            hint="make a register tensor of it; OperandSource.SMEM reads A from shared memory",
        )  # fmt: skip
    if not in_registers:
        _check_described(op, name, x)
    if isinstance(x.layout, ComposedLayout) or not la.is_static(x.layout):
        raise LayoutError(
            f"gemm: {name} has no static plain layout", code="OC1379", found=x.layout,
            hint="index the mode of pipeline stages first",
        )  # fmt: skip
    return x


def _check_described(op: WarpgroupOp, name: str, x: TracedTensor) -> None:
    which = name.upper()
    if not _described(x):
        raise TypeMismatchError(
            f"gemm: {name} is no tensor of descriptors", code="OC1281", found=str(x),
            hint=f"make one: tiled_mma.make_fragment_{which}(thr_mma.partition_{which}(s{which}))",
        )  # fmt: skip
    assert isinstance(x.iterator, Descriptor)
    mode = getattr(op, f"{name}_major_mode")
    m, n, k = op.record.mnk
    shape = (m, op.record.a_k) if name == "a" else (n, k)
    if x.iterator.mn_major != (mode.value == "mn") or x.iterator.shape != shape:
        raise TypeMismatchError(
            f"gemm: the descriptors of {name} were made for another operand or operation",
            code="OC1280", expected=f"tiles of {shape[0]} x {shape[1]}, {mode}",
            found=f"tiles of {x.iterator.shape[0]} x {x.iterator.shape[1]}: {x.iterator}",
        )  # fmt: skip


def _check_shapes(record: WgmmaAtom, layouts: list[Layout]) -> None:
    d, a, b, _ = ([la.size(x, mode=[i]) for i in range(3)] for x in layouts)
    va = record.values[0] if record.a_in_registers else 1
    vc = record.values[2]
    if [a[0], b[0], d[0]] != [va, 1, vc]:
        raise LayoutError(
            "gemm: the first modes are not the atom's values", code="OC1381",
            expected=f"{va} of a, 1 of b, {vc} of c and d",
            found=f"{a[0]} of a, {b[0]} of b, {d[0]} of d",
        )  # fmt: skip
    if [a[1], b[1]] != d[1:] or a[2] != b[2]:
        raise LayoutError(
            "gemm: M, N or K of the operands differ", code="OC1382",
            expected="d (V,M,N), a (V,M,K), b (V,N,K), c (V,M,N)",
            found=" ".join(la.to_str(x.shape) for x in layouts),
        )  # fmt: skip
