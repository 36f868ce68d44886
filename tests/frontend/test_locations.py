# SPDX-FileCopyrightText: 2026 The OpenCuTe authors
# SPDX-License-Identifier: Apache-2.0
"""Whose frames are taken for the user's."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator

import pytest

from opencute.frontend.locations import is_internal

pytestmark = pytest.mark.t0


@contextlib.contextmanager
def entered() -> Iterator[None]:
    yield


def test_what_lies_between_is_nobodys() -> None:
    assert is_internal(type(entered()).__enter__.__code__)
    assert is_internal(compile("0", "<simulated kernel>", "exec"))
    assert not is_internal(test_what_lies_between_is_nobodys.__code__)
