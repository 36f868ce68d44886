# SPDX-FileCopyrightText: 2026 The OpenCuTe authors
# SPDX-License-Identifier: Apache-2.0
"""What the hardware counts while another benchmark's functions run: a line for each of its rows.

    python benchmarks/counters.py [--functions ours,torch,cudnn] [--json FILE]
        benchmarks/hopper.py --only gemm

Needs a GPU and Nsight Compute's `ncu`. The benchmark runs under it; wherever it would time
functions, each is called once and its kernels are counted. Clocks are left as they are and caches
are not emptied, so that a call finds what a call in a loop finds; times of one call by itself are
not those of the benchmark. Of a function with several kernels the longest one is shown, with its
share.

Columns: microseconds; how much of that the tensor pipes worked, how many of the issue slots were
used while a multiprocessor was active, bytes from and to memory over time, registers of a thread,
and what a warp does between two instructions, most frequent first ("selected" is issuing itself).
"""

import argparse
import csv
import json
import re
import runpy
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

HERE = Path(__file__).resolve().parent
MARK = "spin_kernel"  # torch.cuda._sleep's: stands before the kernels of each function
TIME = "gpu__time_duration.sum"
REGISTERS = "launch__registers_per_thread"
ISSUE = "smsp__issue_active.avg.pct_of_peak_sustained_active"
BYTES = "dram__bytes_read.sum", "dram__bytes_write.sum"
# What is called the tensor pipe differs between chips and versions; the busiest one counts.
PIPES = (
    "sm__pipe_tensor_cycles_active", "sm__pipe_tensor_op_hmma_cycles_active",
    "sm__pipe_tensor_op_gmma_cycles_active", "sm__pipe_tensor_op_imma_cycles_active",
    "sm__inst_executed_pipe_tensor",
)  # fmt: skip
OF_PEAK = ".avg.pct_of_peak_sustained_elapsed"
STALL = "smsp__average_warps_issue_stalled_"
PER_ISSUE = "_per_issue_active"
# What follows a row's name in the lines that the benchmarks print.
TITLE = re.compile(r" ok=|,? floor | {2,}\S+ +[\d.]+ us")
SCALES = {
    "": 1.0, "byte": 1.0, "Kbyte": 1e3, "Mbyte": 1e6, "Gbyte": 1e9, "nsecond": 1e-3, "ns": 1e-3,
    "usecond": 1.0, "us": 1.0, "msecond": 1e3, "ms": 1e3, "second": 1e6, "s": 1e6,
}  # fmt: skip


def counted(benchmark, arguments):
    """Run a benchmark, in the process that `ncu` watches, with each function called once."""
    sys.path.insert(0, str(HERE))
    import timing
    import torch

    timed = timing.burst

    def burst(functions, **_):
        profiler = torch.cuda.profiler
        for function in functions.values():
            function()
            torch.cuda.synchronize()
            profiler.start()
            torch.cuda._sleep(1)
            function()
            torch.cuda.synchronize()
            profiler.stop()
        print("@functions", json.dumps([str(name) for name in functions]), flush=True)
        return timed(functions, iters=3, rounds=1)

    def called(function):
        function()
        return function

    timing.burst, timing.graphed, timing.flushed = burst, called, timed
    bandwidth = timing.copy_bandwidth

    def copy_bandwidth():
        timing.burst = timed
        try:
            return bandwidth()
        finally:
            timing.burst = burst

    timing.copy_bandwidth = copy_bandwidth
    sys.argv = [benchmark, *arguments]
    runpy.run_path(benchmark, run_name="__main__")


def known_metrics(ncu):
    """Names of what can be counted on this machine, without suffixes."""
    found = subprocess.run([ncu, "--query-metrics"], capture_output=True, text=True, check=True)
    return {line.split()[0] for line in found.stdout.splitlines() if "__" in line[:40]}


def chosen_metrics(known):
    """What to ask `ncu` for: what it knows of the names above."""
    pipes = [name + OF_PEAK for name in PIPES if name in known]
    stalls = [
        name + ".ratio" for name in sorted(known)
        if name.startswith(STALL) and name.endswith(PER_ISSUE) and "not_issued" not in name
    ]  # fmt: skip
    return [TIME, REGISTERS, ISSUE, *BYTES, *pipes, *stalls]


