# SPDX-FileCopyrightText: 2026 The OpenCuTe authors
# SPDX-License-Identifier: Apache-2.0
"""Arrays in shared memory end where they end: an access that runs into the next one is found."""

from __future__ import annotations

import re
from typing import Any

import numpy as np
import pytest

import opencute as cutlass
from opencute import cute, utils
from opencute.base.errors import OutOfBoundsError, RaceError, UninitializedError
from opencute.base.knobs import KNOBS
from opencute.cute.runtime import from_dlpack

pytestmark = pytest.mark.t0

N = 32


@cute.struct
class Inner:
    x: cute.struct.MemRange[cutlass.Float32, N]
    y: cute.struct.MemRange[cutlass.Float32, N]


@cute.struct
class Storage:
    first: cute.struct.MemRange[cutlass.Float32, N]
    second: cute.struct.Align[cute.struct.MemRange[cutlass.Float32, N], 256]
    both: Inner
    flag: cutlass.Int32


@pytest.fixture(autouse=True)
def simulator() -> Any:
    with KNOBS.override(target="sim:sm_90a"):
        yield


def members() -> tuple[Any, Any]:
    storage = utils.SmemAllocator().allocate(Storage)
    return storage.first.get_tensor((N,)), storage.second.get_tensor((N,))


def nested() -> tuple[Any, Any]:
    both = utils.SmemAllocator().allocate(Storage).both
    return both.x.get_tensor((N,)), both.y.get_tensor((N,))


def tensors() -> tuple[Any, Any]:
    memory = utils.SmemAllocator()
    layout = cute.make_layout(N)
    return tuple(memory.allocate_tensor(cutlass.Float32, layout, 128) for _ in range(2))


def views() -> tuple[Any, Any]:
    """Tensors of the extent of their members, on pointers."""
    storage = utils.SmemAllocator().allocate(Storage)
    return tuple(
        cute.make_tensor(cute.recast_ptr(m.data_ptr(), dtype=cutlass.Float32), cute.make_layout(N))
        for m in (storage.first, storage.second)
    )


@cute.kernel
def kernel(y: cute.Tensor, shift: cutlass.Int32, make: cutlass.Constexpr):
    t, _, _ = cute.arch.thread_idx()
    a, b = make()
    b[t] = cutlass.Float32(2.0)
    a[t + shift] = cutlass.Float32(1.0)
    cute.arch.sync_threads()
    y[t] = a[t] + b[t]


@cute.jit
def host(y: cute.Tensor, shift: cutlass.Int32, make: cutlass.Constexpr):
    kernel(y, shift, make).launch(grid=1, block=N)


MAKERS = [
    (members, 64, 128, "Storage.first", "Storage.second"),
    (nested, 32, 0, "Inner.x", "Inner.y"),
    (views, 64, 128, "Storage.first", "Storage.second"),
    (tensors, 32, 0, "shared memory", "shared memory"),
]


@pytest.mark.parametrize(("make", "shift", "gap", "a", "b"), MAKERS, ids=lambda x: str(x)[:20])
@pytest.mark.parametrize("check", [False, True])
def test_an_access_that_runs_into_the_next_array(
    make: Any, shift: int, gap: int, a: str, b: str, check: bool
) -> None:
    """In each kernel the first array is written; with a shift, the one after it."""
    y = np.zeros(N, np.float32)
    with KNOBS.override(sim_check=check):
        host(from_dlpack(y), 0, make)
        assert (y == 3).all()
        with pytest.raises(OutOfBoundsError) as e:
            host(from_dlpack(y), shift - 31, make)
        assert e.value.code == "OC3101"
        text = str(e.value)
        assert text.startswith(f"[OC3101] write outside of '{a} from ")
        if not gap:
            assert re.search(rf"which is byte 0 of '{b} from .*'\), block", text), text
            assert "thread (31, 0, 0)" in text
        else:
            assert "which is" not in text  # what lies between is nobody's
            with pytest.raises(OutOfBoundsError, match=f"which is byte 0 of '{b} from "):
                host(from_dlpack(y), shift, make)
        with pytest.raises(OutOfBoundsError, match="element -1 of 32"):
            host(from_dlpack(y), -1, make)


def larger() -> tuple[Any, Any]:
    """Whoever lays a larger tensor over a member means what follows it."""
    storage = utils.SmemAllocator().allocate(Storage)
    whole = cute.make_tensor(storage.first.data_ptr(), cute.make_layout(3 * N))
    return whole, storage.second.get_tensor((N,))


def test_a_tensor_that_is_larger_than_a_member() -> None:
    y = np.zeros(N, np.float32)
    host(from_dlpack(y), 0, larger)
    assert (y == 3).all()
    with pytest.raises(UninitializedError):  # what is read, not where it is written
        host(from_dlpack(y), 2 * N, larger)
    with pytest.raises(OutOfBoundsError, match="outside of 'shared memory from"):
        host(from_dlpack(y), 1000, larger)


def test_races_are_about_members() -> None:
    @cute.kernel
    def racing(y: cute.Tensor):
        t, _, _ = cute.arch.thread_idx()
        _, b = members()
        b[t] = cutlass.Float32(1.0)
        y[t] = b[N - 1 - t]

    @cute.jit
    def launch(y: cute.Tensor):
        racing(y).launch(grid=1, block=N)

    with (
        KNOBS.override(sim_check=True),
        pytest.raises(RaceError, match=r"of 'Storage\.second from"),
    ):
        launch(from_dlpack(np.zeros(N, np.float32)))


@cute.kernel
def moving(y: cute.Tensor, n: cutlass.Int32):
    """Through a branch and a loop the struct is a pointer of which nothing more is known."""
    t, _, _ = cute.arch.thread_idx()
    storage = utils.SmemAllocator().allocate(Storage)
    for i in cutlass.range(n):
        if i % 2 == 0:
            storage.first.get_tensor((N,))[t] = cutlass.Float32(i)
    cute.arch.sync_threads()
    y[t] = storage.first.get_tensor((N,))[t]


def test_structs_cross_regions() -> None:
    @cute.jit
    def launch(y: cute.Tensor, n: cutlass.Int32):
        moving(y, n).launch(grid=1, block=N)

    y = np.zeros(N, np.float32)
    launch(from_dlpack(y), 4)
    assert (y == 2).all()


def test_machine_code_is_that_of_one_allocation() -> None:
    """A member's place is known while tracing: there is no arithmetic to do."""
    y = from_dlpack(np.zeros(N, np.float32))
    code = cute.compile(host, y, cutlass.Int32(0), members, options="--gpu-arch sm_80")
    assert code.__mlir__.count('label = "Storage.') == 2
    assert code.__ptx__.count("st.shared") == 2
