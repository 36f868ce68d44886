# SPDX-FileCopyrightText: 2026 The OpenCuTe authors
# SPDX-License-Identifier: Apache-2.0
"""All rules of Hopper's operations, for `tiles`."""

from __future__ import annotations

from opencute.arch.target import Target
from opencute.ir.rewrite import Rule
from opencute.passes.hopper.cluster import cluster_rules
from opencute.passes.hopper.mbarrier import mbarrier_rules
from opencute.passes.hopper.tma import tma_rules

__all__ = ["hopper_rules"]


def hopper_rules(target: Target) -> dict[str, Rule]:
    """The rules, by the operation's name."""
    return {**mbarrier_rules(), **cluster_rules(target), **tma_rules()}
