# SPDX-FileCopyrightText: 2026 The OpenCuTe authors
# SPDX-License-Identifier: Apache-2.0
"""What rewritten code calls: the run-time half of the rewrites, as the name `__oc__`."""

from __future__ import annotations

from opencute.frontend.control import for_, if_, reach, values, while_
from opencute.frontend.expressions import (
    and_,
    builtin,
    chain,
    compare,
    contains,
    ifexp,
    not_,
    or_,
)
from opencute.frontend.leaving import go_on, raised, static_go_on, unrolled
from opencute.lang.block.warps import elected

__all__ = [
    "and_",
    "builtin",
    "chain",
    "compare",
    "contains",
    "elected",
    "for_",
    "go_on",
    "if_",
    "ifexp",
    "not_",
    "or_",
    "raised",
    "reach",
    "static_go_on",
    "unrolled",
    "values",
    "while_",
]
