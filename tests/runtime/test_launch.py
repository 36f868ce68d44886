# SPDX-FileCopyrightText: 2026 The OpenCuTe authors
# SPDX-License-Identifier: Apache-2.0
"""Launch configs: what is refused, and the bytes that the driver gets."""

from __future__ import annotations

import ctypes
import struct

import numpy as np
import pytest

from opencute.base.errors import ArgumentError
from opencute.runtime.device import DeviceProperties
from opencute.runtime.launch import STREAM_OFFSET, KernelParams, LaunchConfig, check_launch
from opencute.runtime.module import check_smem

pytestmark = pytest.mark.t0


def device(**changes):
    facts = {
        "ordinal": 0,
        "name": "NVIDIA H200",
        "capability": (9, 0),
        "sms": 132,
        "warp_size": 32,
        "max_threads_per_block": 1024,
        "max_threads_per_sm": 2048,
        "max_blocks_per_sm": 32,
        "max_block": (1024, 1024, 64),
        "max_grid": (2**31 - 1, 65535, 65535),
        "smem_per_block": 48 << 10,
        "smem_per_block_optin": 227 << 10,
        "smem_per_sm": 228 << 10,
        "smem_reserved_per_block": 1024,
        "registers_per_block": 65536,
        "registers_per_sm": 65536,
        "l2_bytes": 60 << 20,
        "memory_bytes": 140 << 30,
        "clock_khz": 1980000,
        "memory_clock_khz": 3201000,
        "memory_bus_bits": 6144,
        "cooperative": True,
        "clusters": True,
        "host_memory": False,
    }
    return DeviceProperties(**{**facts, **changes})


def config_bytes(packed):
    return ctypes.string_at(packed.address, 56)


def test_device_properties_derive():
    assert device().sm == "sm_90"
    assert device(capability=(12, 1)).sm == "sm_121"
    assert 4.9e12 < device().memory_bandwidth < 5e12


def test_config_layout():
    packed = LaunchConfig(grid=(5, 6, 7), block=(32, 2), smem=1000).pack()
    packed.stream = 0x123456789A
    words = struct.unpack("<7I4xQQI4x", config_bytes(packed))
    assert words == (5, 6, 7, 32, 2, 1, 1000, 0x123456789A, 0, 0)
    assert STREAM_OFFSET == 32
    assert packed.stream == 0x123456789A
    packed.stream = 0
    assert packed.stream == 0


def test_attributes_are_packed():
    packed = LaunchConfig(
        grid=(8, 4),
        block=128,
        cluster=(4, 2),
        fallback_cluster=(2, 1),
        cooperative=True,
        use_pdl=True,
        priority=-3,
        cluster_scheduling="spread",
        smem_carveout=-1,
        mem_sync_domain="remote",
        programmatic_event=(0x1122334455, 0, True),
        completion_event=(0x99, 1),
    ).pack()
    words = {k: struct.unpack("<16I", v) for k, v in packed.attributes().items()}
    assert words[11][:4] == (4, 2, 1, 0)
    assert words[4][:3] == (2, 1, 1)
    assert words[2][0] == words[6][0] == 1
    assert words[8][0] == 2**32 - 3
    assert words[5][0] == 1
    assert words[14][0] == 2**32 - 1
    assert words[10][0] == 1
    assert words[7][:4] == (0x22334455, 0x11, 0, 1)
    assert words[12][:3] == (0x99, 0, 1)
    address, count = struct.unpack("<QI", config_bytes(packed)[40:52])
    assert count == 10
    first = struct.unpack("<2I16I", ctypes.string_at(address, 72))
    second = struct.unpack("<2I16I", ctypes.string_at(address + 72, 72))
    assert (first[0], second[0]) == (11, 4)
    assert second[2:5] == (2, 1, 1)
    assert packed.cluster == (2, 1, 1)


@pytest.mark.parametrize("spelling", [3, (3,), [3], (3, 1), (3, 1, 1), np.int64(3), (np.int32(3),)])
def test_spellings_of_extents(spelling):
    assert LaunchConfig(grid=spelling, block=1).pack().grid == (3, 1, 1)


