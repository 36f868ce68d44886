# SPDX-FileCopyrightText: 2026 The OpenCuTe authors
# SPDX-License-Identifier: Apache-2.0
"""A code that users can look up means one thing, whoever raises it."""

from __future__ import annotations

import ast

import pytest

from opencute.tools.codes.catalogue import messages_of
from opencute.tools.codes.meanings import MEANINGS, shared_codes

pytestmark = pytest.mark.t0


def test_a_code_has_one_meaning() -> None:
    """Modules that raise one code in different words either mean what MEANINGS says, or one of
    them has to take a code of its own."""
    wrong = {code: places for code, places in shared_codes().items() if code not in MEANINGS}
    text = "\n".join(
        f"{code}: {module}: {', '.join(sorted(messages)) or '?'}"
        for code, places in wrong.items()
        for module, messages in places.items()
    )
    assert not wrong, f"codes with several meanings:\n{text}"


def test_meanings_are_of_codes_that_are_shared() -> None:
    assert sorted(MEANINGS) == list(MEANINGS)
    stale = set(MEANINGS) - set(shared_codes())
    assert not stale, "only one module raises these now"


def test_what_is_read_from_a_file() -> None:
    source = """
class TooFar(ArgumentError):
    '''It is too far.'''
    default_code = "OC2999"

def check(x):
    raise ArgumentError(f"{x} is wrong", code="OC2998")
"""
    found = dict(messages_of(ast.parse(source)))
    assert found == {"OC2998": ["… is wrong"], "OC2999": ["It is too far."]}
