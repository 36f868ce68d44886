# SPDX-FileCopyrightText: 2026 The OpenCuTe authors
# SPDX-License-Identifier: Apache-2.0
"""Stages of compiled functions: dumped, edited, and gone on from."""

from __future__ import annotations

import dataclasses
import gc
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import opencute as cutlass
from opencute import cute
from opencute.base.errors import CompileError, VerificationError
from opencute.base.knobs import KNOBS
from opencute.codegen import device
from opencute.codegen.libdevice import libdevice_text
from opencute.codegen.ptxas import Assembler
from opencute.compiler.artefacts import Artefacts
from opencute.compiler.options import Options
from opencute.cute.runtime import from_dlpack
from opencute.ir.parser import parse
from opencute.ir.types import IntegerType
from opencute.jit import calls
from opencute.passes.pipelines import CUTE, DEVICE

pytestmark = pytest.mark.t1

MLIR = ["00-cute.mlir", *(f"{i:02}-{p.__name__}.mlir" for i, p in enumerate(DEVICE, 1))]
LLVM, PTX, CUBIN = (
    f"{i:02}-{name}" for i, name in enumerate(("llvm.ll", "ptx.ptx", "cubin.cubin"), len(MLIR))
)
FILES = [*MLIR, LLVM, PTX, CUBIN]


def after(name: str, last: bool = False) -> str:
    """The file that the first, or the last, pass of a name leaves."""
    found = [f for f in MLIR if f.endswith(f"-{name}.mlir")]
    return found[-1 if last else 0]


FOLDED, LOWERED = after("simplify"), after("simplify", last=True)


@cute.kernel
def _add(x: cute.Tensor, n: cutlass.Constexpr):
    for i in range(4):
        x[i] = x[i] + n


@cute.jit
def add_n(x: cute.Tensor, n: cutlass.Constexpr):
    _add(x, n).launch(grid=1, block=1)


def made(dumps: Path | None = None, override: Path | None = None, n: int = 7) -> Artefacts:
    """The stages of a kernel that adds `n` to four integers."""
    calls._runners.clear()
    with KNOBS.override(target="sim:sm_90a", dump_dir=dumps, dump_override=override):
        return cute.compile(add_n, from_dlpack(np.zeros(4, np.int32)), n).artefacts


def run(n: int, override: Path | None) -> list[int]:
    calls._runners.clear()
    x = np.zeros(4, np.int32)
    with KNOBS.override(target="sim:sm_90a", dump_override=override):
        cute.compile(add_n, from_dlpack(x), n)(from_dlpack(x))
    return x.tolist()


def files(folder: Path) -> list[str]:
    return sorted(p.name for p in folder.iterdir())


