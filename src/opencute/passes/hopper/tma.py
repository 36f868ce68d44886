# SPDX-FileCopyrightText: 2026 The OpenCuTe authors
# SPDX-License-Identifier: Apache-2.0
"""Rules of `tiles` for bulk copies, copies of tiles and tensor maps: one PTX instruction each.

Before::

    "ptx.tma_load"(%dst, %map, %bar, %x, %y) {mode = "tile", ...}

After::

    "llvm.inline_asm"(%d, %m, %b, %x, %y) {asm_string = "cp.async.bulk.tensor.2d.shared::cluster
        .global.mbarrier::complete_tx::bytes [$0], [$1, {$3, $4}], [$2];", constraints =
        "r,l,r,r,r,~{memory}"}
"""

from __future__ import annotations

from collections.abc import Sequence

from opencute.dialects import llvm
from opencute.dialects.cute import PtrType
from opencute.dialects.hopper.bulk import (
    BulkCopyOp,
    BulkPrefetchOp,
    BulkReduceOp,
    BulkWaitOp,
)
from opencute.dialects.hopper.tensor_maps import (
    FIELDS,
    CopyFenceTensormapOp,
    PrefetchTensormapOp,
    ReplaceTensormapOp,
)
from opencute.dialects.hopper.tma import TmaLoadOp, TmaPrefetchOp, TmaReduceOp, TmaStoreOp
from opencute.ir.core import Op, Value
from opencute.ir.rewrite import Replacement, Rewriter, Rule
from opencute.ir.types import I16, I32, I64, Type

__all__ = ["tma_rules"]

_LETTER: dict[Type, str] = {I16: "h", I32: "r", I64: "l"}
_COMPLETES = ".mbarrier::complete_tx::bytes"
_SPACE = {"gmem": "global", "smem": "shared::cta", "dsmem": "shared::cluster"}


def tma_rules() -> dict[str, Rule]:
    """The rules, by the operation's name."""
    return {
        "ptx.tma_load": _load, "ptx.tma_store": _store, "ptx.tma_reduce": _store,
        "ptx.tma_prefetch": _prefetch, "ptx.bulk_copy": _bulk_copy,
        "ptx.bulk_reduce": _bulk_reduce, "ptx.bulk_prefetch": _bulk_prefetch,
        "ptx.bulk_commit": _commit, "ptx.bulk_wait": _wait,
        "ptx.prefetch_tensormap": _prefetch_map, "ptx.tensormap_replace": _replace,
        "ptx.tensormap_copy_fence": _copy_fence,
    }  # fmt: skip


class _Asm:
    """An instruction in the making: operands get their places as they are named."""

    def __init__(self, rw: Rewriter, op: Op) -> None:
        self.types = {v: rw.source_type(i) for i, v in enumerate(op.operands)}
        self.values: list[Value] = []
        self.letters: list[str] = []

    def add(self, value: Value) -> str:
        """The place of a number, or of an address; those of shared memory have 32 bits."""
        type = self.types[value]
        if isinstance(type, PtrType):
            if type.space in ("smem", "dsmem"):
                value = llvm.ptrtoint(value, I32)
                self.letters.append("r")
            else:
                self.letters.append("l")
        else:
            self.letters.append(_LETTER[type])
        self.values.append(value)
        return f"${len(self.values) - 1}"

    def at(self, value: Value) -> str:
        """An address in brackets."""
        return f"[{self.add(value)}]"

    def tuple(self, values: Sequence[Value]) -> str:
        """Numbers in braces."""
        return "{" + ", ".join(self.add(v) for v in values) + "}"

    def emit(self, text: str) -> Replacement:
        """Build the instruction."""
        llvm.inline_asm(text, ",".join([*self.letters, "~{memory}"]), self.values, ())
        return ()


def _hint(cache: Value | None) -> str:
    return "" if cache is None else ".L2::cache_hint"


def _more(asm: _Asm, *values: Value | None) -> str:
    return "".join(f", {asm.add(v)}" for v in values if v is not None)


# ---------------------------------------------------------------- tiles
def _load(op: Op, rw: Rewriter) -> Replacement:
    assert isinstance(op, TmaLoadOp)
    asm = _Asm(rw, op)
    mode = ".im2col" if op.mode.value == "im2col" else ""
    cast = "" if op.mask is None else ".multicast::cluster"
    dst, map_, bar = asm.at(op.dst), asm.add(op.map), asm.at(op.bar)
    text = (
        f"cp.async.bulk.tensor.{len(op.coords)}d.shared::cluster.global{mode}{_COMPLETES}{cast}"
        f"{_hint(op.cache)} {dst}, [{map_}, {asm.tuple(op.coords)}], {bar}"
    )
    if op.offsets:
        text += f", {asm.tuple(op.offsets)}"
    return asm.emit(f"{text}{_more(asm, op.mask, op.cache)};")


