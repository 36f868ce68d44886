# SPDX-FileCopyrightText: 2026 The OpenCuTe authors
# SPDX-License-Identifier: Apache-2.0
"""Where the programs are that turn PTX into machine code and show it, and what to do without them.

In: knobs, installed wheels, the PATH. Out: a `Tool` with path, version and where it was found, or a
`MissingPieceError` whose text `opencute doctor` prints too::

    find_ptxas()          # Tool(path=.../bin/ptxas, version=(13, 0, 88), source="wheel
    nvidia-cuda-nvcc")

The order: the knob, the wheel, CUDA_HOME, the PATH, the usual folder, Triton's copy. With no ptxas
at all the driver's own compiler can still take PTX on a machine with a GPU.
"""

from __future__ import annotations

import importlib.metadata
import os
import re
import shutil
import subprocess
from collections.abc import Iterator
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path

from opencute.base.errors import MissingPieceError
from opencute.base.knobs import KNOBS, Knobs

__all__ = [
    "PIECES", "Piece", "Tool", "find_disassembler", "find_libdevice", "find_ptxas", "missing",
    "supported_archs",
]  # fmt: skip


@dataclass(frozen=True)
class Piece:
    """Something optional, and what to say when it is not there.

    Args:
        code: code of the error.
        what: what is missing, in one sentence.
        hint: what to do.
    """

    code: str
    what: str
    hint: str


PIECES: dict[str, Piece] = {
    "ptxas": Piece(
        "OC5001", "no ptxas was found, so no GPU machine code can be made",
        "pip install 'opencute[cuda]' (the wheel nvidia-cuda-nvcc), or install a CUDA toolkit and "
        f"set CUDA_HOME, or set {Knobs.ptxas.env} to a ptxas",
    ),
    "disassembler": Piece(
        "OC5002", "no nvdisasm or cuobjdump was found, so machine code cannot be shown",
        "pip install nvidia-cuda-nvdisasm nvidia-cuda-cuobjdump, or install a CUDA toolkit and set "
        "CUDA_HOME",
    ),
    "libdevice": Piece(
        "OC5003", "no libdevice was found, so some exact math functions cannot be compiled",
        "pip install nvidia-nvvm, or install a CUDA toolkit and set CUDA_HOME",
    ),
    "llvmlite": Piece(
        "OC5004", "llvmlite is not installed, so nothing can be compiled", "pip install llvmlite"
    ),
    "cuda-bindings": Piece(
        "OC5005", "cuda-bindings is not installed, so no kernel can be launched on a GPU",
        "pip install 'opencute[cuda]'",
    ),
    "gpu": Piece(
        "OC5006", "no CUDA GPU is present, or its driver is not installed",
        f"kernels run in the simulator; set {Knobs.target.env}=sim to choose it explicitly",
    ),
    "torch": Piece(
        "OC5007", "torch is not installed, so files that import it cannot run",
        "pip install torch (the CPU build is enough for the simulator)",
    ),
    "numpy": Piece("OC5008", "numpy is not installed", "pip install numpy"),
    "ml_dtypes": Piece(
        "OC5009", "ml_dtypes is not installed, so there are no bf16 and narrow-float arrays",
        "pip install ml_dtypes",
    ),
}  # fmt: skip


def missing(name: str) -> MissingPieceError:
    """The error for a missing piece, ready to be raised."""
    piece = PIECES[name]
    return MissingPieceError(piece.what, code=piece.code, hint=piece.hint)


@dataclass(frozen=True)
class Tool:
    """A program that was found.

    Args:
        path: where it is.
        version: such as (13, 0, 88); empty when it did not say.
        source: how it was found, in words.
    """

    path: Path
    version: tuple[int, ...]
    source: str

    @property
    def version_text(self) -> str:
        """The version as people write it."""
        return ".".join(map(str, self.version)) or "unknown"


# Wheels that may hold a program: the current name first, then those of CUDA 12.
_WHEELS = {
    "ptxas": ("nvidia-cuda-nvcc", "nvidia-cuda-nvcc-cu12", "nvidia-cuda-nvcc-cu13"),
    "nvdisasm": ("nvidia-cuda-nvdisasm", "nvidia-cuda-nvdisasm", "nvidia-cuda-nvdisasm-cu12"),
    "cuobjdump": ("nvidia-cuda-cuobjdump", "nvidia-cuda-cuobjdump-cu12"),
    "libdevice.10.bc": (
        "nvidia-nvvm", "nvidia-cuda-nvcc", "nvidia-cuda-nvcc-cu12", "nvidia-nvvm-cu12",
    ),
}  # fmt: skip
_USUAL_HOME = Path("/usr/local/cuda")


