# SPDX-FileCopyrightText: 2026 The OpenCuTe authors
# SPDX-License-Identifier: Apache-2.0
"""How the benchmarks of this folder take time: functions interleaved, medians in microseconds."""

import statistics
import time

import torch

__all__ = ["burst", "copy_bandwidth", "flushed", "graphed"]


def burst(functions, iters=20, rounds=9):
    """Median microseconds per call of each function, from bursts of calls between two events."""
    samples = {n: [] for n in functions}
    names = list(functions)
    for r in range(rounds):
        for name in names[r % len(names) :] + names[: r % len(names)]:
            fn = functions[name]
            for _ in range(3):
                fn()
            torch.cuda.synchronize()
            time.sleep(0.02)
            a, b = (torch.cuda.Event(enable_timing=True) for _ in range(2))
            fn()
            a.record()
            for _ in range(iters):
                fn()
            b.record()
            torch.cuda.synchronize()
            samples[name].append(a.elapsed_time(b) * 1e3 / iters)
    return {n: statistics.median(v) for n, v in samples.items()}


def flushed(functions, iters=10, rounds=3):
    """Median microseconds per call with the L2 overwritten before each call."""
    flush = torch.empty(256 << 20, dtype=torch.int8, device="cuda")
    samples = {n: [] for n in functions}
    names = list(functions)
    for r in range(rounds):
        for name in names[r % len(names) :] + names[: r % len(names)]:
            pairs = []
            for _ in range(iters):
                flush.zero_()
                a, b = (torch.cuda.Event(enable_timing=True) for _ in range(2))
                a.record()
                functions[name]()
                b.record()
                pairs.append((a, b))
            torch.cuda.synchronize()
            samples[name] += [a.elapsed_time(b) * 1e3 for a, b in pairs]
    return {n: statistics.median(v) for n, v in samples.items()}


def graphed(fn):
    """`fn` captured once in a CUDA graph: calling it costs the host next to nothing."""
    stream = torch.cuda.Stream()
    with torch.cuda.stream(stream):
        fn()  # compile and warm up outside of the capture
        fn()
    torch.cuda.synchronize()
    graph = torch.cuda.CUDAGraph()
    with torch.cuda.graph(graph, stream=stream):
        fn()
    return graph.replay


def copy_bandwidth():
    """Bytes per microsecond that a copy of 1 GiB moves, both ways counted."""
    src, dst = (torch.empty(1 << 30, dtype=torch.int8, device="cuda") for _ in range(2))
    return 2 * (1 << 30) / burst({"copy": lambda: dst.copy_(src)})["copy"]