def _store(op: Op, rw: Rewriter) -> Replacement:
    assert isinstance(op, TmaStoreOp | TmaReduceOp)
    asm = _Asm(rw, op)
    head, word = "cp.async.bulk", ""
    if isinstance(op, TmaReduceOp):
        head, word = "cp.reduce.async.bulk", f".{op.op.value}"
    mode = ".im2col_no_offs" if op.mode.value == "im2col" else ""
    map_, src = asm.add(op.map), asm.at(op.src)
    return asm.emit(
        f"{head}.tensor.{len(op.coords)}d.global.shared::cta{word}{mode}.bulk_group"
        f"{_hint(op.cache)} [{map_}, {asm.tuple(op.coords)}], {src}{_more(asm, op.cache)};"
    )


def _prefetch(op: Op, rw: Rewriter) -> Replacement:
    assert isinstance(op, TmaPrefetchOp)
    asm = _Asm(rw, op)
    mode = ".im2col" if op.mode.value == "im2col" else ""
    text = (
        f"cp.async.bulk.prefetch.tensor.{len(op.coords)}d.L2.global{mode}{_hint(op.cache)} "
        f"[{asm.add(op.map)}, {asm.tuple(op.coords)}]"
    )
    if op.offsets:
        text += f", {asm.tuple(op.offsets)}"
    return asm.emit(f"{text}{_more(asm, op.cache)};")


# ---------------------------------------------------------------- runs of bytes
def _path(asm: _Asm, op: BulkCopyOp | BulkReduceOp) -> tuple[str, str]:
    """Where to and from, and how completion is told."""
    dst, src = asm.types[op.dst], asm.types[op.src]
    assert isinstance(dst, PtrType) and isinstance(src, PtrType)
    to = "shared::cluster" if dst.space == "smem" else _SPACE[dst.space]
    return f".{to}.{_SPACE[src.space]}", ".bulk_group" if dst.space == "gmem" else _COMPLETES


def _bulk_copy(op: Op, rw: Rewriter) -> Replacement:
    assert isinstance(op, BulkCopyOp)
    asm = _Asm(rw, op)
    path, tells = _path(asm, op)
    cast = "" if op.mask is None else ".multicast::cluster"
    text = (
        f"cp.async.bulk{path}{tells}{cast}{_hint(op.cache)} "
        f"{asm.at(op.dst)}, {asm.at(op.src)}, {asm.add(op.size)}"
    )
    if op.bar is not None:
        text += f", {asm.at(op.bar)}"
    return asm.emit(f"{text}{_more(asm, op.mask, op.cache)};")


def _bulk_reduce(op: Op, rw: Rewriter) -> Replacement:
    assert isinstance(op, BulkReduceOp)
    asm = _Asm(rw, op)
    path, tells = _path(asm, op)
    type = op.type.value
    exact = ".noftz" if type in ("f16", "bf16") and op.op.value == "add" else ""
    text = (
        f"cp.reduce.async.bulk{path}{tells}{_hint(op.cache)}.{op.op.value}{exact}.{type} "
        f"{asm.at(op.dst)}, {asm.at(op.src)}, {asm.add(op.size)}"
    )
    if op.bar is not None:
        text += f", {asm.at(op.bar)}"
    return asm.emit(f"{text}{_more(asm, op.cache)};")


def _bulk_prefetch(op: Op, rw: Rewriter) -> Replacement:
    assert isinstance(op, BulkPrefetchOp)
    asm = _Asm(rw, op)
    return asm.emit(
        f"cp.async.bulk.prefetch.L2.global{_hint(op.cache)} {asm.at(op.src)}, {asm.add(op.size)}"
        f"{_more(asm, op.cache)};"
    )


def _commit(op: Op, rw: Rewriter) -> Replacement:
    return _Asm(rw, op).emit("cp.async.bulk.commit_group;")


def _wait(op: Op, rw: Rewriter) -> Replacement:
    assert isinstance(op, BulkWaitOp)
    read = ".read" if op.read.value else ""
    return _Asm(rw, op).emit(f"cp.async.bulk.wait_group{read} {op.groups.value};")


# ---------------------------------------------------------------- tensor maps
def _prefetch_map(op: Op, rw: Rewriter) -> Replacement:
    assert isinstance(op, PrefetchTensormapOp)
    asm = _Asm(rw, op)
    return asm.emit(f"prefetch.tensormap {asm.at(op.map)};")


def _map_space(asm: _Asm, value: Value) -> str:
    type = asm.types[value]
    assert isinstance(type, PtrType)
    return "" if type.space == "generic" else f".{_SPACE[type.space]}"


def _replace(op: Op, rw: Rewriter) -> Replacement:
    assert isinstance(op, ReplaceTensormapOp)
    asm = _Asm(rw, op)
    field = op.field.value
    listed, type = FIELDS[field]
    ord_ = f" {op.ord.value}," if listed else ""
    width = "b64" if type == I64 else "b32"
    head = f"tensormap.replace.tile.{field}{_map_space(asm, op.map)}.b1024.{width}"
    return asm.emit(f"{head} {asm.at(op.map)},{ord_} {asm.add(op.value)};")


def _copy_fence(op: Op, rw: Rewriter) -> Replacement:
    assert isinstance(op, CopyFenceTensormapOp)
    asm = _Asm(rw, op)
    return asm.emit(
        "tensormap.cp_fenceproxy.global.shared::cta.tensormap::generic.release.gpu.sync.aligned "
        f"{asm.at(op.dst)}, {asm.at(op.src)}, 128;"
    )
