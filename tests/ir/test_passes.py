# SPDX-FileCopyrightText: 2026 The OpenCuTe authors
# SPDX-License-Identifier: Apache-2.0
"""Pipelines: order, dumps, restart, verification, listeners."""

from __future__ import annotations

import functools
import gc
from pathlib import Path

import pytest

from dialects.samples import modules
from opencute.base.errors import CompileError, VerificationError
from opencute.base.knobs import KNOBS
from opencute.ir.attributes import UNIT
from opencute.ir.builder import paused_gc
from opencute.ir.core import Op
from opencute.ir.parser import parse
from opencute.ir.passes import Listener, PassRecord, Pipeline, listening
from opencute.ir.printer import print_op
from opencute.ir.verifier import verify

pytestmark = pytest.mark.t0


def mark(module: Op) -> None:
    module.attributes["test.marked"] = UNIT


def rename(module: Op, *, to: str = "test.renamed") -> None:
    module.attributes[to] = module.attributes.pop("test.marked")


def nothing(module: Op) -> None:
    verify(module)


def broken(module: Op) -> None:
    kernels = module.regions[0].block.ops[1]
    kernels.regions[0].block.ops[0].regions[0].block.ops.pop()


class Named:
    name = "an_object"

    def run(self, module: Op) -> None:
        module.attributes["test.object"] = UNIT


PIPELINE = Pipeline([mark, nothing, functools.partial(rename, to="test.new"), Named(), nothing])


@pytest.fixture
def module() -> Op:
    return modules("arith.addi")[0]


def test_passes_run_in_order_and_are_timed(module: Op):
    records = PIPELINE.run(module)
    assert [r.name for r in records] == ["mark", "nothing", "rename", "an_object", "nothing"]
    assert [r.number for r in records] == [1, 2, 3, 4, 5]
    assert all(r.seconds >= 0 and r.changed is None and r.dump is None for r in records)
    assert {"test.new", "test.object"} <= module.attributes.keys()


def test_dumps(module: Op, tmp_path: Path):
    before = print_op(module, locations=True)
    records = PIPELINE.run(module, dump_dir=tmp_path / "new" / "folder")
    files = sorted(p.name for p in (tmp_path / "new" / "folder").iterdir())
    assert files == [
        "00-input.mlir", "01-mark.mlir", "02-nothing.mlir", "03-rename.mlir", "04-an_object.mlir",
        "05-nothing.mlir",
    ]  # fmt: skip
    assert [r.changed for r in records] == [True, False, True, True, False]
    assert str(records[1]).endswith("(unchanged)") and not str(records[0]).endswith("(unchanged)")
    texts = [r.dump.read_text() for r in records if r.dump]
    assert texts[1].startswith("// 02 nothing (unchanged)\n")
    assert texts[0].startswith("// 01 mark\n")
    assert (tmp_path / "new" / "folder" / files[0]).read_text() == f"// 00 input\n{before}"
    assert print_op(parse(texts[-1]), locations=True) == print_op(module, locations=True)


def test_the_input_may_have_a_name_of_its_own(module: Op, tmp_path: Path):
    pipeline = Pipeline([mark, nothing], source="cute")
    pipeline.run(module, dump_dir=tmp_path)
    assert (tmp_path / "00-cute.mlir").read_text().startswith("// 00 cute\n")
    assert pipeline.stage_of(tmp_path / "00-cute.mlir") == 0
    assert pipeline.stage_of(tmp_path / "02-nothing.mlir") == 2


def test_restart_from_an_edited_dump(module: Op, tmp_path: Path):
    PIPELINE.run(module, dump_dir=tmp_path)
    path = tmp_path / "02-nothing.mlir"
    path.write_text(path.read_text().replace("test.marked", "test.marked, test.edited"))
    again, records = PIPELINE.restart(path)
    assert [r.name for r in records] == ["rename", "an_object", "nothing"]
    assert [r.number for r in records] == [3, 4, 5]
    assert again.attributes.pop("test.edited") is UNIT
    assert print_op(again, locations=True) == print_op(module, locations=True)


@pytest.mark.parametrize("name", ["02-mark.mlir", "09-mark.mlir", "mark.mlir", "00-input.txt"])
def test_restart_from_something_else(tmp_path: Path, name: str):
    with pytest.raises(CompileError) as e:
        PIPELINE.restart(tmp_path / name)
    assert e.value.code == "OC1050"
    assert "01-mark.mlir" in str(e.value.expected)


def test_verification_names_the_pass(module: Op):
    pipeline = Pipeline([nothing, broken, nothing])
    with pytest.raises(VerificationError) as e:
        pipeline.run(module, verify_each=True)
    assert e.value.hint == "in pass broken"


def test_verification_follows_the_knob():
    pipeline = Pipeline([broken])
    pipeline.run(modules("arith.addi")[0])
    with KNOBS.override(verify_passes=True), pytest.raises(VerificationError):
        pipeline.run(modules("arith.addi")[0])


def test_listeners_see_the_module_before_and_after(module: Op):
    seen: list[tuple[str, str, bool]] = []

    class Watch(Listener):
        def before_pass(self, name: str, module: Op) -> None:
            seen.append(("before", name, "test.marked" in module.attributes))

        def after_pass(self, record: PassRecord, module: Op) -> None:
            seen.append(("after", record.name, "test.marked" in module.attributes))

    pipeline = Pipeline([mark, rename])
    with listening(Watch()):
        pipeline.run(module)
    pipeline.run(module)
    assert seen == [
        ("before", "mark", False), ("after", "mark", True),
        ("before", "rename", True), ("after", "rename", False),
    ]  # fmt: skip


def test_the_collector_is_paused_and_comes_back():
    assert gc.isenabled()
    with paused_gc():
        assert not gc.isenabled()
        with pytest.raises(KeyError), paused_gc():
            raise KeyError
        assert not gc.isenabled()
    assert gc.isenabled()
    gc.disable()
    try:
        with paused_gc():
            pass
        assert not gc.isenabled()
    finally:
        gc.enable()
