# SPDX-FileCopyrightText: 2026 The OpenCuTe authors
# SPDX-License-Identifier: Apache-2.0
"""Records of processors and copy atoms."""

from __future__ import annotations

from dataclasses import replace

import pytest

from opencute.arch.copies import COPY_ATOMS, CopyAtom, copy_atom
from opencute.arch.target import TARGETS, target, target_names
from opencute.base.errors import ArgumentError

pytestmark = pytest.mark.t0


def test_lookup() -> None:
    assert target("90a") is target("sm_90a")
    assert target("sm_90a").capability == (9, 0)
    assert str(target("sm_120a")) == "sm_120a"
    with pytest.raises(ArgumentError, match="OC2911"):
        target("sm_35")


def test_names_are_in_order_and_complete() -> None:
    numbers = [TARGETS[n].number for n in target_names()]
    assert numbers == sorted(numbers)
    asked = (
        "80 86 87 88 89 90 90a 100 100a 100f 103 103a 103f 110 110a 110f 120 120a 120f "
        "121 121a 121f"
    )
    assert set(asked.split()) == {n.removeprefix("sm_") for n in target_names()}


def test_capabilities() -> None:
    hopper, ampere, blackwell = target("sm_90a"), target("sm_80"), target("sm_100a")
    assert hopper.has_wgmma and not target("sm_90").has_wgmma and not blackwell.has_wgmma
    assert blackwell.has_tcgen05 and not target("sm_100").has_tcgen05
    assert not target("sm_120a").has_tcgen05
    assert ampere.has_bf16x2_fma and not ampere.has_bf16x2_arith and hopper.has_bf16x2_arith
    assert not ampere.has_f8_cvt and target("sm_89").has_f8_cvt
    assert not ampere.has_clusters and hopper.has_tma and hopper.has_pdl
    assert hopper.max_access_bits("gmem") == 128 and blackwell.max_access_bits("gmem") == 256
    assert blackwell.max_access_bits("smem") == 128


@pytest.mark.parametrize("change", [
    {"number": 91}, {"suffix": "x"}, {"max_smem": 300 << 10}, {"max_threads_per_sm": 1000},
])  # fmt: skip
def test_records_check_themselves(change: dict[str, object]) -> None:
    with pytest.raises(ArgumentError, match="OC2910"):
        replace(target("sm_90a"), **change)  # type: ignore[arg-type]


def test_copy_atoms() -> None:
    atom = copy_atom("universal_copy")
    assert atom.max_bits(target("sm_90a"), "gmem") == 128
    assert atom.max_bits(target("sm_100a"), "gmem") == 256
    assert atom.max_bits(target("sm_100a"), "gmem", asked=64) == 64
    assert all(name == a.name for name, a in COPY_ATOMS.items())
    with pytest.raises(ArgumentError, match="OC2913"):
        copy_atom("teleport")
    with pytest.raises(ArgumentError, match="OC2912"):
        CopyAtom("bad", 1, (32, 24))
    with pytest.raises(ArgumentError, match="OC2912"):
        CopyAtom("bad", 3, (32,))
