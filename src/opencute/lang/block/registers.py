# SPDX-FileCopyrightText: 2026 The OpenCuTe authors
# SPDX-License-Identifier: Apache-2.0
"""Special registers beyond thread and block indices: clusters, lane masks, clocks."""

from __future__ import annotations

from typing import Any

from opencute.dialects import ptx
from opencute.lang.arch import index_in, triple_in
from opencute.lang.numbers import Int64, Uint32, Uint64

__all__ = [
    "block_idx_in_cluster",
    "block_in_cluster_dim",
    "block_in_cluster_idx",
    "clock",
    "clock64",
    "cluster_dim",
    "cluster_idx",
    "cluster_size",
    "globaltimer",
    "lanemask_eq",
    "lanemask_ge",
    "lanemask_gt",
    "lanemask_le",
    "lanemask_lt",
    "smid",
]


def cluster_idx(*, loc: Any = None, ip: Any = None) -> tuple[Any, Any, Any]:
    """Index of the cluster in the grid: (x, y, z) as Int32."""
    return triple_in("clusterid")


def cluster_dim(*, loc: Any = None, ip: Any = None) -> tuple[Any, Any, Any]:
    """Clusters in the grid: (x, y, z) as Int32."""
    return triple_in("nclusterid")


def block_in_cluster_idx(*, loc: Any = None, ip: Any = None) -> tuple[Any, Any, Any]:
    """Index of the block in its cluster: (x, y, z) as Int32."""
    return triple_in("cluster_ctaid")


def block_in_cluster_dim(*, loc: Any = None, ip: Any = None) -> tuple[Any, Any, Any]:
    """Blocks of a cluster: (x, y, z) as Int32."""
    return triple_in("cluster_nctaid")


def block_idx_in_cluster(*, loc: Any = None, ip: Any = None) -> Any:
    """Linear index of the block in its cluster, x fastest."""
    return index_in("cluster_ctarank")


def cluster_size(*, loc: Any = None, ip: Any = None) -> Any:
    """Number of blocks in a cluster."""
    return index_in("cluster_nctarank")


def smid(*, loc: Any = None, ip: Any = None) -> Any:
    """Number of the multiprocessor that runs the block now."""
    return index_in("smid")


def clock(*, loc: Any = None, ip: Any = None) -> Any:
    """The multiprocessor's cycle counter, as Uint32: wraps around."""
    return Uint32(ptx.sreg("clock"))


def clock64(*, loc: Any = None, ip: Any = None) -> Any:
    """The multiprocessor's cycle counter, as Int64."""
    return Int64(ptx.sreg("clock64"))


def globaltimer(*, loc: Any = None, ip: Any = None) -> Any:
    """Nanoseconds since some time, the same for the whole device, as Uint64."""
    return Uint64(ptx.sreg("globaltimer"))


def _mask(which: str) -> Any:
    return Uint32(ptx.sreg(f"lanemask_{which}"))


def lanemask_eq(*, loc: Any = None, ip: Any = None) -> Any:
    """The bit of this lane."""
    return _mask("eq")


def lanemask_lt(*, loc: Any = None, ip: Any = None) -> Any:
    """The bits of the lanes before this one."""
    return _mask("lt")


def lanemask_le(*, loc: Any = None, ip: Any = None) -> Any:
    """The bits of this lane and those before."""
    return _mask("le")


def lanemask_gt(*, loc: Any = None, ip: Any = None) -> Any:
    """The bits of the lanes after this one."""
    return _mask("gt")


def lanemask_ge(*, loc: Any = None, ip: Any = None) -> Any:
    """The bits of this lane and those after."""
    return _mask("ge")
