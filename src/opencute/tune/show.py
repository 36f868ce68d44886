# SPDX-FileCopyrightText: 2026 The OpenCuTe authors
# SPDX-License-Identifier: Apache-2.0
"""How far a search has come, and what it has found, on a terminal.

In: counts while it goes on, trials at its end. Out: two bars and a table on standard error::

    with Show("gemm") as screen:
        screen.compiled(3, 40)
        screen.table(trials)
"""

from __future__ import annotations

import sys
from collections.abc import Sequence
from types import TracebackType
from typing import Any

from opencute.tune.trials import Trial, log, ranked, table

__all__ = ["Show"]


class Show:
    """Prints nothing unless it is asked to.

    Args:
        name: what is tuned.
        wanted: whether to print; when omitted, if standard error is a terminal.
    """

    def __init__(self, name: str, wanted: bool | None = None) -> None:
        self.name = name
        self.wanted = sys.stderr.isatty() if wanted is None else wanted
        self._bars: Any = None
        self._console: Any = None
        self._tasks: dict[str, Any] = {}

    def __enter__(self) -> Show:
        if self.wanted:
            from rich.console import Console
            from rich.progress import Progress

            self._console = Console(stderr=True)
            self._bars = Progress(console=self._console, transient=True)
            self._bars.start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:  # fmt: skip
        self._stop()

    def _stop(self) -> None:
        if self._bars is not None:
            self._bars.stop()
            self._bars = None

    def _bar(self, what: str, done: int, total: int) -> None:
        if self._bars is None:
            return
        if what not in self._tasks:
            self._tasks[what] = self._bars.add_task(f"{self.name}: {what}", total=total)
        self._bars.update(self._tasks[what], completed=done, total=total)

    def compiled(self, done: int, total: int) -> None:
        """So many configurations are compiled."""
        self._bar("compiling", done, total)

    def timed(self, done: int, total: int, best: float) -> None:
        """So many configurations are timed, the best of them in so many microseconds."""
        log("%s: timed %d of %d, best %.3f us", self.name, done, total, best)
        self._bar("timing", done, total)

    def table(self, trials: Sequence[Trial]) -> None:
        """All trials, fastest first."""
        log("%s", table(trials))
        if not self.wanted:
            return
        from rich.table import Table

        self._stop()
        out = Table(title=self.name)
        for title in ("us per call", "x best", "floor"):
            out.add_column(title, justify="right")
        for title in ("configuration", "resources", "remark"):
            out.add_column(title)
        order = ranked(trials)
        best = order[0].us if order else None
        for t in order:
            times = (
                ("-", "-") if t.us is None or not best else (f"{t.us:.2f}", f"{t.us / best:.2f}")
            )
            configuration = ", ".join(f"{k}={v}" for k, v in t.configuration.items())
            taken = "" if t.resources is None else t.resources.text()
            remark = t.error.splitlines()[0] if t.error else ""
            out.add_row(*times, f"{t.floor:.2f}" if t.floor else "-", configuration, taken, remark)
        self._console.print(out)
