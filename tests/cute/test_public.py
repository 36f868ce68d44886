# SPDX-FileCopyrightText: 2026 The OpenCuTe authors
# SPDX-License-Identifier: Apache-2.0
"""The public namespaces: every name loads, loading is lazy, stubs are fresh."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

import opencute
from opencute.tools.stubs import public_modules, stubs

pytestmark = pytest.mark.t0

MODULES = {name: (module, table) for name, module, table in public_modules()}
SOURCE = Path(opencute.__file__).parent.parent


def test_the_walk_finds_the_namespaces() -> None:
    assert {"opencute", "opencute.cute", "opencute.cute.arch", "opencute.cute.math",
            "opencute.cute.runtime", "opencute.cute.testing"} <= set(MODULES)  # fmt: skip


@pytest.mark.parametrize("name", MODULES)
def test_every_name_loads_and_is_listed(name: str) -> None:
    module, table = MODULES[name]
    assert list(module.__all__) == sorted(table)
    assert set(table) <= set(dir(module))
    for entry in table:
        if (name, entry) != ("opencute", "torch"):
            assert getattr(module, entry) is not None
    with pytest.raises(AttributeError, match="no attribute 'nonsense_x'"):
        module.nonsense_x  # noqa: B018


def test_stubs_are_fresh() -> None:
    stale = [str(f) for f, text in stubs().items() if not f.exists() or f.read_text() != text]
    assert not stale, "run python -m opencute.tools.stubs"
    known = set(stubs())
    found = {f for p in ("opencute", "cutlass") for f in (SOURCE / p).rglob("*.pyi")}
    assert found == known


def loaded_by(code: str) -> set[str]:
    """The modules that a fresh Python has after some code."""
    run = subprocess.run(
        [sys.executable, "-c", f"import sys\n{code}\nprint(*sys.modules)"],
        capture_output=True, text=True, check=True, env={"PYTHONPATH": str(SOURCE), "PATH": ""},
    )  # fmt: skip
    return set(run.stdout.split())


def test_import_alone_loads_nothing_heavy() -> None:
    loaded = loaded_by("import cutlass")
    assert not loaded & {"numpy", "ml_dtypes", "llvmlite", "torch", "cuda"}
    assert sum(m.startswith("opencute") for m in loaded) <= 11


def test_the_usual_imports_load_no_compiler() -> None:
    loaded = loaded_by(
        "import cutlass\nimport cutlass.cute as cute\nfrom cutlass.cute.runtime import from_dlpack"
    )
    assert not loaded & {"llvmlite", "torch", "cuda", "click", "rich"}
    heavy = ("opencute.passes", "opencute.codegen", "opencute.sim")
    assert not any(m.startswith(heavy) for m in loaded)


def test_both_spellings_are_one_module() -> None:
    loaded_by(
        "import cutlass, opencute, cutlass.cute.math, opencute.cute.math\n"
        "assert cutlass is opencute and cutlass.cute.math is opencute.cute.math\n"
        "from cutlass.cute.typing import Tensor\nassert Tensor is opencute.cute.Tensor"
    )