@pytest.mark.parametrize(
    ("changes", "code", "text"),
    [
        ({"grid": 0}, "OC2211", "nothing to do"),
        ({"grid": (4, -1)}, "OC2211", "extent -1 along y"),
        ({"block": (32, 1, 0)}, "OC2211", "along z"),
        ({"grid": 2**31}, "OC2212", "2147483647"),
        ({"grid": (1, 65536)}, "OC2212", "along y"),
        ({"block": 1025}, "OC2212", "1024"),
        ({"block": (1, 1, 65)}, "OC2212", "64"),
        ({"block": (64, 32)}, "OC2212", "2048 (64 x 32 x 1)"),
        ({"grid": 1.5}, "OC2100", "grid is not a size"),
        ({"grid": "big"}, "OC2100", "'big'"),
        ({"grid": ()}, "OC2100", "one to three"),
        ({"grid": (1, 2, 3, 4)}, "OC2100", "one to three"),
        ({"block": True}, "OC2100", "block is not a size"),
        ({"block": None}, "OC2100", "block is not a size"),
        ({"smem": -1}, "OC2129", "shared memory"),
        ({"smem": 2**31}, "OC2129", "shared memory"),
        ({"cluster": 3}, "OC2213", "does not divide the grid"),
        ({"cluster": 32, "grid": 64}, "OC2212", "16"),
        ({"cluster": (8, 4), "grid": (8, 4)}, "OC2213", "32 (8 x 4 x 1)"),
        ({"cluster": 0}, "OC2211", "cluster"),
        ({"cluster": 4, "fallback_cluster": 8}, "OC2213", "multiple of fallback_cluster"),
        ({"cluster_scheduling": "random"}, "OC2214", "spread"),
        ({"smem_carveout": 101}, "OC2214", "percentage"),
        ({"mem_sync_domain": "local"}, "OC2214", "remote"),
        ({"completion_event": (object(), 0)}, "OC2217", "handle"),
    ],
)
def test_what_cannot_be_launched_is_refused(changes, code, text):
    with pytest.raises(ArgumentError) as caught:
        LaunchConfig(**{"grid": 8, "block": 128, **changes}).pack()
    assert caught.value.code == code
    assert text in str(caught.value)


def test_largest_launches_are_fine():
    LaunchConfig(grid=(2**31 - 1, 65535, 65535), block=(16, 1, 64)).pack()
    LaunchConfig(grid=16, block=1024, cluster=16, smem=227 << 10).pack()


def test_shared_memory_is_checked_before_the_launch():
    """512 MB of shared memory must not fail silently."""
    check_smem(1024, 226 << 10, device())
    with pytest.raises(ArgumentError) as caught:
        check_smem(1024, 512 << 20, device(), "gemm")
    text = str(caught.value)
    assert caught.value.code == "OC2129"
    assert "gemm" in text
    assert "NVIDIA H200" in text
    assert f"at most {227 << 10} bytes" in text
    with pytest.raises(ArgumentError):
        check_smem(0, -1, device())


def test_a_launch_is_checked_against_kernel_and_device():
    def check(config, max_threads=1024, **changes):
        check_launch(config.pack(), "k", 0, max_threads, device(**changes))

    check(LaunchConfig(grid=8, block=256, cluster=2))
    with pytest.raises(ArgumentError, match="threads per block") as caught:
        check(LaunchConfig(grid=8, block=256), max_threads=128)
    assert caught.value.code == "OC2215"
    with pytest.raises(ArgumentError, match="no clusters") as caught:
        check(LaunchConfig(grid=8, block=256, cluster=2), clusters=False, capability=(8, 0))
    assert caught.value.code == "OC2213"
    with pytest.raises(ArgumentError, match="more shared memory"):
        check(LaunchConfig(grid=8, block=256, smem=228 << 10))


def test_kernel_params_point_at_their_values():
    params = KernelParams(ctypes.c_void_p(0x1234), ctypes.c_int32(-5), b"\x01\x02\x03")
    pointers = (ctypes.c_void_p * 3).from_address(params.address)
    assert ctypes.c_uint64.from_address(pointers[0]).value == 0x1234
    assert ctypes.c_int32.from_address(pointers[1]).value == -5
    assert ctypes.string_at(pointers[2], 3) == b"\x01\x02\x03"
    assert KernelParams().address
