# SPDX-FileCopyrightText: 2026 The OpenCuTe authors
# SPDX-License-Identifier: Apache-2.0
"""The package as a whole: what it exports, that each function has a law, how light it is."""

from __future__ import annotations

import inspect
import re
import subprocess
import sys
from pathlib import Path

import pytest

import opencute.layout as layout

pytestmark = pytest.mark.t0

HERE = Path(__file__).parent
TESTS = "\n".join(p.read_text() for p in HERE.glob("test_*.py"))
PUBLIC = [getattr(layout, n) for n in layout.__all__]
FUNCTIONS = [f for f in PUBLIC if inspect.isfunction(f)]


def test_all_is_sorted_and_complete():
    assert list(layout.__all__) == sorted(layout.__all__)
    assert len(set(layout.__all__)) == len(layout.__all__)


@pytest.mark.parametrize("f", FUNCTIONS, ids=lambda f: f.__name__)
def test_each_function_states_a_law_and_has_a_test_of_its_name(f):
    assert f.__doc__ and "Law:" in f.__doc__, f"{f.__name__} states no law"
    assert re.search(rf"^def test_{f.__name__}\(", TESTS, re.M), f"no test_{f.__name__}"


def test_modules_export_what_they_say():
    for path in (Path(layout.__file__).parent).glob("*.py"):
        text = path.read_text()
        assert text.startswith("# SPDX-FileCopyrightText")
        assert "__all__" in text
        assert len(text.splitlines()) <= 500


def test_import_is_light():
    code = (
        "import sys, opencute.layout; "
        "bad = {'numpy', 'torch', 'llvmlite', 'jax'} & set(sys.modules); assert not bad, bad; "
        "mine = {m for m in sys.modules if m.startswith('opencute.')}; "
        "extra = {m for m in mine if m.split('.')[1] not in ('base', 'layout')}; "
        "assert not extra, extra"
    )
    subprocess.run([sys.executable, "-c", code], check=True, env=_environment())


def _environment():
    import os

    source = str(Path(layout.__file__).parents[2])
    return {**os.environ, "PYTHONPATH": source}
