# SPDX-FileCopyrightText: 2026 The OpenCuTe authors
# SPDX-License-Identifier: Apache-2.0
"""Runs every ``*.mlir`` file below this folder as its header says.

The first line is ``// RUN: command, command``. Without a command, a file is parsed and verified,
and its text must come out of the printer unchanged after one round trip. The commands:

- ``mlir-opt``: a real mlir-opt accepts it too, and what that prints is read and verified here;
- ``invalid``: instead, each part (they are separated by ``// -----``) has ``// expect: CODE`` and
  is refused by parser or verifier with that code, at ``// expect: CODE LINE:COLUMN`` of the part if
  so given;
- ``passes NAME ...``: instead, each part is a list of functions (no module is written around them);
  the passes are run on each function, for sm_90a or the target after ``@``, as in ``passes expand
  @sm_80``. What stands after a line ``// AFTER`` is what comes out, up to the names of values. The
  ``// run:`` lines of the part hold before and after.

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
from opencute.arch.target import target
from opencute.base.errors import CompileError
from opencute.ir.core import Op
from opencute.ir.parser import parse
from opencute.ir.printer import print_op
from opencute.ir.verifier import verify
from opencute.passes.pipelines import DEVICE, HOST, host_functions, kernels
from opencute.sim import Buffer, Simulator

pytestmark = pytest.mark.t0
assert dialects.__all__

HERE = Path(__file__).parent
FILES = sorted(HERE.rglob("*.mlir"))
COMMANDS = {"mlir-opt", "invalid", "passes"}
PASSES = {p.__name__: p for p in (*DEVICE, *HOST)}
_EXPECT = re.compile(r"^// expect: (OC\d{4})(?: (\d+):(\d+))?$", re.MULTILINE)
_RUN = re.compile(r"^// run: @(\w+)(\(.*\)) == (.*)$", re.MULTILINE)


def commands(text: str) -> dict[str, list[str]]:
    """What the first line asks for: commands with their arguments."""
    head, _, rest = text.split("\n", 1)[0].partition("// RUN:")
    assert head == "", "the first line is not a RUN header"
    found = {words[0]: words[1:] for words in map(str.split, rest.split(",")) if words}
    assert found.keys() <= COMMANDS, f"unknown commands: {found.keys() - COMMANDS}"
    return found


def named(path: Path) -> str:
    return str(path.relative_to(HERE))


def with_command(command: str | None) -> list[Path]:
    texts = {path: commands(path.read_text(encoding="utf-8")) for path in FILES}
    if command is None:
        return [p for p in FILES if not {"invalid", "passes"} & texts[p].keys()]
    return [p for p in FILES if command in texts[p]]


def parts(command: str) -> list[Any]:
    """Each part of the files with a command, and the command's arguments."""
    out: list[Any] = []
    for path in with_command(command):
        text = path.read_text(encoding="utf-8")
        for i, part in enumerate(text.split("// -----\n")):
            out.append(pytest.param(part, commands(text)[command], id=f"{named(path)}[{i}]"))
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


@pytest.mark.parametrize(("part", "arguments"), parts("invalid"))
def test_invalid(part: str, arguments: list[str]):
    assert not arguments
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
    if isinstance(a, np.ndarray) and a.size == 1:  # what is loaded has a lane per thread
        a = a.item()
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


def check_runs(module: Op, text: str) -> None:
    for function, args, expected in _RUN.findall(text):
        inputs = value(f"({args[1:-1]},)" if args != "()" else "()")
        found = Simulator().run_function(module, function, inputs)
        assert same(found, value(expected)), f"@{function}{args}: {found!r} is not {expected}"


def nameless(module: Op) -> str:
    """The functions of a module, without the names that values have in its source."""
    for op in module.walk():
        for v in (*op.results, *(a for r in op.regions for b in r.blocks for a in b.args)):
            v.hint = ""
    return "".join(print_op(op) for op in module.regions[0].block.ops)


def in_module(text: str) -> Op:
    return parse(f'"builtin.module"() ({{\n{text}}}) : () -> ()')


@pytest.mark.parametrize(("part", "arguments"), parts("passes"))
def test_passes(part: str, arguments: list[str]):
    before, marker, after = part.partition("// AFTER\n")
    module = in_module(before)
    verify(module)
    check_runs(module, before)
    sm = target(next((a[1:] for a in arguments if a.startswith("@")), "sm_90a"))
    for name in (a for a in arguments if not a.startswith("@")):
        for function in (*kernels(module), *host_functions(module)):
            PASSES[name](function, sm)
        verify(module)
    found = nameless(module)
    if marker:
        assert found == nameless(in_module(after)), f"what comes out:\n{found}"
    check_runs(module, before)
    assert marker or _RUN.search(before), "the part expects nothing"


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
