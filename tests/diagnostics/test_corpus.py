# SPDX-FileCopyrightText: 2026 The OpenCuTe authors
# SPDX-License-Identifier: Apache-2.0
"""Wrong programs and the messages that they give, word for word.

Each ``corpus/NAME.py`` is a program as a user would write it, ``NAME.txt`` what it says. After a
change that is meant, ``UPDATE_GOLDENS=1 pytest tests/diagnostics`` writes the messages anew; read
the difference before you commit it.
"""

from __future__ import annotations

import os
import re
import runpy
from pathlib import Path

import pytest

from opencute.base.knobs import KNOBS
from opencute.tools import error_pages
from opencute.tools.codes.catalogue import catalogue

pytestmark = pytest.mark.t0

CORPUS = Path(__file__).parent / "corpus"
PROGRAMS = sorted(p.stem for p in CORPUS.glob("*.py"))
ROOT = Path(__file__).parents[2]


def message(program: str) -> str:
    file = CORPUS / f"{program}.py"
    with (
        KNOBS.override(target="sim", sim_step_limit=2000, sim_check=True),
        pytest.raises(Exception) as e,
    ):
        runpy.run_path(str(file))
    text = f"{type(e.value).__name__}: {e.value}".replace(f"{CORPUS}{os.sep}", "")
    text = re.sub(r"0x[0-9a-f]{6,}", "0x…", text)
    return re.sub(r"(0x…), which is \d+ past", r"\1, which is … past", text).rstrip() + "\n"


@pytest.mark.parametrize("program", PROGRAMS)
def test_messages(program: str) -> None:
    golden = CORPUS / f"{program}.txt"
    found = message(program)
    if os.environ.get("UPDATE_GOLDENS"):
        golden.write_text(found, encoding="utf-8")
    assert found == golden.read_text(encoding="utf-8")


@pytest.mark.parametrize("program", PROGRAMS)
def test_messages_name_a_code_and_the_users_line(program: str) -> None:
    text = (CORPUS / f"{program}.txt").read_text(encoding="utf-8")
    assert "site-packages" not in text and "src/opencute" not in text
    assert re.match(r"\w+: \[OC\d{4}\] ", text), text
    # What happens while a kernel is traced or simulated has a line; a wrong call has its traceback.
    if " in kernel\n" in (CORPUS / f"{program}.py").read_text(encoding="utf-8"):
        assert f"--> {program}.py:" in text and "^" in text


def test_the_page_of_codes_is_fresh() -> None:
    page = (ROOT / "docs" / "reference" / "errors.md").read_text(encoding="utf-8")
    assert page == error_pages.markdown(CORPUS), (
        "run python -m opencute.tools.error_pages > docs/reference/errors.md"
    )


def test_every_code_says_something() -> None:
    silent = [c for c, e in catalogue().items() if not e.messages or not e.kind]
    assert not silent
