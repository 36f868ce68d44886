# SPDX-FileCopyrightText: 2026 The OpenCuTe authors
# SPDX-License-Identifier: Apache-2.0
"""Cumulative sums against NumPy, in the checking simulator; on a GPU against torch."""

from __future__ import annotations

from typing import Any

import ml_dtypes
import numpy as np
import pytest

from opencute.base.errors import ArgumentError, OpenCuTeError
from opencute.base.knobs import KNOBS
from opencute.kernels.scan import cumsum, interface, reference

t0, t2 = pytest.mark.t0, pytest.mark.t2


@t0
@pytest.mark.parametrize("exclusive", [False, True])
@pytest.mark.parametrize(
    ("shape", "axis"),
    [
        ((5, 7), 1), ((5, 7), 0), ((2, 5000), -1), ((700, 40), 0), ((3, 70, 24), 1), ((1,), 0),
        ((1, 70000), 1), ((5, 1, 3), 1), ((2, 300), 0),
    ],
)  # fmt: skip
@pytest.mark.parametrize("dtype", [np.float16, np.float32])
def test_every_axis(
    checked, random, close, shape: Any, axis: int, exclusive: bool, dtype: Any
) -> None:
    x = random(shape, dtype)
    want = reference.cumsum(x, axis, exclusive=exclusive)
    close(cumsum(x, axis, exclusive=exclusive), want, 8 * max(1.0, abs(want).max()))


@t0
def test_views_in_place_and_empty(checked, random, close) -> None:
    big = random((6, 8, 80), ml_dtypes.bfloat16)
    for x in (big[:, :, 3:67], big[::2, 1:5, :64]):
        for axis in range(3):
            close(cumsum(x, axis), reference.cumsum(x, axis), 32)
    x = random((3, 5000), np.float32)
    want = reference.cumsum(x)
    assert cumsum(x, out=x) is x
    close(x, want, 1000)
    assert cumsum(np.ones((0, 3), np.float32)).shape == (0, 3)


@t0
@pytest.mark.parametrize("exclusive", [False, True])
def test_axes_in_any_order(checked, random, close, exclusive) -> None:
    big = random((6, 10, 20), np.float32)
    # Transposed, permuted, with gaps, backwards, and one element for all.
    views = [
        big[0].T, big.transpose(2, 0, 1), big.transpose(1, 0, 2), big[::2, :, ::2], big[:, ::-1].T,
        big[..., ::-1], np.broadcast_to(big[:, :1], (6, 3, 20)), big[:, :, :1].T, big[:1].T,
        np.broadcast_to(big[0, :, :1], (10, 4)),
    ]  # fmt: skip
    for x in views:
        for axis in range(x.ndim):
            want = reference.cumsum(x, axis, exclusive=exclusive)
            close(cumsum(x, axis, exclusive=exclusive), want, 64)
            for out in (np.empty(x.shape, x.dtype), np.empty(x.shape[::-1], x.dtype).T):
                assert cumsum(x, axis, exclusive=exclusive, out=out) is out
                close(out, want, 64)
    x = big[0].T.copy(order="F")
    want = reference.cumsum(x, 1)
    cumsum(x, 1, out=x)
    close(x, want, 64)
    torch = pytest.importorskip("torch")
    t = torch.from_numpy(big).permute(2, 0, 1)
    got = cumsum(t, 1)
    close(got.numpy(), reference.cumsum(t.numpy(), 1), 64)
    assert got.stride() == t.stride()


@t0
def test_infinities_come_and_stay(checked) -> None:
    x = np.zeros((1, 600), np.float32)
    x[0, 300] = np.inf
    for exclusive in (False, True):
        np.testing.assert_array_equal(
            cumsum(x, exclusive=exclusive)[0],
            np.where(np.arange(600) >= 300 + exclusive, np.inf, 0),
        )


@t0
@pytest.mark.parametrize(
    ("call", "code"),
    [
        (lambda x: cumsum(x, 2), "OC2509"),
        (lambda x: cumsum(x, 0, out=np.empty((4, *x.shape, 4), np.float32)[0, ..., 1]), "OC2501"),
        (lambda x: cumsum(x, out=x[:2]), "OC2502"),
        (lambda x: cumsum(x.astype(np.int32)), "OC2507"),
    ],
)
def test_wrong_arguments(checked, call: Any, code: str) -> None:
    with pytest.raises(ArgumentError) as caught:
        call(np.ones((4, 8), np.float32))
    assert caught.value.code == code


@t0
def test_a_missing_barrier_is_found(checked, random, monkeypatch, without_barriers) -> None:
    x = random((2, 5000), np.float32)
    cumsum(x)
    planted = without_barriers("opencute.kernels.scan.sm80")
    monkeypatch.setattr(interface, "scan_along", planted.scan_along)
    monkeypatch.setattr(interface, "Along", planted.Along)
    with pytest.raises(OpenCuTeError, match="OC34"):
        cumsum(x)


