# SPDX-FileCopyrightText: 2026 The OpenCuTe authors
# SPDX-License-Identifier: Apache-2.0
"""Where compiled functions run: on a GPU, or in the simulator."""

from __future__ import annotations

import sys
from dataclasses import dataclass

from opencute.arch.target import target, target_names
from opencute.base.errors import ArgumentError, MissingPieceError
from opencute.base.knobs import KNOBS
from opencute.runtime import device, driver

__all__ = ["DEFAULT_SIMULATED", "RunTarget", "asked_target", "run_target", "tell_simulated"]

DEFAULT_SIMULATED = "sm_90a"


@dataclass(frozen=True)
class RunTarget:
    """A place to run and the architecture that code is made for.

    Args:
        kind: ``sim`` or ``cuda``.
        arch: architecture, such as ``sm_90a``.
    """

    kind: str
    arch: str


_told = False


def tell_simulated() -> None:
    """Say once in a process that there is no GPU, and what happens instead."""
    global _told
    if not _told:
        _told = True
        sys.stderr.write(
            f"OpenCuTe: no GPU found; kernels run in the simulator ({DEFAULT_SIMULATED}). "
            "OPENCUTE_TARGET=sim says so without this note.\n"
        )


def native_arch() -> str:
    """The architecture of the current GPU, with its own instructions where ptxas has them."""
    major, minor = device.properties().capability
    number = major * 10 + minor
    for name in (f"sm_{number}a", f"sm_{number}"):
        if name in target_names():
            return name
    known = [int("".join(c for c in n if c.isdigit())) for n in target_names()]
    older = [n for n in known if n <= number]
    if not older:
        raise MissingPieceError(
            "this GPU is older than any that OpenCuTe compiles for", code="OC5100",
            expected="compute capability 8.0 or newer", found=f"{major}.{minor}",
        )  # fmt: skip
    return f"sm_{max(older)}"


def asked_target() -> tuple[str, str]:
    """What OPENCUTE_TARGET says: ``sim``, ``cuda`` or nothing, and an architecture or nothing.

    Raises:
        ArgumentError: the knob has another value than sim, sim:ARCH, cuda or cuda:ARCH.
    """
    kind, _, arch = KNOBS.target.partition(":")
    if kind not in ("", "sim", "cuda"):
        raise ArgumentError(
            "OPENCUTE_TARGET has an unknown value", code="OC2122",
            expected="sim, sim:sm_100a, cuda, cuda:sm_90a", found=KNOBS.target,
        )  # fmt: skip
    return kind, target(arch).name if arch else ""


def run_target(gpu_arch: str = "") -> RunTarget:
    """The target that OPENCUTE_TARGET names, or the one that this machine has.

    Raises:
        ArgumentError: the knob has another value than sim, sim:ARCH, cuda or cuda:ARCH.
        MissingPieceError: a GPU is asked for and there is none.
    """
    kind, arch = asked_target()
    if gpu_arch:
        arch = target(gpu_arch).name
    if kind == "sim":
        return RunTarget("sim", arch or DEFAULT_SIMULATED)
    if driver.available():
        return RunTarget("cuda", arch or native_arch())
    if kind == "cuda":
        raise MissingPieceError(
            "OPENCUTE_TARGET=cuda, but there is no CUDA GPU", code="OC5101",
            hint="unset OPENCUTE_TARGET to run in the simulator; 'opencute doctor' says what is "
            "missing",
        )  # fmt: skip
    tell_simulated()
    return RunTarget("sim", arch or DEFAULT_SIMULATED)
