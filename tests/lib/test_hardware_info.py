# SPDX-FileCopyrightText: 2026 The OpenCuTe authors
# SPDX-License-Identifier: Apache-2.0
"""`utils.HardwareInfo` in the simulator, with a stand-in for the driver, and on a GPU."""

from __future__ import annotations

from typing import Any

import pytest

from opencute import utils
from opencute.arch.target import target, target_names
from opencute.base.errors import ArgumentError
from opencute.base.knobs import KNOBS
from opencute.utils.hardware_info import HardwareInfo


@pytest.mark.t0
def test_every_architecture_has_figures() -> None:
    assert utils.HardwareInfo is HardwareInfo
    for name in target_names():
        with KNOBS.override(target=f"sim:{name}"):
            info = HardwareInfo()
            assert info.get_device_multiprocessor_count() >= 16
            assert info.get_l2_cache_size_in_bytes() >= 4 << 20
            assert info.get_max_active_clusters(1) == info.get_device_multiprocessor_count()
            if target(name).has_clusters:
                assert 0 < info.get_max_active_clusters(4) * 4 <= 170


@pytest.mark.t0
@pytest.mark.parametrize(("arch", "size"), [("sm_80", 2), ("sm_90a", 17), ("sm_90a", 0)])
def test_clusters_that_there_are_not(arch: str, size: int) -> None:
    with KNOBS.override(target=f"sim:{arch}"), pytest.raises(ArgumentError) as e:
        HardwareInfo().get_max_active_clusters(size)
    assert e.value.code == "OC2236" and arch in str(e.value)


@pytest.mark.t0
def test_devices_that_there_are_not() -> None:
    with KNOBS.override(target="sim"), pytest.raises(ArgumentError) as e:
        HardwareInfo(3)
    assert e.value.code == "OC2235"


@pytest.mark.t2
def test_on_a_gpu() -> None:
    info: Any = HardwareInfo()
    count = info.get_device_multiprocessor_count()
    assert info.get_max_active_clusters(1) == count and info.get_l2_cache_size_in_bytes() > 1 << 20
    if target(info.target.arch).has_clusters:
        pairs = info.get_max_active_clusters(2)
        assert count // 4 <= pairs <= count // 2
