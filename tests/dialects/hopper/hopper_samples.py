# SPDX-FileCopyrightText: 2026 The OpenCuTe authors
# SPDX-License-Identifier: Apache-2.0
"""Samples of Hopper's operations; see `dialects.samples`."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from opencute.dialects import cute
from opencute.dialects.hopper import cluster, launch, mbarrier
from opencute.ir.core import Value
from opencute.ir.types import F32, F64, I1, I32, I64, Type, VectorType, element_type

__all__ = ["HOPPER"]

Arg = Callable[[Type], Value]
BAR = cute.PtrType(I64, "smem", 8)
FAR = cute.PtrType(I64, "dsmem", 8)
HOPPER: dict[str, list[Callable[[Arg], Any]]] = {}


def _add(name: str, *samples: Callable[[Arg], Any]) -> None:
    HOPPER.setdefault(name, []).extend(samples)


def _orders(sems: tuple[str, ...]) -> list[dict[str, str]]:
    return [
        {"sem": sem, "scope": scope}
        for sem in sems
        for scope in (mbarrier.MBARRIER_SCOPES if sem else ("",))
    ]


_add(
    "ptx.mbarrier_init",
    lambda arg: mbarrier.mbarrier_init(arg(BAR), arg(I32)),
    lambda arg: mbarrier.mbarrier_init(arg(BAR), arg(I32), arg(I1)),
)
_add("ptx.mbarrier_inval", lambda arg: mbarrier.mbarrier_inval(arg(BAR)))
_add("ptx.fence_mbarrier_init", lambda arg: mbarrier.fence_mbarrier_init())
for _kind in mbarrier.ARRIVALS:
    for _order in _orders(mbarrier.ARRIVE_SEMS):
        _add(
            "ptx.mbarrier_arrive",
            lambda arg, k=_kind, o=_order: mbarrier.mbarrier_arrive(k, arg(BAR), arg(I32), **o),
            lambda arg, k=_kind, o=_order: mbarrier.mbarrier_arrive(
                k, arg(FAR), arg(I32), arg(I1), **o
            ),
        )
        _add(
            "ptx.mbarrier_arrive_token",
            lambda arg, k=_kind, o=_order: mbarrier.mbarrier_arrive_token(
                k, arg(BAR), arg(I32), **o
            ),
        )
_add("ptx.mbarrier_pending_count", lambda arg: mbarrier.mbarrier_pending_count(arg(I64)))
for _kind in mbarrier.TX:
    _add(
        "ptx.mbarrier_tx",
        lambda arg, k=_kind: mbarrier.mbarrier_tx(k, arg(BAR), arg(I32)),
        lambda arg, k=_kind: mbarrier.mbarrier_tx(k, arg(FAR), arg(I32), arg(I1)),
    )
for _phase in (I32, I64):
    for _order in _orders(mbarrier.WAIT_SEMS):
        _add(
            "ptx.mbarrier_test_wait",
            lambda arg, p=_phase, o=_order: mbarrier.mbarrier_test_wait(arg(BAR), arg(p), **o),
        )
        _add(
            "ptx.mbarrier_try_wait",
            lambda arg, p=_phase, o=_order: mbarrier.mbarrier_try_wait(arg(BAR), arg(p), **o),
            lambda arg, p=_phase, o=_order: mbarrier.mbarrier_try_wait(
                arg(BAR), arg(p), arg(I32), **o
            ),
        )
        _add(
            "ptx.mbarrier_wait",
            lambda arg, p=_phase, o=_order: mbarrier.mbarrier_wait(arg(BAR), arg(p), **o),
        )
_add(
    "ptx.mapa",
    lambda arg: cluster.mapa(arg(BAR), arg(I32)),
    lambda arg: cluster.mapa(arg(cute.PtrType(F32, "smem", 16)), arg(I32)),
)
for _sem in cluster.CLUSTER_SEMS:
    _add("ptx.cluster_arrive", lambda arg, s=_sem: cluster.cluster_arrive(s))
_add("ptx.cluster_wait", lambda arg: cluster.cluster_wait())
_add("ptx.setmaxnreg", *[lambda arg, a=a: cluster.setmaxnreg(a, 40) for a in cluster.SETMAXNREG])
_add("ptx.griddepcontrol", *[lambda arg, a=a: cluster.griddepcontrol(a) for a in cluster.GRIDDEP])
_add(
    "ptx.cp_async_mbarrier_arrive",
    lambda arg: cluster.cp_async_mbarrier_arrive(arg(BAR)),
    lambda arg: cluster.cp_async_mbarrier_arrive(arg(BAR), noinc=True),
)


def _far(element: Type) -> cute.PtrType:
    return cute.PtrType(element, "dsmem", 16)


for _t in (I32, I64, F32, F64, VectorType(2, I64), VectorType(4, F32), VectorType(2, I32)):
    _add(
        "ptx.st_async",
        lambda arg, t=_t: cluster.st_async(arg(_far(element_type(t))), arg(t), arg(FAR)),
    )
for _name, _types in cluster.RED_ASYNC.items():
    for _t in _types:
        _add(
            "ptx.red_async",
            lambda arg, n=_name, t=_t: cluster.red_async(n, arg(_far(t)), arg(t), arg(FAR)),
        )
_add(
    "ptx.red_async",
    lambda arg: cluster.red_async("min", arg(_far(I32)), arg(I32), arg(FAR), unsigned=True),
)
_add(
    "cute.launch_event",
    lambda arg: launch.launch_event("completion", arg(I64)),
    lambda arg: launch.launch_event("programmatic", arg(I64), 1, at_start=True),
)
