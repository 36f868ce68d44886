# SPDX-FileCopyrightText: 2026 The OpenCuTe authors
# SPDX-License-Identifier: Apache-2.0
"""What a blocking operation returns when its lanes cannot go on."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from opencute.ir.core import Op

__all__ = ["Wait"]


@dataclass
class Wait:
    """What a blocked cohort waits for.

    Args:
        op: the operation that waits.
        ready: lanes that may go on: True or False for all, or an array of bool over the lanes.
        text: what is missing, for the deadlock report.
        results: the operation's results, once the lanes may go on; None: it has none.
        missing: a mask over all lanes that started together, of those that it waits for.
    """

    op: Op
    ready: Callable[[], Any]
    text: Callable[[], str]
    results: Callable[[], tuple[Any, ...]] | None = None
    missing: Callable[[], Any] | None = None

    def narrowed(self, pick: Callable[[Any], Any]) -> Wait:
        """The wait of some of the lanes that wait."""
        results = self.results
        return Wait(
            self.op,
            lambda: pick(self.ready()),
            self.text,
            None if results is None else lambda: tuple(pick(v) for v in results()),
            self.missing,
        )
