# SPDX-FileCopyrightText: 2026 The OpenCuTe authors
# SPDX-License-Identifier: Apache-2.0
"""Finding ptxas and its companions, in the order that the design states."""

from __future__ import annotations

from pathlib import Path

import pytest

from opencute.base.errors import MissingPieceError
from opencute.base.knobs import KNOBS
from opencute.codegen import toolchain

pytestmark = pytest.mark.t0

SCRIPT = """#!/bin/sh
if [ "$1" = --version ]; then echo "Cuda compilation tools, release 13.1, V13.1.{patch}"; fi
if [ "$1" = --help ]; then echo "  'compute_80','lto_90','sm_90a','sm_80',"; echo "  'sm_100f'."; fi
"""


def fake(path: Path, patch: int = 1, mode: int = 0o755) -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(SCRIPT.format(patch=patch), encoding="utf-8")
    path.chmod(mode)
    return path


@pytest.fixture
def nothing(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A machine where no tool is found; answers the folder to put some into."""
    monkeypatch.setattr(toolchain, "_wheel_file", lambda wheel, name: None)
    monkeypatch.setattr(toolchain, "_USUAL_HOME", tmp_path / "usual")
    monkeypatch.setenv("PATH", str(tmp_path / "path"))
    monkeypatch.delenv("OPENCUTE_PTXAS", raising=False)
    monkeypatch.delenv("CUDA_HOME", raising=False)
    return tmp_path


def test_nothing_found_says_what_to_do(nothing: Path) -> None:
    with pytest.raises(MissingPieceError, match=r"OC5001.*ptxas"):
        toolchain.find_ptxas()
    with pytest.raises(MissingPieceError, match="OC5002"):
        toolchain.find_disassembler()
    with pytest.raises(MissingPieceError, match="OC5003"):
        toolchain.find_libdevice()


def test_the_order_of_places(nothing: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    fake(nothing / "usual" / "bin" / "ptxas", 1)
    assert toolchain.find_ptxas().version == (13, 1, 1)
    fake(nothing / "path" / "ptxas", 2)
    assert toolchain.find_ptxas().source == "PATH"
    fake(nothing / "home" / "bin" / "ptxas", 3)
    monkeypatch.setenv("CUDA_HOME", str(nothing / "home"))
    assert toolchain.find_ptxas().source == "CUDA_HOME"
    wheel = fake(nothing / "wheel" / "ptxas", 4)
    monkeypatch.setattr(
        toolchain, "_wheel_file", lambda w, n: wheel if w == "nvidia-cuda-nvcc" else None
    )
    assert toolchain.find_ptxas().source == "wheel nvidia-cuda-nvcc"
    with KNOBS.override(ptxas=str(fake(nothing / "mine", 5))):
        tool = toolchain.find_ptxas()
    assert (tool.source, tool.version_text) == ("OPENCUTE_PTXAS", "13.1.5")


def test_a_knob_that_names_no_program_is_an_error(nothing: Path) -> None:
    fake(nothing / "path" / "ptxas")
    with KNOBS.override(ptxas="/no/such/ptxas"), pytest.raises(MissingPieceError, match="OC5010"):
        toolchain.find_ptxas()


def test_files_that_cannot_run_are_passed_over(nothing: Path) -> None:
    fake(nothing / "usual" / "bin" / "ptxas", mode=0o644)
    with pytest.raises(MissingPieceError):
        toolchain.find_ptxas()


def test_architectures_are_read_from_the_program(nothing: Path) -> None:
    fake(nothing / "path" / "ptxas")
    assert toolchain.supported_archs(toolchain.find_ptxas()) == ("sm_80", "sm_90a", "sm_100f")


def test_a_replaced_program_is_asked_again(nothing: Path) -> None:
    path = fake(nothing / "path" / "ptxas", 1)
    assert toolchain.find_ptxas().version_text == "13.1.1"
    fake(path, 2)
    __import__("os").utime(path, (1, 1))
    assert toolchain.find_ptxas().version_text == "13.1.2"


def test_the_disassembler_may_be_either(nothing: Path) -> None:
    fake(nothing / "path" / "cuobjdump")
    assert toolchain.find_disassembler().path.name == "cuobjdump"
    fake(nothing / "path" / "nvdisasm")
    assert toolchain.find_disassembler().path.name == "nvdisasm"


def test_libdevice_of_a_toolkit(nothing: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    file = nothing / "home" / "nvvm" / "libdevice" / "libdevice.10.bc"
    file.parent.mkdir(parents=True)
    file.write_bytes(b"BC")
    monkeypatch.setenv("CUDA_HOME", str(nothing / "home"))
    assert toolchain.find_libdevice() == file


def test_every_piece_has_its_own_code() -> None:
    codes = [p.code for p in toolchain.PIECES.values()]
    assert len(set(codes)) == len(codes)
    assert all(c.startswith("OC50") for c in codes)


@pytest.mark.t1
def test_the_installed_ptxas_takes_our_targets() -> None:
    try:
        tool = toolchain.find_ptxas()
    except MissingPieceError:
        pytest.skip("no ptxas here")
    archs = toolchain.supported_archs(tool)
    assert {"sm_80", "sm_90a", "sm_100a", "sm_120a"} <= set(archs)
    assert tool.version >= (12, 8)
