# SPDX-FileCopyrightText: 2026 The OpenCuTe authors
# SPDX-License-Identifier: Apache-2.0
"""Nothing is larger than its cap, save what the dated allow-list names."""

from __future__ import annotations

import statistics
from collections import Counter
from datetime import date
from pathlib import Path

import pytest

from meta.project import ROOT, project_files, sources
from meta.rules import function_lengths
from meta.sizes import (
    PACKAGE_CAP,
    Allowed,
    Size,
    allowlist,
    line_count,
    module_cap,
    size_violations,
    sizes_of,
)

pytestmark = pytest.mark.t0

PYTHON = [p for p in project_files() if p.suffix == ".py"]


def test_every_file_and_function_is_within_its_cap() -> None:
    sizes = [s for p in PYTHON for s in sizes_of(p)]
    bad = size_violations(sizes, allowlist(ROOT / "tests" / "meta" / "size_allowlist.toml"))
    assert not bad, "\n".join(bad)


def test_packages_have_few_modules() -> None:
    folders = Counter(p.parent for p in sources() if p.name != "__init__.py")
    # One folder an operator, one file an architecture: kernels/ is counted by its subfolders.
    bad = {str(f): n for f, n in folders.items() if n > PACKAGE_CAP}
    assert not bad, bad


def test_typical_sizes() -> None:
    """The style's targets: half of the modules up to 200 lines, 19 of 20 functions up to 50."""
    modules = [line_count(p) for p in sources()]
    assert statistics.median(modules) <= 200
    functions = sorted(n for p in sources() for _, n in function_lengths(p))
    assert functions[int(len(functions) * 0.95)] <= 50


def test_caps_by_kind_of_file() -> None:
    assert module_cap("src/opencute/ir/core.py") == 900
    assert module_cap("src/opencute/kernels/gemm/sm90.py") == 1200
    assert module_cap("src/opencute/kernels/gemm/reference.py") == 900
    assert module_cap("tests/ir/test_core.py") == 1000


def _plant(root: Path, name: str, body: str) -> Path:
    path = root / name
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(body)
    return path


def test_a_long_module_and_a_long_function_are_found(tmp_path: Path) -> None:
    body = "class C:\n    def f(self):\n" + "        x = 1\n" * 85 + "x = 2\n" * 900
    path = _plant(tmp_path, "src/opencute/ir/big.py", body)
    bad = size_violations(sizes_of(path, tmp_path), [])
    assert bad == [
        "src/opencute/ir/big.py: 987 lines, cap 900",
        "src/opencute/ir/big.py::C.f: 86 lines, cap 80",
    ]


def test_docstrings_do_not_count_and_nested_functions_do(tmp_path: Path) -> None:
    text = 'def f():\n    """' + "\n" * 90 + '"""\n    def g():\n        return 1\n    return g\n'
    path = _plant(tmp_path, "a.py", text)
    assert dict(function_lengths(path)) == {"f": 4, "f.g": 2}


def test_kernels_may_be_longer(tmp_path: Path) -> None:
    body = "def f():\n" + "    x = 1\n" * 110
    kernel = _plant(tmp_path, "src/opencute/kernels/gemm/sm90.py", body)
    other = _plant(tmp_path, "src/opencute/kernels/gemm/plan.py", body)
    assert size_violations(sizes_of(kernel, tmp_path), []) == []
    assert len(size_violations(sizes_of(other, tmp_path), [])) == 1


def test_the_allow_list_limits_growth_and_may_not_be_stale() -> None:
    allowed = [Allowed("a.py", 950, date(2026, 12, 1), "a reason that explains")]
    assert size_violations([Size("a.py", 950, 900)], allowed) == []
    grown = size_violations([Size("a.py", 951, 900)], allowed)
    assert grown == ["a.py: 951 lines, allowed 950 since 2026-12-01"]
    for sizes in ([Size("a.py", 900, 900)], []):
        assert size_violations(sizes, allowed) == [
            "a.py: on the allow-list, but within its cap or gone"
        ]


def test_the_allow_list_demands_date_and_reason(tmp_path: Path) -> None:
    entry = '[[allow]]\nwhat = "a.py"\nlines = 950\nsince = 2026-12-01\nwhy = "{}"\n'
    good = _plant(tmp_path, "good.toml", entry.format("one grammar, one file"))
    assert allowlist(good) == [Allowed("a.py", 950, date(2026, 12, 1), "one grammar, one file")]
    with pytest.raises(ValueError, match="needs a date and a reason"):
        allowlist(_plant(tmp_path, "bad.toml", entry.format("")))
    undated = entry.replace("2026-12-01", '"soon"').format("one grammar, one file")
    with pytest.raises(ValueError, match="needs a date and a reason"):
        allowlist(_plant(tmp_path, "undated.toml", undated))