@pytest.fixture(scope="module")
def dumped(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The folder of one function with all stages."""
    folder = tmp_path_factory.mktemp("dumps")
    assert made(folder).cubin
    return folder / "add_n"


def test_every_stage_is_dumped(dumped: Path):
    assert files(dumped) == FILES
    for name in MLIR:
        text = (dumped / name).read_text()
        note = text.split("\n", 1)[0].removeprefix(f"// {name[:2]} {name[3:-5]}")
        assert note in ("", " (unchanged)")
        assert "test_artefacts.py" in text  # source locations
    assert " (unchanged)" in (dumped / after("expand")).read_text().split("\n", 1)[0]
    assert (dumped / CUBIN).read_bytes().startswith(b"\x7fELF")


def test_each_compilation_has_a_folder(tmp_path: Path):
    for n in (1, 2, 3):
        made(tmp_path, n=n)
    assert files(tmp_path) == ["add_n", "add_n-1", "add_n-2"]
    assert files(tmp_path / "add_n") == MLIR[: len(CUTE) + 1]  # the simulator needs no more


def test_only_matching_functions_are_dumped(tmp_path: Path):
    with KNOBS.override(dump_match="other*"):
        made(tmp_path)
    assert files(tmp_path) == []


def test_passes_are_timed():
    artefacts = made()
    assert artefacts.records == []
    assert artefacts.ptx
    assert [r.name for r in artefacts.records] == [p.__name__ for p in DEVICE]
    assert sum(r.seconds for r in artefacts.records) > 0


def test_the_verifier_runs_between_passes(monkeypatch: pytest.MonkeyPatch):
    from opencute.passes import pipelines

    broken = list(pipelines.DEVICE)

    def cut(function: Any, target: Any) -> None:
        function.regions[0].block.ops.pop()

    broken.insert(1, cut)
    artefacts = made()
    pipeline = pipelines._pipeline("device", broken, artefacts.target, pipelines.kernels)
    with pytest.raises(VerificationError) as e:
        pipeline.run(artefacts.module.clone({}), verify_each=True)
    assert e.value.hint == "in pass cut"
    with KNOBS.override(verify_passes=True):
        assert made().ptx == made().ptx


@pytest.mark.parametrize("break_it", ["types", "operand"])
def test_a_module_that_is_verified_later_is_refused_all_the_same(break_it: str):
    module = made().module.clone({})
    op = next(o for o in module.walk() if o.name == "arith.addi")
    if break_it == "types":  # which passes and LLVM might let through
        op.results[0].type = IntegerType(64)
    else:  # which the passes do not get over
        op.operands = op.operands[:1]
    with KNOBS.override(cache_enabled=False):
        later = Artefacts("add_n", module, "sm_90a", Options(), later=True)
        with pytest.raises(VerificationError):
            later.make_device(lambda: None)
    with pytest.raises(VerificationError):
        Artefacts("add_n", module, "sm_90a", Options())


@pytest.mark.parametrize("name", FILES[:-1])
def test_going_on_from_a_stage_gives_the_same_code(dumped: Path, name: str):
    original, again = made(), made().restart_from(dumped / name)
    assert again.ptx == original.ptx
    assert again.replaced == (name != MLIR[0])
    assert len(again.records) == max(0, len(DEVICE) - int(name[:2]))


def test_going_on_from_an_edited_stage(dumped: Path, tmp_path: Path):
    for name, old, new in (
        (FOLDED, "value = 7 : i32", "value = 9 : i32"),
        (LOWERED, "value = 7 : i32", "value = 9 : i32"),
        (LLVM, ", 7\n", ", 9\n"),
    ):
        text = (dumped / name).read_text()
        assert old in text
        (tmp_path / name).write_text(text.replace(old, new))
        assert made().restart_from(tmp_path / name).ptx == made(n=9).ptx


def test_ptx_and_machine_code_are_taken_as_they_are(dumped: Path, tmp_path: Path):
    ptx = tmp_path / PTX
    ptx.write_text((dumped / ptx.name).read_text() + "// edited\n")
    again = made().restart_from(ptx)
    assert again.ptx.endswith("// edited\n") and again.cubin == (dumped / FILES[-1]).read_bytes()
    cubin = tmp_path / CUBIN
    cubin.write_bytes(b"\x7fELF of mine")
    assert made().restart_from(cubin).cubin == b"\x7fELF of mine"


@pytest.mark.parametrize("name", ["00-simplify.mlir", "00-ptx.ptx", "code.ll"])
def test_a_file_of_no_stage(tmp_path: Path, name: str):
    with pytest.raises(CompileError) as e:
        made().restart_from(tmp_path / name)
    assert e.value.code == "OC1050"


def test_a_broken_stage_is_refused(dumped: Path, tmp_path: Path):
    text = (dumped / after("tiles")).read_text()
    (tmp_path / after("tiles")).write_text(text.replace('"llvm.store"', '"llvm.stor"'))
    with pytest.raises(VerificationError):
        made().restart_from(tmp_path / after("tiles"))


@pytest.mark.parametrize("stage", [MLIR[0], FOLDED, LOWERED])
def test_a_program_runs_with_stages_from_a_folder(dumped: Path, tmp_path: Path, stage: str):
    folder = tmp_path / "add_n"
    folder.mkdir()
    (folder / "notes.txt").write_text("no stage")
    text = (dumped / stage).read_text()
    (folder / stage).write_text(text.replace("value = 7 : i32", "value = 9 : i32"))
    assert run(7, tmp_path) == [9] * 4
    assert run(7, tmp_path) == [7] * 4  # that is add_n-1, of which nothing is there
    folder.rename(tmp_path / "add_n-2")
    assert made(override=tmp_path).ptx == made(n=9).ptx
    assert run(7, tmp_path / "other") == [7] * 4


def test_the_last_stage_of_a_folder_counts(dumped: Path, tmp_path: Path):
    folder = tmp_path / "add_n"
    folder.mkdir()
    for name, value in ((MLIR[0], 8), (FOLDED, 9)):
        text = (dumped / name).read_text()
        (folder / name).write_text(text.replace("value = 7 : i32", f"value = {value} : i32"))
    assert run(7, tmp_path) == [9] * 4


def test_stages_in_words():
    artefacts = made()
    assert parse(artefacts.cute).name == "builtin.module"
    assert "llvm.load" in artefacts.lowered
    assert "define ptx_kernel" in artefacts.llvm and ".entry" in artefacts.ptx
    assert artefacts.device is artefacts.device


def test_kept_stages(tmp_path: Path):
    artefacts = made()
    options = dataclasses.replace(Options(), keep_ptx=True, keep_cubin=True, dump_dir=str(tmp_path))
    kept = Artefacts(artefacts.name, artefacts.module, "sm_90a", options)
    kept.keep()
    assert files(tmp_path) == ["add_n-kernels.cubin", "add_n-kernels.ptx"]
    assert (tmp_path / "add_n-kernels.ptx").read_text() == artefacts.ptx


def test_library_functions_are_inlined():
    assert "alwaysinline" in libdevice_text(("__nv_expf",))

    @cute.kernel
    def kernel(x: cute.Tensor):
        x[0] = cute.math.exp(x[0])

    @cute.jit
    def exp(x: cute.Tensor):
        kernel(x).launch(grid=1, block=1)

    with KNOBS.override(target="sim:sm_90a"):
        artefacts = cute.compile(exp, from_dlpack(np.zeros(1, np.float32))).artefacts
    assert "@__nv_expf" in artefacts.llvm
    assert ".func" not in artefacts.ptx and "call" not in artefacts.ptx


@cute.jit
def add_at_levels(x: cute.Tensor, first: cutlass.Constexpr, second: cutlass.Constexpr):
    _add(x, 1).launch(grid=1, block=1, opt_level=first)
    _add(x, 2).launch(grid=1, block=1, opt_level=second)


@pytest.mark.parametrize(
    ("levels", "option", "wanted"),
    [((None, None), "", 3), ((None, 1), "", 1), ((2, 1), "", 1), ((1, 1), "--opt-level 2", 2)],
)
def test_the_level_that_launches_ask_for(
    monkeypatch: pytest.MonkeyPatch, levels: tuple[Any, Any], option: str, wanted: int
) -> None:
    asked: list[int] = []

    class Assembler(device.Assembler):
        def __init__(self, target: Any, *, opt_level: int = 3, **rest: Any) -> None:
            asked.append(opt_level)
            super().__init__(target, opt_level=opt_level, **rest)

    monkeypatch.setattr(device, "Assembler", Assembler)
    with KNOBS.override(target="sim:sm_90a", cache_enabled=False):
        x = from_dlpack(np.zeros(4, np.int32))
        assert cute.compile(add_at_levels, x, *levels, options=option).artefacts.device.cubin
    assert asked == [wanted]


def test_the_collector_runs_while_ptxas_does(monkeypatch: pytest.MonkeyPatch) -> None:
    """Else it looks at all that was made before ptxas gets the text."""
    events: list[str] = []
    feed, finish = Assembler.feed, Assembler.finish

    def fed(self: Assembler, ptx: str) -> None:
        feed(self, ptx)
        events.append("fed")

    def finished(self: Assembler) -> Any:
        events.append("finished")
        return finish(self)

    def collected(phase: str, info: dict[str, int]) -> None:
        if phase == "start":
            events.append("collected")

    artefacts = made()
    monkeypatch.setattr(Assembler, "feed", fed)
    monkeypatch.setattr(Assembler, "finish", finished)
    threshold = gc.get_threshold()
    gc.set_threshold(1000)
    gc.collect()
    gc.callbacks.append(collected)
    try:
        with KNOBS.override(cache_enabled=False):
            assert artefacts.cubin
    finally:
        gc.callbacks.remove(collected)
        gc.set_threshold(*threshold)
    assert events[:3] == ["fed", "collected", "finished"]
