# SPDX-FileCopyrightText: 2026 The OpenCuTe authors
# SPDX-License-Identifier: Apache-2.0
"""Real operators that are called again: the tensor maps and launches of their own Python."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Iterator
from typing import Any

import pytest

from opencute.base.counters import COUNTERS
from opencute.base.errors import OpenCuTeError
from opencute.base.knobs import KNOBS
from opencute.integrations.driver_stub import StubDriver
from opencute.kernels.gemm import gemm
from opencute.kernels.gemm.sm90_plan import HopperConfig
from opencute.kernels.gemm.visitors import Visitor, column, load, scalar
from opencute.kernels.norm import rms_norm_backward
from opencute.kernels.repeat.operators import forget_calls, why_not

pytestmark = pytest.mark.t1
torch: Any = pytest.importorskip("torch")
FACTOR = 2.0


@pytest.fixture
def stub() -> Iterator[StubDriver]:
    with StubDriver() as driver, KNOBS.override(target="cuda:sm_90a"):
        forget_calls()
        yield driver
        forget_calls()


def aligned(*shape: int) -> Any:
    """Half-precision numbers that begin where addresses are multiples of 256."""
    room = torch.zeros(shape[0] * shape[-1] + 128, dtype=torch.float16)
    start = -room.data_ptr() % 256 // 2
    return room[start:].as_strided(shape, torch.empty(shape).stride())


def finish(x: Any, tile: Any) -> Any:
    return x * FACTOR + tile.column("bias") + tile.load("more") * tile.scalar("times")


def seen(stub: StubDriver, call: Callable[[], Any]) -> tuple[Any, ...]:
    """Maps and launches of a call, but for addresses of what it makes itself."""
    stub.launches.clear()
    stub.maps.clear()
    call()
    return stub.maps[:], [(x.kernel, x.grid, x.block, x.smem) for x in stub.launches]


def plain(operator: Any) -> Any:
    return inspect.unwrap(operator)


def test_products_with_a_visitor(stub: StubDriver, monkeypatch: pytest.MonkeyPatch) -> None:
    def arguments(times: float = 3.0) -> tuple[tuple[Any, ...], dict[str, Any]]:
        visitor = Visitor(
            finish, bias=column(aligned(1, 256)[0]), more=load(aligned(128, 256)),
            times=scalar(times),
        )  # fmt: skip
        return (aligned(128, 128), aligned(256, 128).T), {
            "epilogue": visitor, "out": aligned(128, 256), "config": HopperConfig((128, 64)),
        }  # fmt: skip

    for _ in range(3):
        args, kwargs = arguments()
        got = seen(stub, lambda a=args, k=kwargs: gemm(*a, **k))
        assert got == seen(stub, lambda a=args, k=kwargs: plain(gemm)(*a, **k))
        assert len(got[0]) == 4 and kwargs["out"].data_ptr() in [m.address for m in got[0]]
    assert not why_not(gemm)
    before = COUNTERS.compilations
    gemm(*args, **kwargs)
    monkeypatch.setitem(globals(), "FACTOR", 4.0)
    assert COUNTERS.compilations == before
    gemm(*args, **kwargs)
    assert COUNTERS.compilations == before + 1
    with pytest.raises(OpenCuTeError, match="does not fit"):
        gemm(args[0], args[0], **kwargs)


def test_several_launches(stub: StubDriver) -> None:
    x, w = aligned(64, 256), aligned(1, 256)[0]
    first = seen(stub, lambda: plain(rms_norm_backward)(x, x, w))
    for _ in range(4):
        result = []
        assert seen(stub, lambda r=result: r.append(rms_norm_backward(x, x, w))) == first
        assert [t.shape for t in result[0]] == [x.shape, w.shape]
    assert not why_not(rms_norm_backward)
