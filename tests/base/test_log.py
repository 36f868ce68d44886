# SPDX-FileCopyrightText: 2026 The OpenCuTe authors
# SPDX-License-Identifier: Apache-2.0
"""Warnings are at a line of the user's."""

from __future__ import annotations

import sys
import warnings

import pytest

from opencute.base import log, tracebacks
from opencute.base.location import Location

pytestmark = pytest.mark.t0


def test_warnings_are_where_the_position_is() -> None:
    with pytest.warns(RuntimeWarning, match="1 row") as seen:
        log.warn("1 rows", RuntimeWarning, Location("k.py", 7, 4))
    assert (seen[0].filename, seen[0].lineno) == ("k.py", 7)


def test_of_code_of_ours_the_line_that_calls_it_counts() -> None:
    ours = Location(tracebacks.__file__, 3, caller=Location("k.py", 8))
    with pytest.warns(UserWarning) as seen:
        log.warn("no", UserWarning, ours)
    assert (seen[0].filename, seen[0].lineno) == ("k.py", 8)


def test_without_a_position_the_callers_line_counts() -> None:
    with pytest.warns(UserWarning) as seen:
        log.warn("no")
    line = sys._getframe().f_lineno - 1
    assert (seen[0].filename, seen[0].lineno) == (__file__, line)


def test_a_line_warns_once() -> None:
    with warnings.catch_warnings(record=True) as seen:
        warnings.simplefilter("default")
        for n in (7, 7, 8):
            log.warn("again and again", UserWarning, Location("again.py", n))
    assert [w.lineno for w in seen] == [7, 8]
