# SPDX-FileCopyrightText: 2026 The OpenCuTe authors
# SPDX-License-Identifier: Apache-2.0
"""`opencute error` says what a code means, what to change, and shows a program that causes it."""

from __future__ import annotations

import ast
import json
import re
from pathlib import Path

import pytest
from click.testing import CliRunner

from opencute.base.errors import ArgumentError
from opencute.tools import error_command
from opencute.tools.cli import main
from opencute.tools.codes.catalogue import catalogue, entry_of, examples
from opencute.tools.codes.help import BY_BLOCK, REMEDIES, SAID, meaning_of, remedy_of

pytestmark = pytest.mark.t0

CORPUS = Path(__file__).parents[1] / "diagnostics" / "corpus"


def test_meaning_remedy_and_example() -> None:
    text = error_command.explained("OC1221")
    for part in ("OC1221 (TypeMismatchError): a vector has no", "What to do:", "An example: "):
        assert part in text
    assert "    @cute.kernel" in text and "TypeMismatchError: [OC1221]" in text


@pytest.mark.parametrize("typed", ["1221", "oc1221", "[OC1221]", "OC-1221", " OC 1221 "])
def test_a_code_as_people_type_it(typed: str) -> None:
    assert error_command.normal(typed) == "OC1221"


@pytest.mark.parametrize("typed", ["9999", "nothing", "", "OC12211"])
def test_no_such_code(typed: str) -> None:
    with pytest.raises(ArgumentError, match="OC1114"):
        error_command.normal(typed)


def test_the_command() -> None:
    done = CliRunner().invoke(main, ["error", "3101"])
    assert done.exit_code == 0 and done.output.startswith("OC3101 (OutOfBoundsError): ")
    wrong = CliRunner().invoke(main, ["error", "OC1220A"])
    assert wrong.exit_code == 2 and "OC1220" in wrong.output


@pytest.mark.parametrize("code", ["OC1114", "OC1221", "OC3101", "OC3401"])
def test_one_code_is_found_without_the_others(code: str, monkeypatch: pytest.MonkeyPatch) -> None:
    whole, parse, parsed = catalogue()[code], ast.parse, list[str]()
    monkeypatch.setattr(ast, "parse", lambda text: (parsed.append(text), parse(text))[1])
    entry_of.cache_clear()
    assert entry_of(code) == whole
    assert parsed and all(code in text for text in parsed)


def test_every_code_has_a_meaning_and_a_remedy() -> None:
    for code, entry in catalogue().items():
        assert re.search(r"[a-z]{3}", meaning_of(entry)), code
        assert all(re.search(r"[a-z]{2}|\d", text) for text in remedy_of(entry)), code
        assert remedy_of(entry), code


def test_the_tables_are_of_codes_that_exist() -> None:
    known = catalogue()
    assert not [code for code in {*SAID, *REMEDIES} if code not in known]
    assert not [b for b in BY_BLOCK if not any(code.startswith(b) for code in known)]


def test_the_examples_are_those_of_the_corpus() -> None:
    kept = json.loads(error_command.EXAMPLES.read_text(encoding="utf-8"))
    fresh = {
        code: [[e.title, e.source, e.message] for e in several]
        for code, several in examples(CORPUS).items()
    }
    assert kept == fresh, "run python -m opencute.tools.error_pages > docs/reference/errors.md"


def test_without_the_file_of_examples(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setattr(error_command, "EXAMPLES", tmp_path / "none.json")
    error_command._kept.cache_clear()
    try:
        assert "Raised in: opencute.lang.vectors" in error_command.explained("1221")
    finally:
        error_command._kept.cache_clear()


@pytest.mark.parametrize("code", ["OC2131", "OC2518", "OC2526", "OC2931", "OC3032"])
def test_remedies_of_common_mistakes_are_whole_sentences(code: str) -> None:
    """Not what the source says, with gaps where a message has values."""
    entry = entry_of(code)
    assert entry is not None and "…" not in remedy_of(entry)[0]
