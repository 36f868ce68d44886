# SPDX-FileCopyrightText: 2026 The OpenCuTe authors
# SPDX-License-Identifier: Apache-2.0
"""Runs every ``*.mlir`` file below this folder as its header says.

The first line is ``// RUN: command, command``. Without a command, a file is parsed and verified,
and its text must come out of the printer unchanged after one round trip. The commands:

- ``mlir-opt``: a real mlir-opt accepts it too, and what that prints is read and verified here;
- ``invalid``: instead, each part (they are separated by ``// -----``) has ``// expect: CODE`` and
  is refused by parser or verifier with that code, at ``// expect: CODE LINE:COLUMN`` of the part if
  so given.

Lines ``// run: @f(1, 2.5, true) == 3`` call a host function in the simulator and compare exactly; a
tuple stands for several results, ``inf`` and ``nan`` are known.
"""

from __future__ import annotations

import math
import re
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from ir.mlir_opt import accepted
from opencute import dialects
from opencute.base.errors import CompileError
from opencute.ir.parser import parse
from opencute.ir.printer import print_op
from opencute.ir.verifier import verify
from opencute.sim import Buffer, Simulator

pytestmark = pytest.mark.t0
assert dialects.__all__

HERE = Path(__file__).parent
FILES = sorted(HERE.rglob("*.mlir"))
COMMANDS = {"mlir-opt", "invalid"}
_EXPECT = re.compile(r"^// expect: (OC\d{4})(?: (\d+):(\d+))?$", re.MULTILINE)
_RUN = re.compile(r"^// run: @(\w+)(\(.*\)) == (.*)$", re.MULTILINE)


def commands(text: str) -> set[str]:
    """What the first line asks for."""
    head, _, rest = text.split("\n", 1)[0].partition("// RUN:")
    assert head == "", "the first line is not a RUN header"
    found = {c.strip() for c in rest.split(",")} - {""}
    assert found <= COMMANDS, f"unknown commands: {found - COMMANDS}"
    return found


def named(path: Path) -> str:
    return str(path.relative_to(HERE))


def with_command(command: str | None) -> list[Path]:
    texts = {path: commands(path.read_text(encoding="utf-8")) for path in FILES}
    if command is None:
        return [p for p in FILES if "invalid" not in texts[p]]
    return [p for p in FILES if command in texts[p]]


def parts() -> list[tuple[str, str]]:
    """Each part of the invalid files, with a name."""
    out: list[tuple[str, str]] = []
    for path in with_command("invalid"):
        for i, part in enumerate(path.read_text(encoding="utf-8").split("// -----\n")):
            out.append((f"{named(path)}[{i}]", part))
    return out


@pytest.mark.parametrize("path", with_command(None), ids=named)
def test_round_trip(path: Path):
    module = parse(path.read_text(encoding="utf-8"), str(path))
    verify(module)
    text = print_op(module, locations=True)
    assert print_op(parse(text), locations=True) == text


@pytest.mark.t1
@pytest.mark.parametrize("path", with_command("mlir-opt"), ids=named)
def test_mlir_opt(path: Path):
    text = path.read_text(encoding="utf-8")
    again = parse(accepted(text))
    verify(again)
    assert [op.name for op in again.walk()] == [op.name for op in parse(text).walk()]


@pytest.mark.parametrize("part", [p for _, p in parts()], ids=[name for name, _ in parts()])
def test_invalid(part: str):
    expected = _EXPECT.findall(part)
    assert len(expected) == 1, "each part has one line '// expect: CODE'"
    code, line, column = expected[0]
    with pytest.raises(CompileError) as e:
        verify(parse(part))
    assert e.value.code == code, e.value
    if line:
        assert e.value.loc is not None
        assert (e.value.loc.line, e.value.loc.col + 1) == (int(line), int(column))


def calls() -> list[tuple[Path, str, str, str]]:
    return [
        (path, *m.groups())
        for path in with_command(None)
        for m in _RUN.finditer(path.read_text(encoding="utf-8"))
    ]


def value(text: str) -> Any:
    """A Python literal, with true, false, inf and nan."""
    names = {"inf": math.inf, "nan": math.nan, "true": True, "false": False}
    return eval(text, {"__builtins__": {}}, names)


def same(a: Any, b: Any) -> bool:
    """Equal values of equal kind; NaN equals NaN and the sign of zero counts."""
    if isinstance(b, tuple | list):
        return len(a) == len(b) and all(map(same, a, b))
    if isinstance(b, float):
        if math.isnan(b):
            return math.isnan(float(a))
        return float(a) == b and math.copysign(1, float(a)) == math.copysign(1, b)
    return isinstance(a, int | np.integer) and int(a) == b


@pytest.mark.parametrize(
    "call", calls(), ids=[f"{named(p)}@{f}{args}" for p, f, args, _ in calls()]
)
def test_run(call: tuple[Path, str, str, str]):
    path, function, args, expected = call
    module = parse(path.read_text(encoding="utf-8"), str(path))
    verify(module)
    inputs = value(f"({args[1:-1]},)" if args != "()" else "()")
    found = Simulator().run_function(module, function, inputs)
    assert same(found, value(expected)), f"{found!r} is not {expected}"


@pytest.mark.parametrize("level", ["cute", "llvm"])
@pytest.mark.parametrize("shape", [(1, 8), (3, 24), (33, 80)])
def test_relu_in_the_simulator(level: str, shape: tuple[int, int]):
    path = HERE / "kernels" / f"relu_2d_{level}.mlir"
    module = parse(path.read_text(encoding="utf-8"), str(path))
    verify(module)
    x = np.random.default_rng(7).standard_normal(shape).astype(np.float16)
    out = np.full_like(x, 9)
    arguments = [Buffer.from_numpy(a).pointer() for a in (x, out)]
    null = Buffer.from_numpy(np.zeros(1, np.uint8)).pointer()
    Simulator().run_host(module, "relu_host", [*arguments, *shape, null])
    np.testing.assert_array_equal(out, np.maximum(x, 0))
