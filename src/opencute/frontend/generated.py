# SPDX-FileCopyrightText: 2026 The OpenCuTe authors
# SPDX-License-Identifier: Apache-2.0
"""What rewritten code calls: the run-time half of the rewrites, as the name `__oc__`."""

from __future__ import annotations

from opencute.frontend.control import (
    for_,
    if_,
    later,
    next_turn,
    reach,
    static_while,
    values,
    while_,
)
from opencute.frontend.expressions import (
    and_,
    builtin,
    chain,
    compare,
    contains,
    decides,
    equal,
    ifexp,
    not_,
    or_,
    same,
)
from opencute.frontend.leaving import caught, go_on, raised, unrolled
from opencute.frontend.matching import match
from opencute.frontend.state.links import given
from opencute.frontend.state.turns import truth
from opencute.lang.block.warps import elected

__all__ = [
    "and_",
    "builtin",
    "caught",
    "chain",
    "compare",
    "contains",
    "decides",
    "elected",
    "equal",
    "for_",
    "given",
    "go_on",
    "if_",
    "ifexp",
    "later",
    "match",
    "next_turn",
    "not_",
    "or_",
    "raised",
    "reach",
    "same",
    "static_while",
    "truth",
    "unrolled",
    "values",
    "while_",
]
