# SPDX-FileCopyrightText: 2026 The OpenCuTe authors
# SPDX-License-Identifier: Apache-2.0
"""From Python frames to source locations: only the user's frames count."""

from __future__ import annotations

import ast
import collections
import inspect
import sys
import types
from typing import Any

from opencute.base.errors import LanguageError, OpenCuTeError
from opencute.base.location import Location
from opencute.base.tracebacks import KERNELS, cut, hidden, is_our_frame, is_ours, users_frames
from opencute.frontend.hints import hint_for
from opencute.frontend.misuse import explained

__all__ = [
    "forget_frames", "here", "is_internal", "is_traced", "place_error", "traced", "without_end",
]  # fmt: skip

# By the identity of code objects, which are kept alive: those of two files can be equal.
_ours: dict[int, tuple[types.CodeType, bool]] = {}
# Of these, the package's but for its kernels and for where traces begin: most frames are of them.
_passed: set[int] = set()
# By code, line and caller; locations are kept, so that identity tells callers apart.
_locations: dict[tuple[int, int, int], Location] = {}
# The user's frames that are running, by identity, with the code that they are part of and the call
# that led to them: neither changes while a frame runs, so that one operation after the other only
# has to find the innermost one. The frames are kept until the trace ends, so that no other gets
# the identity of one that has ended.
# The last one is the positions by instruction: a frame's line is found by a search.
_Around = tuple[types.FrameType, types.CodeType, "Location | None", dict[int, "Location"]]
_frames: dict[int, _Around] = {}
# As `_frames`, frames of the library's kernels with nothing of the user's further out.
_alone: dict[int, tuple[types.FrameType, dict[int, Location]]] = {}
_GENERATORS = inspect.CO_GENERATOR | inspect.CO_COROUTINE | inspect.CO_ASYNC_GENERATOR
_REMEMBERED = 1 << 16  # code made in a loop is not to fill memory


def is_internal(code: types.CodeType) -> bool:
    """Whether code is not the user's."""
    found = _ours.get(id(code))
    if found is None:
        if len(_ours) > _REMEMBERED:
            _ours.clear()
            _passed.clear()
            forget_frames()
            _locations.clear()  # its keys are identities of what is forgotten
        found = _ours[id(code)] = (code, is_ours(code.co_filename))
        if found[1] and code is not _TRACED and not code.co_filename.startswith(KERNELS):
            _passed.add(id(code))
    return found[1]


def traced(fn: Any, /, *args: Any, **kwargs: Any) -> Any:
    """Call `fn`; `here` looks no further out than this frame."""
    return fn(*args, **kwargs)


_TRACED = traced.__code__


def is_traced(code: types.CodeType) -> bool:
    """Whether code is that of `traced`, where tracing begins."""
    return code is _TRACED


def here() -> Location | None:
    """The position that is being traced: the user's, with the calls that lead to it, or, where
    only a kernel of the library is traced, that of the kernel."""
    passed = _passed
    frame = sys._getframe(1)  # pyright: ignore[reportPrivateUsage] - no other way
    kernel: types.FrameType | None = None
    while frame is not None:
        code = frame.f_code
        if id(code) not in passed:
            around = _frames.get(id(frame))
            if around is not None:  # for most operations
                found = around[3].get(frame.f_lasti)
                if found is not None:
                    return found
            if not is_internal(code):
                return _position(frame)
            if code is _TRACED:
                break
            if id(frame) in _alone:
                return _in_kernel(kernel or frame)
            if kernel is None and code.co_filename.startswith(KERNELS):
                kernel = frame
        frame = frame.f_back
    return None if kernel is None else _in_kernel(kernel)


def _in_kernel(frame: types.FrameType) -> Location:
    """The position of a frame of a kernel of the library, which is the innermost one."""
    code = frame.f_code
    known = _alone.get(id(frame))
    if known is None:
        known = frame, {}
        if not code.co_flags & _GENERATORS:
            _alone[id(frame)] = known
    places = known[1]
    found = places.get(frame.f_lasti)
    if found is None:
        key = id(code), frame.f_lineno, 0
        found = _locations.get(key)
        if found is None:
            # Names of functions that were rewritten are not those of the source.
            name = "" if code.co_name.startswith("__oc_") else code.co_name
            found = _locations[key] = Location(code.co_filename, frame.f_lineno, function=name)
        places[frame.f_lasti] = found
    return found


def forget_frames() -> None:
    """The trace has ended: let go of its frames, and so of what they hold."""
    _frames.clear()
    _alone.clear()


def _users(frame: types.FrameType | None) -> types.FrameType | None:
    """The innermost of the user's frames, from a frame outwards."""
    known = _ours
    while frame is not None:
        code = frame.f_code
        found = known.get(id(code))
        if not (found[1] if found is not None else is_internal(code)):
            return frame
        if code is _TRACED:
            return None
        frame = frame.f_back
    return None


