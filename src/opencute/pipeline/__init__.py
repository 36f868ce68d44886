# SPDX-FileCopyrightText: 2026 The OpenCuTe authors
# SPDX-License-Identifier: Apache-2.0
"""`cutlass.pipeline`: threads that wait for each other."""

from __future__ import annotations

from opencute.base.lazy import lazy_names

_LIB = "opencute.lib.pipelines."

__getattr__, __dir__, __all__ = lazy_names(
    __name__,
    {
        "Agent": _LIB + "agents",
        "CooperativeGroup": _LIB + "agents",
        "MbarrierArray": _LIB + "barriers",
        "NamedBarrier": "opencute.lib.named_barrier",
        "PipelineAsync": _LIB + "base",
        "PipelineConsumer": _LIB + "participants",
        "PipelineCpAsync": _LIB + "copies",
        "PipelineOp": _LIB + "agents",
        "PipelineOrder": _LIB + "order",
        "PipelineProducer": _LIB + "participants",
        "PipelineState": _LIB + "states",
        "PipelineTmaAsync": _LIB + "copies",
        "PipelineTmaMultiConsumersAsync": _LIB + "copies",
        "PipelineTmaStore": _LIB + "tma_store",
        "PipelineUserType": _LIB + "agents",
        "TmaStoreFence": _LIB + "tma_store",
        "agent_sync": _LIB + "barriers",
        "arrive": "opencute.lib.named_barrier",
        "arrive_and_wait": "opencute.lib.named_barrier",
        "make_pipeline_state": _LIB + "states",
        "pipeline_init_arrive": _LIB + "barriers",
        "pipeline_init_wait": _LIB + "barriers",
        "sync": "opencute.lib.named_barrier",
    },
)
