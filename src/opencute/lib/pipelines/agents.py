# SPDX-FileCopyrightText: 2026 The OpenCuTe authors
# SPDX-License-Identifier: Apache-2.0
"""Who takes part in a pipeline.

loaders = pipeline.CooperativeGroup(pipeline.Agent.Thread, 32)
"""

# What users pass may be anything, whatever the annotations say.
# pyright: reportUnnecessaryIsInstance=false

from __future__ import annotations

import enum
from typing import Any

from opencute.base.errors import ArgumentError, ArgumentTypeError
from opencute.lang.numbers import Numeric

__all__ = ["MAX_ARRIVALS", "Agent", "CooperativeGroup", "PipelineOp", "PipelineUserType"]

MAX_ARRIVALS = (1 << 20) - 1
"""Arrivals, and bytes, that a phase of an mbarrier can wait for."""


class Agent(enum.Enum):
    """What a group is made of."""

    Thread = "thread"
    Warp = "warp"
    ThreadBlock = "block"
    ThreadBlockCluster = "cluster"


class PipelineUserType(enum.Enum):
    """Which side of a pipeline a state belongs to."""

    Producer = "producer"
    Consumer = "consumer"
    ProducerConsumer = "both"


class PipelineOp(enum.Enum):
    """What arrives at a barrier: a thread, when its copies are done, or a unit of the hardware."""

    AsyncThread = "thread"
    AsyncLoad = "cp.async"
    TmaLoad = "tma load"
    TmaStore = "tma store"
    TCGen05Mma = "tcgen05.mma"


class CooperativeGroup:
    """A group of agents; its size is how often a barrier sees it arrive in each phase.

    Args:
        agent: what the group is made of.
        size: arrivals: threads for pipelines whose threads all arrive, warps for those where one
            thread of a warp arrives for it (times the blocks that it arrives at).
        alignment: accepted; without effect.

    Raises:
        ArgumentTypeError: no agent, or a size that is no compile-time int.
        ArgumentError: a size that no barrier can count.
    """

    def __init__(self, agent: Agent, size: int = 1, alignment: Any = None) -> None:
        if not isinstance(agent, Agent):
            raise ArgumentTypeError(
                "a group is of an Agent", code="OC2185", found=repr(agent),
                expected=", ".join(f"Agent.{a.name}" for a in Agent),
            )  # fmt: skip
        if isinstance(size, Numeric) and not size.is_dynamic:
            size = size.value
        if isinstance(size, float) and size.is_integer():  # threads / 32
            size = int(size)
        if isinstance(size, bool) or not isinstance(size, int):
            raise ArgumentTypeError(
                "a group's size is a compile-time int", code="OC2185", found=repr(size)
            )
        if not 1 <= size <= MAX_ARRIVALS:
            raise ArgumentError(
                "a barrier cannot count so many arrivals", code="OC2186", found=size,
                expected=f"1 to {MAX_ARRIVALS}",
            )  # fmt: skip
        self.agent = agent
        self.size = size