def _position(frame: types.FrameType) -> Location:
    known = _frames.get(id(frame))
    if known is None:
        known = _around(frame)
        if not frame.f_code.co_flags & _GENERATORS:  # those run on under other callers
            _frames[id(frame)] = known
    _, code, caller, places = known
    at = frame.f_lasti
    found = places.get(at)
    if found is not None:
        return found
    key = id(code), frame.f_lineno, id(caller)
    found = _locations.get(key)
    if found is None:
        if len(_locations) > _REMEMBERED:
            _locations.clear()
        found = Location(code.co_filename, frame.f_lineno, function=code.co_name, caller=caller)
        _locations[key] = found
    places[at] = found
    return found


def _around(frame: types.FrameType) -> _Around:
    """The code that a frame is part of, and the call that led to it."""
    code, out = frame.f_code, _users(frame.f_back)
    if code.co_name.startswith("__oc_"):
        # A generated function; the next frame of the user's own owns it.
        while out is not None and out.f_code.co_name.startswith("__oc_"):
            out = _users(out.f_back)
        if out is not None:
            code, out = out.f_code, _users(out.f_back)
    return frame, code, None if out is None else _position(out), {}


def _column(tb: types.TracebackType) -> tuple[int, int | None]:
    if sys.version_info >= (3, 11):
        positions = list(tb.tb_frame.f_code.co_positions())
        at = tb.tb_lasti // 2
        if at < len(positions):
            line, end_line, col, end_col = positions[at]
            if line == tb.tb_lineno and col is not None:
                return col, end_col if end_line == line else None
    return 0, None


def place_error(error: BaseException) -> BaseException:
    """Give an error the user's innermost position, and hide frames that are ours.

    The knob OPENCUTE_DIAG_FULL_TRACEBACK keeps all frames.

    Returns:
        The error to raise: the same, or what it says about a wrong use of this package.
    """
    frames: list[types.TracebackType] = []
    tb = error.__traceback__
    while tb is not None:
        if not is_our_frame(tb.tb_frame):
            frames.append(tb)
        tb = tb.tb_next
    if not frames:
        return cut(error) if isinstance(error, OpenCuTeError) else error
    inner = frames[-1]
    if inner.tb_next is None:
        better = explained(error, inner.tb_frame)
        if better is not None:
            better.__traceback__ = error.__traceback__
            better.__suppress_context__ = True
            error = better
    if isinstance(error, OpenCuTeError):
        code = inner.tb_frame.f_code
        col, end = _column(inner)
        name = next(
            (
                t.tb_frame.f_code.co_name
                for t in reversed(frames)
                if not t.tb_frame.f_code.co_name.startswith("__oc_")
            ),
            "",
        )
        if error.loc is None and error.code in ("OC1101", "OC1112"):
            found = "a range" if error.code == "OC1112" else str(error.found)
            error.hint = hint_for(found, inner) or error.hint
        error.at(Location(code.co_filename, inner.tb_lineno, col, end, name))
    if hidden():
        error.__traceback__ = users_frames(error.__traceback__)
    return error


def without_end(error: RecursionError) -> LanguageError:
    """What to say instead when Python's stack ends while tracing."""
    frames: list[types.TracebackType] = []
    tb = error.__traceback__
    while tb is not None:
        if not is_internal(tb.tb_frame.f_code):
            frames.append(tb)
        tb = tb.tb_next
    deep = [t for t in frames if t.tb_frame.f_code.co_filename == ast.__file__]
    if 2 * len(deep) > len(frames):
        return LanguageError(
            "a function has an expression that is nested too deeply to be read", code="OC1123",
            hint="split it over several statements, or raise sys.setrecursionlimit()",
        )  # fmt: skip
    plain = [(i, t.tb_frame.f_code) for i, t in enumerate(frames)
             if not t.tb_frame.f_code.co_name.startswith("__oc_")]  # fmt: skip
    counts = collections.Counter(code for _, code in plain)
    loc, name = None, "a function"
    if counts:
        code = counts.most_common(1)[0][0]
        last = max(i for i, c in plain if c is code)
        caller = frames[max(last - 1, 0)]
        name = repr(code.co_name)
        column, end = _column(caller)
        file = caller.tb_frame.f_code.co_filename
        loc = Location(file, caller.tb_lineno, column, end, code.co_name)
    return LanguageError(
        f"{name} calls itself without end while it is traced", code="OC1123", loc=loc,
        hint="recursion needs a bound known at compile time: under a run-time condition both "
        "branches are traced; use a loop, or end it with const_expr()",
    )  # fmt: skip
