# SPDX-FileCopyrightText: 2026 The OpenCuTe authors
# SPDX-License-Identifier: Apache-2.0
"""Imports point to lower ranks only, and heavy ones are made late and in few places."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

from meta.project import RANK, ROOT, package_of, sources
from meta.rules import heavy_import_violations, import_violations, star_violations

pytestmark = pytest.mark.t0


def test_imports_only_point_down() -> None:
    bad = [v for p in sources() for v in import_violations(p)]
    assert not bad, "\n".join(bad)


def test_heavy_modules_are_imported_late_and_in_few_places() -> None:
    bad = [v for p in sources() for v in heavy_import_violations(p)]
    assert not bad, "\n".join(bad)


def test_nothing_is_imported_by_star() -> None:
    bad = [v for p in sources() for v in star_violations(p)]
    assert not bad, "\n".join(bad)


def test_the_ranks_are_those_of_the_design() -> None:
    """Each package of the design's table has its rank here."""
    text = (ROOT / "docs" / "design" / "architecture.md").read_text(encoding="utf-8")
    rows = [line.split("|")[1:3] for line in text.splitlines() if line.startswith("| ")]
    ranks = {int(r): names for r, names in rows if r.strip().isdigit()}
    assert set(ranks) == set(RANK.values())
    for rank, names in ranks.items():
        for name in names.split("`")[1::2]:
            package = name.strip("/").removeprefix("opencute.")
            assert RANK["" if package == "__init__" else package] == rank, name


@pytest.mark.parametrize(
    ("module", "unwanted"),
    [
        ("opencute.layout", "numpy ml_dtypes llvmlite torch jax cuda opencute.ir opencute.numeric"),
        ("opencute.numeric.promotion", "numpy ml_dtypes llvmlite torch jax cuda opencute.ir"),
    ],
)
def test_what_an_import_pulls_in(module: str, unwanted: str) -> None:
    code = (
        f"import sys; import {module}; names = {unwanted.split()!r}; "
        "print(*[m for m in sys.modules if any((m + '.').startswith(n + '.') for n in names)])"
    )
    environment = {**os.environ, "PYTHONPATH": str(ROOT / "src")}
    done = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, check=True, env=environment
    )
    assert done.stdout.split() == []


# ── the rules themselves ────────────────────────────────────────────────────────────────────────


def plant(root: Path, name: str, text: str) -> Path:
    """A source file in a project of its own."""
    path = root / "src" / name
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text)
    return path


UPWARD = [
    "import opencute.codegen.ptx",
    "from opencute.codegen import ptx",
    "from opencute import codegen",
    "from ..codegen import ptx",
    "from ..codegen.ptx import assemble",
    "from .. import codegen",
    "import opencute",
    "from opencute import Float32",
    "import cutlass.cute as cute",
    "from cutlass import Float32",
    "import importlib\nimportlib.import_module('opencute.codegen.ptx')",
    "def f():\n    from opencute.codegen import ptx",
    "class C:\n    def f(self):\n        def g():\n            import opencute.sim",
    "from typing import TYPE_CHECKING\nif TYPE_CHECKING:\n    from opencute.lang import numbers",
    "try:\n    import opencute.jit\nexcept ImportError:\n    pass",
    "import opencute.runtime, opencute.arch.sm90",  # the same rank counts too
    "from opencute.mystery import x",
]


@pytest.mark.parametrize("text", UPWARD)
def test_an_upward_import_is_found(tmp_path: Path, text: str) -> None:
    for package in ("codegen", "mystery"):
        plant(tmp_path, f"opencute/{package}/__init__.py", "")
    path = plant(tmp_path, "opencute/native/llvm.py", text)
    assert len(import_violations(path, tmp_path)) == 1


