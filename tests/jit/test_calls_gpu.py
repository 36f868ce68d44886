# SPDX-FileCopyrightText: 2026 The OpenCuTe authors
# SPDX-License-Identifier: Apache-2.0
"""Calls on a GPU: streams, graphs, threads, torch's own tensors, PTX that the driver assembles."""

from __future__ import annotations

import gc
import threading
import weakref
from collections.abc import Iterator
from typing import Any

import pytest

import opencute as cutlass
from opencute import cute
from opencute.base.knobs import KNOBS
from opencute.cute.runtime import from_dlpack
from opencute.jit import calls
from opencute.jit.entry import code

pytestmark = pytest.mark.t2


@cute.kernel
def add_number_kernel(x: cute.Tensor, n: cutlass.Float32):
    i = cute.arch.block_idx()[0] * 128 + cute.arch.thread_idx()[0]
    if i < x.shape[0]:
        x[i] = x[i] + n


@cute.jit
def add_number(x: cute.Tensor, n: cutlass.Float32):
    add_number_kernel(x, n).launch(grid=cute.ceil_div(x.shape[0], 128), block=128)


@cute.jit
def both(x: cute.Tensor, y: cute.Tensor, n: cutlass.Float32):
    add_number(x, n)
    add_number(y, n)


@pytest.fixture(autouse=True)
def _cuda() -> Iterator[None]:
    with KNOBS.override(target="cuda"):
        yield


def compiled_for(torch: Any) -> Any:
    x = torch.zeros(1000, device="cuda")
    compiled = cute.compile(add_number, from_dlpack(x).mark_layout_dynamic(), 1.0)
    compiled(x, 1.0)
    compiled(from_dlpack(x).mark_layout_dynamic(), 1.0)
    return compiled


def test_exchange_is_used() -> None:
    torch = pytest.importorskip("torch")
    compiled = compiled_for(torch)
    assert code.load().stream, "torch has no C exchange: native calls go through Python"
    assert compiled.fast.versions
    x = torch.zeros(4096, device="cuda")
    for make in (lambda t: t, lambda t: from_dlpack(t).mark_layout_dynamic()):
        for _ in range(50):
            compiled(make(x), 1.0)
    for _ in range(50):
        add_number(x, 1.0)
    assert (x == 150).all()


def test_the_current_stream_is_used() -> None:
    torch = pytest.importorskip("torch")
    compiled = compiled_for(torch)
    x = torch.zeros(1000, device="cuda")
    side = torch.cuda.Stream()
    for launch in (lambda: compiled(x, 1.0), lambda: add_number(x, 1.0)):
        launch()
        torch.cuda.synchronize()
        with torch.cuda.stream(side):
            torch.cuda._sleep(200_000_000)
            launch()
            event = torch.cuda.Event()
            event.record()
        assert not event.query()  # the launch waits on the side stream
        torch.cuda.synchronize()
    assert (x == 4).all()


def test_a_graph_captures_calls() -> None:
    torch = pytest.importorskip("torch")
    compiled = compiled_for(torch)
    x = torch.zeros(1000, device="cuda")
    add_number(x, 0.0)
    graph = torch.cuda.CUDAGraph()
    with torch.cuda.graph(graph):
        compiled(x, 1.0)
        compiled(from_dlpack(x).mark_layout_dynamic(), 2.0)
        add_number(x, 3.0)
    assert (x == 0).all()
    for _ in range(3):
        graph.replay()
    torch.cuda.synchronize()
    assert (x == 18).all()


def test_a_graph_outlives_the_function_that_it_captured() -> None:
    torch = pytest.importorskip("torch")
    x = torch.zeros(1000, device="cuda")
    graph = torch.cuda.CUDAGraph()
    compiled = cute.compile(add_number, from_dlpack(x).mark_layout_dynamic(), 1.0)
    compiled(x, 0.0)
    with torch.cuda.graph(graph):
        compiled(x, 1.0)
    alive = weakref.ref(compiled)
    del compiled
    calls._runners.clear()
    gc.collect()
    assert alive() is None
    graph.replay()
    torch.cuda.synchronize()
    assert (x == 1).all()


def test_tensors_on_the_gpu_in_the_simulator() -> None:
    """They are copied, and what shares memory shares the copy."""
    torch = pytest.importorskip("torch")
    x = torch.zeros(1000, device="cuda")
    with KNOBS.override(target="sim"):
        add_number(x[100:300], 1.0)
        compiled = cute.compile(both, from_dlpack(x), from_dlpack(x[500:]), 1.0)
        compiled(from_dlpack(x), from_dlpack(x[500:]), 1.0)
    want = torch.zeros(1000)
    want[100:300] += 1
    want += 1
    want[500:] += 1
    assert torch.equal(x.cpu(), want)


def test_threads_without_a_context() -> None:
    torch = pytest.importorskip("torch")
    compiled = compiled_for(torch)
    tensors = [torch.zeros(1000, device="cuda") for _ in range(8)]
    errors: list[BaseException] = []

    def work(x: Any) -> None:
        try:
            for _ in range(100):
                compiled(x, 1.0)
                add_number(x, 1.0)
        except BaseException as e:
            errors.append(e)

    threads = [threading.Thread(target=work, args=(x,)) for x in tensors]
    for t in threads:
        t.start()
    for t in threads:
        t.join()
    torch.cuda.synchronize()
    assert not errors and all((x == 200).all() for x in tensors)


def test_the_driver_assembles_where_there_is_no_ptxas(monkeypatch: pytest.MonkeyPatch) -> None:
    torch = pytest.importorskip("torch")
    from opencute.codegen import toolchain

    monkeypatch.setattr(toolchain, "_candidates", lambda name: iter(()))
    calls._runners.clear()
    x = torch.zeros(1000, device="cuda")
    compiled = cute.compile(add_number, from_dlpack(x).mark_layout_dynamic(), 1.0)
    compiled(x, 5.0)
    torch.cuda.synchronize()
    assert (x == 5).all()
    calls._runners.clear()