def kernels_of(text):
    """Kernels of a report's raw page: names, and numbers in bytes, microseconds and per cent."""
    rows = list(csv.reader(line for line in text.splitlines() if line.startswith('"')))
    if len(rows) < 2:
        return []
    header, units = rows[:2]
    name = header.index("Kernel Name")
    found = []
    for row in rows[2:]:
        numbers = {}
        for column, unit, value in zip(header, units, row, strict=True):
            try:
                numbers[column] = float(value.replace(",", "")) * SCALES.get(unit, 1.0)
            except ValueError:  # "n/a", or text
                continue
        found.append((row[name], numbers))
    return found


def functions_of(kernels):
    """Kernels of each function that was called: what stands between two marks."""
    found = []
    for kernel in kernels:
        if MARK in kernel[0]:
            found.append([])
        elif found:
            found[-1].append(kernel)
    return found


def summary(kernels):
    """What is shown of a function: the longest kernel, and how much of the time it took."""
    whole = sum(numbers.get(TIME, 0.0) for _, numbers in kernels)
    name, numbers = max(kernels, key=lambda kernel: kernel[1].get(TIME, 0.0))
    stalls = {
        key.removeprefix(STALL).split(PER_ISSUE)[0]: value
        for key, value in numbers.items() if key.startswith(STALL)
    }  # fmt: skip
    every = sum(stalls.values()) or 1.0
    first = sorted(stalls.items(), key=lambda item: -item[1])[:3]
    us = numbers[TIME]
    return {
        "kernel": name, "kernels": len(kernels), "us": whole, "share": us / whole,
        "tensor": max((v for k, v in numbers.items() if k.endswith(OF_PEAK)), default=None),
        "issue": numbers.get(ISSUE),
        "gb_s": sum(numbers.get(key, 0.0) for key in BYTES) / us / 1e3,
        "registers": numbers.get(REGISTERS),
        "stalls": {key: value / every for key, value in first},
    }  # fmt: skip


def shown(title, function, row):
    """A line of Markdown."""
    stalls = ", ".join(f"{key} {value:.0%}" for key, value in row["stalls"].items())
    more = f" ({row['share']:.0%} of {row['kernels']} kernels)" if row["kernels"] > 1 else ""

    def number(key, form):
        return "–" if row[key] is None else format(row[key], form)

    return (
        f"| {title} | {function}{more} | {row['us']:.1f} | {number('tensor', '.1f')} | "
        f"{number('issue', '.1f')} | {row['gb_s']:.0f} | {number('registers', '.0f')} | {stalls} |"
    )


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--functions", default="", help="only these of a row")
    parser.add_argument("--json", type=Path)
    parser.add_argument("--ncu", default=shutil.which("ncu"))
    parser.add_argument("--child", action="store_true", help=argparse.SUPPRESS)
    parser.add_argument("benchmark", nargs=argparse.REMAINDER)
    options = parser.parse_args()
    if not options.benchmark:
        parser.error("no benchmark was named")
    if options.child:
        counted(options.benchmark[0], options.benchmark[1:])
        return 0
    if not options.ncu:
        print("Nsight Compute's ncu is not on the PATH", file=sys.stderr)
        return 2
    metrics = chosen_metrics(known_metrics(options.ncu))
    with tempfile.TemporaryDirectory() as folder:
        log = Path(folder) / "log.csv"
        child = subprocess.run(
            [
                options.ncu, "--csv", "--page", "raw", "--log-file", str(log),
                "--profile-from-start", "off", "--clock-control", "none", "--cache-control", "none",
                "--metrics", ",".join(metrics), sys.executable, __file__, "--child",
                *options.benchmark,
            ],
            stdout=subprocess.PIPE, text=True,
        )  # fmt: skip
        report = log.read_text() if log.exists() else ""
    called = functions_of(kernels_of(report))
    if not called:
        print(child.stdout, report[-2000:], sep="\n", file=sys.stderr)
        return 1
    only, rows, names = options.functions.split(",") if options.functions else (), [], []
    print(
        "| row | function | µs | tensor pipe % | issue slots % | GB/s | registers | a warp's time |"
    )
    print("|---|---|---|---|---|---|---|---|")
    for line in child.stdout.splitlines():
        if line.startswith("@functions"):
            names += json.loads(line.split(" ", 1)[1])
            continue
        title = " ".join(TITLE.split(line)[0].split())
        for name in names:
            kernels = called.pop(0) if called else []
            if not kernels or (only and name not in only):
                continue
            rows.append({"title": title, "function": name} | summary(kernels))
            print(shown(title, name, rows[-1]), flush=True)
        names = []
    if options.json:
        options.json.write_text(json.dumps(rows, indent=1))
    return child.returncode


if __name__ == "__main__":
    sys.exit(main())
