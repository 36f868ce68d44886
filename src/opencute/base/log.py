# SPDX-FileCopyrightText: 2026 The OpenCuTe authors
# SPDX-License-Identifier: Apache-2.0
"""Where OpenCuTe's log goes, by the knobs; warnings; a word about variables that mean nothing.

`configure` is called before every compilation. It changes the logger ``opencute`` only if a knob
asks for it, so that a program's own logging stays as it is. `warn` warns at the user's line::

    warn("[OC3003] division by zero ...", RuntimeWarning, op.loc)   # kernel.py:12: RuntimeWarning
"""

from __future__ import annotations

import logging
import os
import warnings
from collections.abc import Callable
from typing import Any

from opencute.base.knobs import KNOBS, unknown_aliases
from opencute.base.location import Location
from opencute.base.tracebacks import is_ours, users_call
from opencute.base.words import singular

__all__ = ["PerformanceWarning", "configure", "warn"]


class PerformanceWarning(UserWarning):
    """Code that works and is slow; OPENCUTE_ADVISORIES=0 leaves these out."""


_FORMAT = "%(asctime)s %(levelname)s %(name)s: %(message)s"
_handlers: dict[str, logging.Handler] = {}
_told: set[str] = set()
# What has been shown of each file, as a module keeps it of itself: once is enough, says the default
# of Python's filters.
_shown: dict[str, dict[Any, Any]] = {}


def warn(text: str, category: type[Warning] = UserWarning, loc: Location | None = None) -> None:
    """Warn at a line of the user's.

    Args:
        text: the message.
        category: of the warning.
        loc: the position; where the user's code calls this package if omitted. Of code of ours that
            a kernel calls, the line of the kernel.
    """
    text = singular(text)
    where = loc
    while where is not None and where.caller is not None and is_ours(where.file):
        where = where.caller
    where = where or users_call()
    if where is None:
        warnings.warn(text, category, stacklevel=2)
        return
    warnings.warn_explicit(
        text, category, where.file, where.line, registry=_shown.setdefault(where.file, {})
    )


def configure() -> None:
    """Set up what the knobs ask for."""
    for sentence in unknown_aliases():
        if sentence not in _told:
            _told.add(sentence)
            warn(sentence)
    logger = logging.getLogger("opencute")
    level = KNOBS.log_level
    console = KNOBS.log_to_console and level > 0
    file = KNOBS.log_to_file and level > 0
    _switch(logger, "console", console, logging.StreamHandler)
    _switch(logger, "file", file, lambda: logging.FileHandler(f"opencute-{os.getpid()}.log"))
    if console or file:
        logger.setLevel(level)


def _switch(
    logger: logging.Logger, name: str, on: bool, make: Callable[[], logging.Handler]
) -> None:
    known = _handlers.get(name)
    if on and known is None:
        handler = make()
        handler.setFormatter(logging.Formatter(_FORMAT))
        logger.addHandler(handler)
        _handlers[name] = handler
    elif not on and known is not None:
        logger.removeHandler(known)
        known.close()
        del _handlers[name]
