# SPDX-FileCopyrightText: 2026 The OpenCuTe authors
# SPDX-License-Identifier: Apache-2.0
"""What PTX needs in registers, and at which of ptxas's levels it is assembled."""

from __future__ import annotations

from typing import Any

import pytest

from opencute.arch.target import target
from opencute.codegen import device
from opencute.codegen.device import DeviceCode
from opencute.codegen.ptxas import AsmReport, FunctionReport
from opencute.codegen.registers.pressure import most_live

pytestmark = pytest.mark.t0

HEAD = (
    ".version 8.6\n.target sm_90a\n.visible .entry k(\n\t.param .u64 k_0\n)\n{\n"
    "\t.reg .b32 \t%r<9>;\n"
)


def live(body: str) -> int:
    return most_live(f"{HEAD}{body}\tret;\n\n}}\n")["k"]


def test_straight_code() -> None:
    three = "\tmov.u32 \t%r1, %tid.x;\n\tadd.s32 \t%r2, %r1, %r1;\n\tmul.lo.s32 \t%r3, %r2, %r1;\n"
    assert live(three) == 2
    assert live(f"{three}\tst.global.b32 \t[%rd1], %r3;\n\tst.global.b32 \t[%rd1], %r1;\n") == 4
    assert (
        live("\tmov.u32 \t%r1, %tid.x;\n\tcvt.u64.u32 \t%rd2, %r1;\n\tst.b64 \t[%rd2], %rd2;\n")
        == 2
    )


def test_what_costs_nothing() -> None:
    uniform = "\tld.param.b32 \t%r1, [k_0];\n\tadd.s32 \t%r2, %r1, %r1;\n\tst.b32 \t[%r2], %r1;\n"
    assert live(uniform) == 0
    assert live(uniform.replace("ld.param", "ld.global")) == 2
    predicate = "\tmov.u32 \t%r1, %tid.x;\n\tsetp.lt.s32 \t%p1, %r1, 3;\n\tst.b32 \t[%r1], %r1;\n"
    assert live(predicate) == 1
    offsets = "".join(f"\tadd.s32 \t%r{i}, %r1, {i}00;\n" for i in range(2, 9))
    uses = "".join(f"\tst.shared.b32 \t[%r{i}], %r1;\n" for i in range(2, 9))
    assert live(f"\tmov.u32 \t%r1, %tid.x;\n{offsets}{uses}") == 1
    assert live(f"\tmov.u32 \t%r1, %tid.x;\n{offsets}{uses}".replace("add", "xor")) == 8


def test_declared_accumulators_count() -> None:
    loads = "".join(f"\tld.shared.b32 \t%acca{i}, [0];\n" for i in range(3))
    assert live(f"{loads}\twgmma.mma_async {{%acca0,%acca1,%acca2}}, %rd1, %rd2;\n") == 7


def test_operands_over_several_lines() -> None:
    mma = (
        "\tmma.sync.aligned.m16n8k8.row.col.f32.tf32.tf32.f32\n\t\t{%r1, %r2, %r3, %r4},\n"
        "\t\t{%r1, %r2, %r3, %r4},\n\t\t{%r5, %r6},\n\t\t{%r1, %r2, %r3, %r4};\n"
    )
    loads = "".join(f"\tld.shared.b32 \t%r{i}, [0];\n" for i in range(1, 7))
    assert live(f"{loads}{mma}") == 6
    assert live(f"{loads}{mma}\tst.b32 \t[%r1], %r5;\n") == 6


def test_loops_and_guards() -> None:
    loop = (
        "\tmov.u32 \t%r1, %tid.x;\n\tmov.u32 \t%r2, %tid.y;\n$L__BB0_1:\n"
        "\tld.shared.b32 \t%r3, [%r1];\n\tmov.u32 \t%r5, %r3;\n\tadd.s32 \t%r1, %r1, 4;\n"
        "\tsetp.lt.s32 \t%p1, %r1, %r5;\n\t@%p1 bra \t$L__BB0_1;\n"
    )
    assert live(loop) == 2  # %r2 is not used
    # What is needed after the loop is kept through it, and so is what its first turn reads.
    assert live(f"{loop}\tst.b32 \t[%r2], %r3;\n") == 4
    assert live(loop.replace("[%r1]", "[%r1+%r4]")) == 3  # %r4, through all turns
    first = "\tmov.u32 \t%r1, %tid.x;\n\tmov.u32 \t%r2, %tid.y;\n"
    last = "\tst.b32 \t[%r1], %r1;\n"
    assert live(f"{first}\t@%p1 mov.u32 \t%r1, %r2;\n{last}") == 2
    assert live(f"{first}\tmov.u32 \t%r1, %r2;\n{last}") == 1


class FakeAssembler:
    """Spills at some levels."""

    spills: dict[int, int]
    asked: list[int]

    def __init__(self, target: Any, *, opt_level: int, **_: Any) -> None:
        self.level = opt_level

    def __enter__(self) -> FakeAssembler:
        return self

    def __exit__(self, *_: object) -> None: ...

    def feed(self, ptx: str) -> None:
        self.asked.append(self.level)

    def finish(self) -> tuple[bytes, AsmReport]:
        report = FunctionReport("k", spill_stores=self.spills[self.level])
        return str(self.level).encode(), AsmReport((report,))


@pytest.mark.parametrize(
    ("spills", "level", "crowded", "written_for", "asked", "taken"),
    [
        ({3: 0, 1: 0}, 3, False, None, [3], 3),
        ({3: 8, 1: 0}, 3, False, None, [3, 1], 1),
        ({3: 8, 1: 8}, 3, False, None, [3, 1], 3),
        ({3: 8, 1: 0}, 3, True, None, [3], 3),  # few
        ({3: 800, 1: 0}, 3, True, None, [3, 1], 1),
        ({2: 8, 1: 0}, 2, True, None, [2], 2),  # chosen by the user
        ({3: 0, 1: 0}, 3, False, 1, [1], 1),  # and by the author
        ({3: 0, 1: 4}, 3, False, 1, [1, 3], 3),
        ({3: 8, 1: 0}, 3, False, 3, [3, 1], 1),
        ({2: 8, 1: 0}, 2, False, 1, [2], 2),  # the user comes first
    ],
)
def test_levels(
    monkeypatch: pytest.MonkeyPatch, spills: dict[int, int], level: int, crowded: bool,
    written_for: int | None, asked: list[int], taken: int,
) -> None:  # fmt: skip
    FakeAssembler.spills, FakeAssembler.asked = spills, []
    monkeypatch.setattr(device, "Assembler", FakeAssembler)
    monkeypatch.setattr(device, "_crowded", lambda ptx: crowded)
    done: list[int] = []
    code = device.assemble(
        lambda: DeviceCode("", "ptx"), target("sm_90a"), level, written_for=written_for,
        meanwhile=lambda: done.append(1),
    )  # fmt: skip
    assert (FakeAssembler.asked, code.cubin, done) == (asked, str(taken).encode(), [1])


def test_only_many_matrix_instructions_are_looked_at(monkeypatch: pytest.MonkeyPatch) -> None:
    counted: list[str] = []

    def count(ptx: str) -> dict[str, int]:
        counted.append(ptx)
        return {"k": 256}

    monkeypatch.setattr(device, "most_live", count)
    assert device._crowded("\tmma.sync.x;\n" * 300)
    assert not device._crowded("\tmma.sync.x;\n" * 255)
    assert not device._crowded("\tmma.sync.x;\n" * 300 + "wgmma")
    assert len(counted) == 1