@pytest.mark.parametrize(
    "text",
    [
        "import os, json",
        "from opencute.ir import core\nfrom opencute.base.errors import LayoutError",
        "from . import helpers\nfrom .helpers import x",
        "from ..ir.core import Op\nfrom ..ir import y",
        "from opencute.native.helpers import x",
        "import opencute.layout.core",
        "import importlib\nname = 'opencute.jit'\nimportlib.import_module(name)",
    ],
)
def test_a_downward_import_is_not(tmp_path: Path, text: str) -> None:
    plant(tmp_path, "opencute/ir/core.py", "")
    path = plant(tmp_path, "opencute/native/llvm.py", text)
    assert import_violations(path, tmp_path) == []


def test_a_package_without_rank_is_found(tmp_path: Path) -> None:
    path = plant(tmp_path, "opencute/mystery/a.py", "")
    assert "has no rank" in import_violations(path, tmp_path)[0]


def test_the_public_language_is_one_package(tmp_path: Path) -> None:
    cute = plant(tmp_path, "opencute/cute/__init__.py", "from opencute import Float32")
    root = plant(tmp_path, "opencute/__init__.py", "from opencute import cute")
    assert package_of(root, tmp_path) == "" and package_of(cute, tmp_path) == "cute"
    assert import_violations(cute, tmp_path) == import_violations(root, tmp_path) == []
    utils = plant(tmp_path, "opencute/utils/__init__.py", "import opencute.pipeline")
    assert len(import_violations(utils, tmp_path)) == 1


def test_single_file_packages_have_a_rank(tmp_path: Path) -> None:
    path = plant(tmp_path, "opencute/torch.py", "import cutlass.cute\nimport opencute.lab")
    assert package_of(path, tmp_path) == "torch"
    assert len(import_violations(path, tmp_path)) == 1


def test_older_architectures_do_not_import_newer_ones(tmp_path: Path) -> None:
    plant(tmp_path, "opencute/arch/sm100/__init__.py", "")
    old = plant(tmp_path, "opencute/arch/sm90.py", "from opencute.arch.sm100 import mma")
    new = plant(tmp_path, "opencute/arch/sm100/mma.py", "from opencute.arch import sm90")
    assert "sm_90 code imports sm_100" in import_violations(old, tmp_path)[0]
    assert import_violations(new, tmp_path) == []


@pytest.mark.parametrize(
    ("name", "text", "count"),
    [
        ("runtime/torch_tensors.py", "import torch", 1),  # at module level
        ("runtime/torch_tensors.py", "class C:\n    import torch", 1),
        ("runtime/torch_tensors.py", "def f():\n    import torch", 0),
        ("runtime/stream.py", "def f():\n    import torch.cuda", 1),  # not named for it
        ("runtime/stream.py", "import jax", 2),
        ("lab/compare.py", "def f():\n    import torch", 0),
        ("native/llvm.py", "import llvmlite.binding as llvm", 1),
        ("native/llvm.py", "def f():\n    import llvmlite", 0),
        ("codegen/emit.py", "def f():\n    from llvmlite import ir", 1),
        ("runtime/driver.py", "def f():\n    from cuda.bindings import driver", 0),
        ("codegen/emit.py", "import numpy", 1),
        ("codegen/emit.py", "def f():\n    import numpy", 0),
        ("codegen/emit.py", "if TYPE_CHECKING:\n    import numpy", 0),
        ("codegen/emit.py", "if TYPE_CHECKING:\n    pass\nelse:\n    import ml_dtypes", 1),
        ("sim/memory.py", "import numpy", 0),
    ],
)
def test_heavy_imports(tmp_path: Path, name: str, text: str, count: int) -> None:
    path = plant(tmp_path, f"opencute/{name}", text)
    assert len(heavy_import_violations(path, tmp_path)) == count


def test_a_star_import_is_found(tmp_path: Path) -> None:
    path = plant(tmp_path, "opencute/cute/__init__.py", "def f():\n    from x import y\n")
    assert star_violations(path, tmp_path) == []
    starred = plant(tmp_path, "opencute/a.py", "from x import *")
    assert len(star_violations(starred, tmp_path)) == 1
