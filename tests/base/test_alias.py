# SPDX-FileCopyrightText: 2026 The OpenCuTe authors
# SPDX-License-Identifier: Apache-2.0
"""`cutlass` is `opencute`, unless another package of that name is installed."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

pytestmark = pytest.mark.t0

SRC = Path(__file__).parents[2] / "src"


@pytest.fixture
def vendor(tmp_path: Path) -> Path:
    """A package called cutlass that is not ours."""
    package = tmp_path / "site" / "cutlass"
    package.mkdir(parents=True)
    (package / "__init__.py").write_text("VENDOR = True\n")
    (package / "cute.py").write_text("from . import VENDOR\n")
    return package.parent


def run(code: str, *path: Path, **environment: str) -> str:
    keep = {k: v for k, v in os.environ.items() if not k.startswith("OPENCUTE_")}
    env = {**keep, "PYTHONPATH": os.pathsep.join(map(str, path)), **environment}
    done = subprocess.run(
        [sys.executable, "-W", "error", "-c", code], capture_output=True, text=True, env=env
    )
    assert done.returncode == 0, done.stderr
    return done.stdout.strip()


WHOSE = "import cutlass; print('vendor' if hasattr(cutlass, 'VENDOR') else cutlass.__name__)"


def test_same_module_objects_under_both_names() -> None:
    code = """
import cutlass, cutlass.cute as a, opencute, opencute.cute as b
import cutlass.cute.runtime as r1, opencute.cute.runtime as r2
from cutlass.cute.typing import Tensor
assert cutlass is opencute and a is b and r1 is r2 and a.Tensor is Tensor
assert a.__spec__.name == "opencute.cute" and a.__name__ == "opencute.cute"
import cutlass.cute.nvgpu
from cutlass.cute import math
assert math.__name__ == "opencute.cute.math"
print("ok")
"""
    assert run(code, SRC) == "ok"


def test_importing_it_loads_nothing_heavy() -> None:
    code = (
        "import sys, cutlass, cutlass.cute; "
        "print([m for m in ('numpy', 'llvmlite', 'torch', 'click') if m in sys.modules])"
    )
    assert run(code, SRC) == "[]"


def test_ours_steps_aside_when_it_is_found_first(vendor: Path) -> None:
    assert run(WHOSE, SRC, vendor) == "vendor"
    assert run("import cutlass.cute; print(cutlass.cute.VENDOR)", SRC, vendor) == "True"


def test_theirs_is_found_first(vendor: Path) -> None:
    assert run(WHOSE, vendor, SRC) == "vendor"


def test_a_second_copy_of_opencute_is_no_vendor(tmp_path: Path) -> None:
    other = tmp_path / "other"
    shutil.copytree(SRC, other, ignore=shutil.ignore_patterns("__pycache__"))
    for first, second in ((SRC, other), (other, SRC)):
        code = "import cutlass, opencute; print(cutlass is opencute, opencute.__file__)"
        assert run(code, first, second) == f"True {first / 'opencute' / '__init__.py'}"


def test_the_alias_can_be_forced(vendor: Path) -> None:
    assert run(WHOSE, SRC, vendor, OPENCUTE_ALIAS="1") == "opencute"


@pytest.mark.parametrize("order", [0, 1])
def test_opencute_cute_always_works(vendor: Path, order: int) -> None:
    path = (SRC, vendor) if order else (vendor, SRC)
    code = "import cutlass, opencute.cute as c; print(c.make_layout((2, 3)))"
    assert run(code, *path) == "(2,3):(1,2)"


def test_a_module_that_does_not_exist() -> None:
    code = """
try:
    import cutlass.no_such_thing
except ModuleNotFoundError as e:
    print(e)
"""
    assert "cutlass.no_such_thing" in run(code, SRC)


def test_unknown_names_are_answered() -> None:
    code = """
import cutlass.cute as cute
for name in ("block_idx", "make_smem_tensor", "zipped_devide", "nothing_like_it"):
    try:
        getattr(cute, name)
    except AttributeError as e:
        print(e)
"""
    lines = run(code, SRC).splitlines()
    assert "cute.arch.block_idx" in lines[0]
    assert "SmemAllocator" in lines[1]
    assert "did you mean zipped_divide" in lines[2]
    assert lines[3].endswith("'nothing_like_it'")