@t0
@pytest.mark.parametrize("exclusive", [False, True])
def test_looking_back_gives_the_same_bits_in_any_order(checked, random, close, exclusive) -> None:
    x = random((2, 42_001), np.float32)  # 42 tiles of each row, more than one look reaches
    first = cumsum(x, exclusive=exclusive)
    close(first, reference.cumsum(x, exclusive=exclusive), 2000)
    for seed in (1, 2):
        with KNOBS.override(sim_seed=seed):
            np.testing.assert_array_equal(cumsum(x, exclusive=exclusive), first)


FAULTS = {
    "barrier before the ticket is read": (
        "    cute.arch.sync_threads()\n    tile =", "    tile ="
    ),
    "barrier before the sum is read": ("    cute.arch.sync_threads()\n    _store", "    _store"),
    "order of what a tile leaves": ('sem="relaxed"', 'sem="weak"'),
}  # fmt: skip


@t0
@pytest.mark.parametrize("fault", FAULTS)
def test_faults_in_looking_back_are_found(checked, random, monkeypatch, planted, fault) -> None:
    module = planted("opencute.kernels.scan.sm80", *FAULTS[fault])
    monkeypatch.setattr(interface, "scan_tiles", module.scan_tiles)
    monkeypatch.setattr(interface, "Along", module.Along)
    with pytest.raises(OpenCuTeError, match="OC34"):
        cumsum(random((1, 24_000), np.float32))


@t0
@pytest.mark.parametrize("exclusive", [False, True])
def test_tiles_below_each_other_give_the_same_bits_in_any_order(
    checked, random, close, exclusive
) -> None:
    x = random((2, 600, 36), np.float32)  # 3 tiles of each of two blocks side by side
    first = cumsum(x, 1, exclusive=exclusive)
    close(first, reference.cumsum(x, 1, exclusive=exclusive), 500)
    for seed in (1, 2):
        with KNOBS.override(sim_seed=seed):
            np.testing.assert_array_equal(cumsum(x, 1, exclusive=exclusive), first)


@t0
def test_infinities_stay_in_their_column(checked) -> None:
    x = np.zeros((600, 8), np.float16)
    x[599, 3] = x[70, 5] = np.inf  # the last row, which threads below it repeat
    want = np.zeros_like(x)
    want[599, 3] = np.inf
    want[70:, 5] = np.inf
    np.testing.assert_array_equal(cumsum(x, 0), want)


FAULTS_ACROSS = {
    "barrier before the ticket is read": ("    cute.arch.sync_threads()\n    outers", "    outers"),
    "barrier before the parts are read": (
        "    cute.arch.sync_threads()\n    if thread < how", "    if thread < how"
    ),
    "barrier before the start is read": (
        "    cute.arch.sync_threads()\n    cute.autovec_copy(cute.local",
        "    cute.autovec_copy(cute.local",
    ),
    "order of what a tile leaves": ('sem="relaxed"', 'sem="weak"'),
}  # fmt: skip


@t0
@pytest.mark.parametrize("fault", FAULTS_ACROSS)
def test_faults_across_are_found(checked, random, monkeypatch, planted, fault) -> None:
    module = planted("opencute.kernels.scan.sm80_across", *FAULTS_ACROSS[fault])
    monkeypatch.setattr(interface, "scan_across_tiles", module.scan_across_tiles)
    monkeypatch.setattr(interface, "AcrossTiles", module.AcrossTiles)
    with pytest.raises(OpenCuTeError, match="OC34"):
        cumsum(random((600, 8), np.float16), 0)


@t2
@pytest.mark.parametrize("shape", [(1000, 333), (64, 64, 640), (1 << 22,), (3, 100_001)])
@pytest.mark.parametrize("dtype", ["float16", "bfloat16", "float32"])
def test_on_a_gpu(shape: tuple[int, ...], dtype: str) -> None:
    torch = pytest.importorskip("torch")
    x = torch.randn(shape, device="cuda", dtype=getattr(torch, dtype))
    for axis in range(len(shape)):
        want = torch.cumsum(x.double(), axis)
        allowed = torch.finfo(x.dtype).eps / 2 * want.abs()  # rounding of the result
        # Six standard deviations of rounding a partial sum 64 times, as far as sums have come.
        allowed += 6 * 2.0**-24 * 8 * want.abs().amax(axis, keepdim=True)
        assert ((cumsum(x, axis).double() - want).abs() <= allowed).all()
        got = cumsum(x, axis, exclusive=True)
        assert not got.select(axis, 0).any()
