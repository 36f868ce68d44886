# SPDX-FileCopyrightText: 2026 The OpenCuTe authors
# SPDX-License-Identifier: Apache-2.0
"""Tracebacks with the user's frames only.

In: an exception. Out: the same one, whose traceback leaves out the frames of this package::

    Traceback (most recent call last):
      File "scale.py", line 21, in <module>
        scale(from_dlpack(x), 0.5)
    opencute.base.errors.OutOfBoundsError: [OC3101] read outside of ...

Where an error leaves the package its inner frames are cut off (`frontend.locations`), which works
for whoever prints it. The frame that raises it is added after that by Python; `sys.excepthook` for
scripts, `_render_traceback_` for IPython and `__tracebackhide__` for pytest leave that out too, and
those of operators that raise before anything is compiled. Threads have `threading.excepthook`.
OPENCUTE_DIAG_FULL_TRACEBACK=1 shows all.
"""

from __future__ import annotations

import contextlib
import functools
import os
import sys
import threading
import types
from typing import Any

from opencute import base
from opencute.base.errors import OpenCuTeError
from opencute.base.location import Location

__all__ = [
    "KERNELS",
    "cut",
    "hidden",
    "install",
    "is_our_frame",
    "is_ours",
    "rendered",
    "users_call",
    "users_frames",
    "users_only",
]

_PACKAGE = os.path.dirname(os.path.dirname(os.path.abspath(base.__file__))) + os.sep
KERNELS = _PACKAGE + "kernels" + os.sep  # which have lines to point at, where no user's do
# functools calls the getter of a cached property; contextlib what a `with` statement enters; the
# simulator runs functions that it writes.
_SKIPPED = (_PACKAGE, "<frozen", "<simulated ", functools.__file__, contextlib.__file__)


def is_ours(filename: str) -> bool:
    """Whether code of this file is not the user's."""
    return filename.startswith(_SKIPPED)


def is_our_frame(frame: types.FrameType) -> bool:
    """Whether a frame is not the user's: also that of a method which `dataclass` wrote for us."""
    code = frame.f_code
    return is_ours(code.co_filename) or (
        code.co_filename == "<string>"
        and str(frame.f_globals.get("__name__")).partition(".")[0] == "opencute"
    )


def hidden() -> bool:
    """What `__tracebackhide__` is in a function of ours that users call."""
    from opencute.base.knobs import KNOBS  # not at import: `python -m opencute.base.knobs` works

    return not KNOBS.full_traceback


def users_frames(trace: types.TracebackType | None) -> types.TracebackType | None:
    """The traceback without frames of this package."""
    kept: list[types.TracebackType] = []
    while trace is not None:
        if not is_our_frame(trace.tb_frame):
            kept.append(trace)
        trace = trace.tb_next
    chain: types.TracebackType | None = None
    for t in reversed(kept):
        chain = types.TracebackType(chain, t.tb_frame, t.tb_lasti, t.tb_lineno)
    return chain


def users_call() -> Location | None:
    """Where the user's code is that called this package."""
    frame = sys._getframe(1)  # pyright: ignore[reportPrivateUsage] - no other way to the callers
    while frame is not None:
        code = frame.f_code
        if not is_our_frame(frame):
            return Location(code.co_filename, frame.f_lineno, function=code.co_name)
        frame = frame.f_back
    return None


def cut(error: OpenCuTeError) -> OpenCuTeError:
    """An error that leaves the package, without the frames that it comes from."""
    if hidden():
        error.__traceback__ = users_frames(error.__traceback__)
    return error


def _is_meant_for_users(error: BaseException) -> bool:
    """Whether an error is one of ours or of the user's code; others are mistakes of ours, of which
    the inner frames are what counts."""
    if isinstance(error, OpenCuTeError):
        return True
    inner = False
    trace = error.__traceback__
    while trace is not None:
        frame = trace.tb_frame
        if not frame.f_locals.get("__tracebackhide__"):  # else it only passed the error on
            inner = is_ours(frame.f_code.co_filename)
        trace = trace.tb_next
    return not inner


def users_only(error: BaseException) -> BaseException:
    """The error, and those that led to it, with the user's frames only."""
    seen: set[int] = set()
    e: BaseException | None = error
    while e is not None and id(e) not in seen and hidden():
        seen.add(id(e))
        if _is_meant_for_users(e):
            e.__traceback__ = users_frames(e.__traceback__)
        e = e.__cause__ or (None if e.__suppress_context__ else e.__context__)
    return error


def rendered(error: BaseException) -> list[str]:
    """Lines of text for IPython, in its own look where that can be asked for."""
    import traceback  # not at import, of which all pay the time

    users_only(error)
    get: Any = getattr(sys.modules.get("IPython"), "get_ipython", None)
    style: Any = getattr(get() if get is not None else None, "InteractiveTB", None)
    if style is None:
        return "".join(traceback.format_exception(error)).splitlines()
    return style.structured_traceback(type(error), error, error.__traceback__, tb_offset=1)


def _knows(trace: types.TracebackType | None) -> bool:
    while trace is not None:
        if is_ours(trace.tb_frame.f_code.co_filename):
            return True
        trace = trace.tb_next
    return False


def install() -> None:
    """Let `sys.excepthook` and that of threads leave out our frames, and then do what they did."""
    before, in_threads = sys.excepthook, threading.excepthook
    if getattr(before, "_opencute", False):
        return

    def hook(
        kind: type[BaseException], error: BaseException, trace: types.TracebackType | None
    ) -> None:
        if isinstance(error, OpenCuTeError) or _knows(trace):
            trace = users_only(error).__traceback__
        before(kind, error, trace)

    def thread_hook(given: threading.ExceptHookArgs) -> None:
        error = given.exc_value
        if error is not None and (
            isinstance(error, OpenCuTeError) or _knows(given.exc_traceback)
        ):  # fmt: skip
            trace = users_only(error).__traceback__
            given = threading.ExceptHookArgs((given.exc_type, error, trace, given.thread))
        in_threads(given)

    hook._opencute = True  # pyright: ignore[reportFunctionMemberAccess]
    sys.excepthook = hook
    threading.excepthook = thread_hook
