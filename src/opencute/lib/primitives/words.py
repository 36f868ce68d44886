# SPDX-FileCopyrightText: 2026 The OpenCuTe authors
# SPDX-License-Identifier: Apache-2.0
"""The words of instructions, as enumerations."""

from __future__ import annotations

import enum

__all__ = [
    "CTAGroup", "LoadShape", "LoadSrcFormat", "MBarrierWait", "MMALayout", "MemOrder", "MemScope",
    "Proxy", "ReductionKind", "ReductionOp", "ReductionType", "SetMaxRegisterAction", "SharedSpace",
    "Shfl", "StoreShape", "TensormapField", "VoteSync",
]  # fmt: skip


class CTAGroup(enum.Enum):
    """How many blocks an instruction of Blackwell is for."""

    CTA_1 = 1
    CTA_2 = 2


class MemScope(enum.Enum):
    """Among which threads an access is ordered."""

    CTA = "cta"
    CLUSTER = "cluster"
    GPU = "gpu"
    SYS = "sys"


class MemOrder(enum.Enum):
    """How an access is ordered."""

    WEAK = "weak"
    RELAXED = "relaxed"
    ACQUIRE = "acquire"
    RELEASE = "release"
    ACQ_REL = "acq_rel"


class MBarrierWait(enum.Enum):
    """How to wait at an mbarrier."""

    TRY = "try"
    TEST = "test"


class Proxy(enum.Enum):
    """Ways to memory."""

    ALIAS = "alias"
    ASYNC = "async"
    ASYNC_GLOBAL = "async.global"
    ASYNC_SHARED = "async.shared"
    GENERIC = "generic"
    TENSORMAP = "tensormap"


class SharedSpace(enum.Enum):
    """Whose shared memory."""

    shared_cta = "cta"
    shared_cluster = "cluster"


class SetMaxRegisterAction(enum.Enum):
    """What happens to a warpgroup's registers."""

    INCREASE = "inc"
    DECREASE = "dec"


class Shfl(enum.Enum):
    """Where a shuffle takes values from."""

    IDX = "idx"
    UP = "up"
    DOWN = "down"
    BFLY = "bfly"


class VoteSync(enum.Enum):
    """What a vote asks."""

    ALL = "all"
    ANY = "any"
    UNI = "uni"
    BALLOT = "ballot"


class ReductionKind(enum.Enum):
    """How the values of a warp are combined."""

    ADD = "add"
    MIN = "min"
    MAX = "max"
    UMIN = "umin"
    UMAX = "umax"
    AND = "and"
    OR = "or"
    XOR = "xor"
    FMIN = "fmin"
    FMAX = "fmax"


class ReductionOp(enum.Enum):
    """How memory is combined with a value."""

    ADD = "add"
    MIN = "min"
    MAX = "max"
    INC = "inc"
    DEC = "dec"
    AND = "and"
    OR = "or"
    XOR = "xor"


class ReductionType(enum.Enum):
    """The type that memory is combined in."""

    S32 = "s32"
    U32 = "u32"
    S64 = "s64"
    U64 = "u64"
    F16 = "f16"
    BF16 = "bf16"
    F32 = "f32"
    F64 = "f64"


class MMALayout(enum.Enum):
    """Which index of a matrix is contiguous."""

    ROW = "row"
    COL = "col"


class LoadShape(enum.Enum):
    """The matrices that `ldmatrix` reads."""

    M8N8 = "m8n8"
    M16N16 = "m16n16"


class LoadSrcFormat(enum.Enum):
    """The elements of the matrices that `ldmatrix` reads."""

    B8 = "b8"
    B16 = "b16"


class StoreShape(enum.Enum):
    """The matrices that `stmatrix` writes."""

    M8N8 = "m8n8"
    M16N8 = "m16n8"


class TensormapField(enum.Enum):
    """The fields of a tensor map that can be changed."""

    GLOBAL_ADDRESS = "global_address"
    RANK = "rank"
    BOX_DIM = "box_dim"
    GLOBAL_DIM = "global_dim"
    GLOBAL_STRIDE = "global_stride"
    ELEMENT_STRIDE = "element_stride"
