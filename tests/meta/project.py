# SPDX-FileCopyrightText: 2026 The OpenCuTe authors
# SPDX-License-Identifier: Apache-2.0
"""What the meta rules know about this project: its files, and the rank of each package."""

from __future__ import annotations

import subprocess
from pathlib import Path

__all__ = [
    "LOCAL_TO",
    "NUMPY_AT_TOP",
    "RANK",
    "ROOT",
    "SAME_PACKAGE",
    "package_of",
    "project_files",
    "sources",
]

ROOT = Path(__file__).resolve().parents[2]

# Package → rank: docs/design/architecture.md, section 3. "" is opencute/__init__.py and the like.
RANK: dict[str, int] = {
    "base": 0,
    "layout": 1, "numeric": 1,
    "arch": 2, "ir": 2,
    "dialects": 3, "native": 3, "runtime": 3,
    "lang": 4, "passes": 4, "sim": 4, "codegen": 4,
    "frontend": 5,
    "compiler": 6,
    "jit": 7,
    "": 8, "cute": 8, "cuda": 8, "_mlir": 8, "_mlir_helpers": 8, "base_dsl": 8, "cutlass_dsl": 8,
    "lib": 9, "tune": 9,
    "pipeline": 10, "utils": 10, "torch": 10, "jax": 10, "testing": 10, "integrations": 10,
    "experimental": 10,
    "cutlass": 10,  # src/cutlass: the other spelling of the public tree
    "kernels": 11, "lab": 11,
    "tools": 12,
    "__main__": 13,  # src/opencute/__main__.py: the command, as a module
}  # fmt: skip

# The public language is one thing in two places, so these may import each other.
SAME_PACKAGE = [{"", "cute"}, {"", "cuda"}]

# Heavy third-party module → where it may be imported, inside functions: path parts that name it, or
# packages whose business it is.
LOCAL_TO: dict[str, tuple[str, ...]] = {
    "torch": ("torch", "kernels", "lab"),
    "jax": ("jax",),
    "cuda": ("cuda", "driver"),
    "tvm_ffi": ("tvm_ffi", "ffi"),
    "llvmlite": ("native", "llvmlite", "doctor"),  # doctor: its version
}

# Packages that may import NumPy and ml_dtypes while they are imported themselves.
NUMPY_AT_TOP = {
    "numeric", "native", "runtime", "sim", "lang", "torch", "jax", "integrations", "testing",
    "kernels", "lab", "tools",
}  # fmt: skip


def project_files(root: Path = ROOT) -> list[Path]:
    """Every file that belongs to the project: what git tracks or would add."""
    try:
        listed = subprocess.run(
            ["git", "-C", str(root), "ls-files", "-z", "-co", "--exclude-standard", "--", "."],
            capture_output=True, check=True, text=True,
        ).stdout  # fmt: skip
        found = [root / name for name in listed.split("\0") if name]
    except (OSError, subprocess.CalledProcessError):  # an unpacked archive
        skip = ("__pycache__", "build", "dist", "venv")
        found = [
            p
            for p in root.rglob("*")
            if not any(
                part in skip or (part.startswith(".") and part != ".ci")
                for part in p.relative_to(root).parts
            )
        ]
    return sorted(p for p in found if p.is_file())


def sources(root: Path = ROOT) -> list[Path]:
    """The Python files under src/."""
    return [p for p in project_files(root) if p.suffix == ".py" and (root / "src") in p.parents]


def package_of(path: Path, root: Path = ROOT) -> str:
    """The package of a source file: ``src/opencute/ir/core.py`` → ``ir``."""
    parts = path.relative_to(root / "src").parts
    if parts[0] != "opencute":
        return parts[0]
    return "" if parts[1] == "__init__.py" else parts[1].removesuffix(".py")