@lru_cache(maxsize=64)
def _wheel_file(wheel: str, name: str) -> Path | None:
    """A file of an installed wheel, by its base name; nothing of the wheel is imported."""
    try:
        files = importlib.metadata.files(wheel) or []
    except importlib.metadata.PackageNotFoundError:
        return None
    for file in files:
        if file.name in (name, f"{name}.exe"):
            path = Path(str(file.locate()))
            if path.is_file():
                return path.resolve()
    return None


def _homes() -> Iterator[tuple[Path, str]]:
    home = KNOBS.cuda_home
    if home:
        yield Path(home), "CUDA_HOME"


def _candidates(name: str) -> Iterator[tuple[Path, str]]:
    for wheel in _WHEELS[name]:
        path = _wheel_file(wheel, name)
        if path is not None:
            yield path, f"wheel {wheel}"
    for home, source in _homes():
        yield home / "bin" / name, source
    on_path = shutil.which(name)
    if on_path:
        yield Path(on_path), "PATH"
    yield _USUAL_HOME / "bin" / name, str(_USUAL_HOME)
    tritons = _wheel_file("triton", name)
    if tritons is not None:
        yield tritons, "Triton's copy"


def _runnable(path: Path) -> bool:
    return path.is_file() and os.access(path, os.X_OK)


@lru_cache(maxsize=64)
def _output(path: Path, modified: float, option: str) -> str:
    """What a program prints for an option; remembered for this state of its file."""
    try:
        done = subprocess.run(
            [str(path), option], capture_output=True, text=True, timeout=30, check=False
        )
    except (OSError, subprocess.TimeoutExpired):
        return ""
    return done.stdout


def _ask(path: Path, option: str) -> str:
    return _output(path, path.stat().st_mtime, option)


def _version(path: Path) -> tuple[int, ...]:
    found = re.search(r"\bV(\d+(?:\.\d+)+)", _ask(path, "--version"))
    return tuple(map(int, found.group(1).split("."))) if found else ()


def _find(name: str) -> Tool | None:
    for path, source in _candidates(name):
        if _runnable(path):
            return Tool(path, _version(path), source)
    return None


def find_ptxas() -> Tool:
    """The ptxas to use.

    Raises:
        MissingPieceError: there is none, or the one that the knob names cannot be run.
    """
    chosen = KNOBS.ptxas
    if chosen:
        path = Path(chosen).expanduser()
        if not _runnable(path):
            raise MissingPieceError(
                f"{Knobs.ptxas.env} names {chosen!r}, which is no program that can be run",
                code="OC5010",
                hint=f"correct or unset {Knobs.ptxas.env}",
            )
        return Tool(path, _version(path), Knobs.ptxas.env)
    tool = _find("ptxas")
    if tool is None:
        raise missing("ptxas")
    return tool


def find_disassembler() -> Tool:
    """nvdisasm, which shows one cubin, or else cuobjdump.

    Raises:
        MissingPieceError: there is neither.
    """
    tool = _find("nvdisasm") or _find("cuobjdump")
    if tool is None:
        raise missing("disassembler")
    return tool


def find_libdevice() -> Path:
    """The bit code of libdevice.

    Raises:
        MissingPieceError: there is none.
    """
    name = "libdevice.10.bc"
    for wheel in _WHEELS[name]:
        path = _wheel_file(wheel, name)
        if path is not None:
            return path
    for home in [h for h, _ in _homes()] + [_USUAL_HOME]:
        path = home / "nvvm" / "libdevice" / name
        if path.is_file():
            return path
    tritons = _wheel_file("triton", name)
    if tritons is not None:
        return tritons
    raise missing("libdevice")


def supported_archs(ptxas: Tool) -> tuple[str, ...]:
    """The architectures that a ptxas takes, such as ``sm_90a``, in ascending order."""
    names = set(re.findall(r"'(sm_\d+[a-z]?)'", _ask(ptxas.path, "--help")))
    return tuple(sorted(names, key=_arch_order))


def _arch_order(name: str) -> tuple[int, str]:
    found = re.fullmatch(r"sm_(\d+)([a-z]?)", name)
    return (int(found.group(1)), found.group(2)) if found else (0, name)
