# SPDX-FileCopyrightText: 2026 The OpenCuTe authors
# SPDX-License-Identifier: Apache-2.0
"""A plugin of pytest that lets the simulator run published tests whose sizes are written in them.

In: test modules, unmodified, that hand their cases to a function `run` with the sizes of a product
as `mnkl`. Out: the same cases, all of them, each with the smallest product that still gives every
block of a cluster its tile, and enough steps for a sum to be moved on. ``pytest -p
opencute.tools.compat_sizes test_dense_gemm.py`` runs a product of 2048 x 2048 x 2048 with tiles of
128 x 64 and clusters of 2 x 1 as one of 256 x 64 x 512.
"""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any

__all__ = ["pytest_collection_modifyitems", "smaller"]

STEPS = 512  # sixteen instructions, the longest that a published case sums apart


def smaller(run: Callable[..., Any]) -> Callable[..., Any]:
    """A published `run` whose products are no larger than what one cluster computes."""

    @functools.wraps(run)
    def cut(**options: Any) -> Any:
        m, n, k, batch = options["mnkl"]
        tile, cluster = options["tile_shape_mn"], options["cluster_shape_mn"]
        most = (tile[0] * cluster[0], tile[1] * cluster[1], STEPS)
        sizes = (*map(min, (m, n, k), most), batch)
        return run(**{**options, "mnkl": sizes})

    return cut


def pytest_collection_modifyitems(items: list[Any]) -> None:
    """Give the modules that were collected a smaller `run`."""
    for module in {item.module for item in items}:
        if callable(run := getattr(module, "run", None)):
            module.run = smaller(run)
