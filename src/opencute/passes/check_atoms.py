# SPDX-FileCopyrightText: 2026 The OpenCuTe authors
# SPDX-License-Identifier: Apache-2.0
"""check_atoms: what the target does not have is an error on the user's line.

In: a kernel. Out: the same kernel, or an error for the first atom or instruction that is newer than
the target::

    cute.gemm {atom = "m16n8k32.f32.e4m3.e4m3.f32"}   on sm_80   ->   OC1066

Cost: linear.
"""

from __future__ import annotations

from opencute.arch.copies import COPY_ATOMS
from opencute.arch.mma import MMA_ATOMS, MmaAtom
from opencute.arch.sparse import SPARSE_MMA_ATOMS, SparseMmaAtom
from opencute.arch.target import Target
from opencute.base.errors import CompileError
from opencute.ir.attributes import StringAttr
from opencute.ir.core import Op
from opencute.passes.hopper.needed import check_instruction

__all__ = ["check_atoms"]


def check_atoms(function: Op, target: Target) -> None:
    """Check the atoms of one function.

    Raises:
        CompileError: the target does not have one.
    """
    for op in function.walk():
        check_instruction(op, target)
        if op.name == "cute.wgmma" and not target.has_wgmma:
            raise CompileError(
                f"{target} has no products of warpgroups", code="OC1066", loc=op.loc,
                expected="sm_90a", found=target.name,
                hint=f"compile for sm_90a; {target} has the operations of cute.nvgpu.warp, such as "
                "MmaF16BF16Op",
            )  # fmt: skip
        if op.name == "cute.tma_descriptor" and function.name != "func.func":
            raise CompileError(
                "a kernel makes a tensor map", code="OC1071", loc=op.loc,
                expected="a map that host code makes: nothing on the device does",
                hint="call make_tiled_tma_atom in the jit function and pass the atom and its "
                "tensor to the kernel; a kernel changes maps with cpasync.update_tma_descriptor",
            )  # fmt: skip
        if op.name not in ("cute.copy", "cute.gemm", "ptx.mma", "ptx.mma_sp", "ptx.stmatrix"):
            continue
        name = op.attributes.get("atom")
        key = name.value if isinstance(name, StringAttr) else "stmatrix.x1"
        record = COPY_ATOMS.get(key) or MMA_ATOMS.get(key) or SPARSE_MMA_ATOMS.get(key)
        if record is not None and record.since > target.number:
            raise CompileError(
                f"{target} has no {key}", code="OC1066", loc=op.loc,
                expected=f"sm_{record.since} or later", found=target.name,
                hint=_instead(key, record, target),
            )  # fmt: skip


def _instead(key: str, record: object, target: Target) -> str:
    """What the target has in the place of an atom."""
    if not isinstance(record, MmaAtom | SparseMmaAtom):
        stores = key.startswith("stmatrix")
        return (
            f"compile for a newer processor, or {'store' if stores else 'copy'} with "
            "cute.nvgpu.CopyUniversalOp, which every processor has"
        )
    narrow = record.types[1] in ("e4m3", "e5m2")
    known = [name for name, atom in _OPERATIONS if MMA_ATOMS[atom].since <= target.number]
    return (
        f"{target} has {', '.join(known)} of cute.nvgpu.warp"
        + ("; convert the operands to f16 for the first of them" if narrow else "")
        + ", or compile for a newer processor"
    )


_OPERATIONS = (
    ("MmaF16BF16Op", "m16n8k16.f32.f16.f16.f32"),
    ("MmaTF32Op", "m16n8k8.f32.tf32.tf32.f32"),
    ("MmaI8Op", "m16n8k32.s32.s8.s8.s32"),
    ("MmaFP8Op", "m16n8k32.f32.e4m3.e4m3.f32"),
)
"""Operations of cute.nvgpu.warp, and an atom of each."""
