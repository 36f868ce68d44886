# SPDX-FileCopyrightText: 2026 The OpenCuTe authors
# SPDX-License-Identifier: Apache-2.0
"""Where OpenCuTe's log goes, by the knobs; and a word about variables that mean nothing.

`configure` is called before every compilation. It changes the logger ``opencute`` only if a knob
asks for it, so that a program's own logging stays as it is.
"""

from __future__ import annotations

import logging
import os
import warnings
from collections.abc import Callable

from opencute.base.knobs import KNOBS, unknown_aliases

__all__ = ["PerformanceWarning", "configure"]


class PerformanceWarning(UserWarning):
    """Code that works and is slow; OPENCUTE_ADVISORIES=0 leaves these out."""


_FORMAT = "%(asctime)s %(levelname)s %(name)s: %(message)s"
_handlers: dict[str, logging.Handler] = {}
_told: set[str] = set()


def configure() -> None:
    """Set up what the knobs ask for."""
    for sentence in unknown_aliases():
        if sentence not in _told:
            _told.add(sentence)
            warnings.warn(sentence, stacklevel=3)
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
