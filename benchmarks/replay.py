# SPDX-FileCopyrightText: 2026 The OpenCuTe authors
# SPDX-License-Identifier: Apache-2.0
# ruff: noqa: E402 - the paths come before the imports from them
"""Whether a change to the compiler changes the code it makes, and what lowering costs.

    python benchmarks/replay.py capture base.json            # on the commit before
    python benchmarks/replay.py compare base.json            # on the commit after: prints diffs
    python benchmarks/replay.py time                         # CPU time of lowering

Captured are the LLVM IR and PTX of every file in ``examples/`` for every type and architecture
below. ``--modules FOLDER`` adds every ``*.mlir`` file of a folder that holds traced modules, such
as the ``00-*.mlir`` files that OPENCUTE_DUMP_DIR leaves when the tests run; their text is kept in
the capture. `compare` ends with status 1 if anything differs.
"""

# The imports follow the path.
# ruff: noqa: E402

import argparse
import difflib
import importlib
import json
import statistics
import sys
import time
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
sys.path[:0] = [str(ROOT / "src"), str(ROOT / "examples")]

import ml_dtypes
import numpy as np

from opencute.arch.target import target
from opencute.base.errors import CompileError
from opencute.base.knobs import KNOBS
from opencute.compiler.artefacts import Artefacts
from opencute.compiler.options import Options
from opencute.ir.parser import parse
from opencute.jit.calls import compiled_artefacts
from opencute.passes.pipelines import device_pipeline

ARCHS = ("sm_80", "sm_90a", "sm_100a")
DTYPES = {"f32": np.float32, "f16": np.float16, "bf16": ml_dtypes.bfloat16}
EXAMPLES = sorted(p.stem for p in (ROOT / "examples").glob("*.py"))


def trace(name, dtype):
    """The modules that an example compiles for one type; they depend on no architecture."""
    example = importlib.import_module(name)
    example.DTYPE = dtype
    if hasattr(example, "SHAPE"):
        # Small: the simulator runs them as well.
        example.SHAPE = (*[3] * (len(example.SHAPE) - 1), 64)
    before = len(compiled_artefacts())
    with KNOBS.override(target="sim:sm_90a"):
        example.kernel_fn(*example.get_inputs())
    return [a.module for a in compiled_artefacts()[before:]]


def stages(module, arch):
    """LLVM IR and PTX of a module's kernels, and LLVM IR of its host function."""
    ops = module.regions[0].block.ops
    hosts = [op.symbol for op in ops if op.name == "func.func"]
    made = Artefacts(hosts[0] if hosts else "kernels", module, arch, Options())
    out = {}
    for stage in ("llvm", "ptx"):
        try:
            out[stage] = getattr(made, stage)
        except CompileError as e:
            out[stage] = f"{e.code}: {e}"
    if hosts:
        try:
            out["host"] = made.host.llvm_ir
        except CompileError as e:
            out["host"] = f"{e.code}: {e}"
    return out


def examples():
    """Name and module of every case that is traced anew."""
    for name in EXAMPLES:
        for dtype, cls in DTYPES.items():
            for i, module in enumerate(trace(name, cls)):
                yield f"{name}/{dtype}/{i}", module


def capture(file, folder):
    """Write what the compiler makes now."""
    cases = {}
    for name, module in examples():
        cases[name] = {arch: stages(module, arch) for arch in ARCHS}
    for path in sorted(folder.rglob("*.mlir")) if folder else ():
        text = path.read_text(encoding="utf-8")
        made = {arch: stages(parse(text), arch) for arch in ARCHS}
        cases[str(path.relative_to(folder))] = {"module": text, **made}
    file.write_text(json.dumps(cases))
    print(f"{len(cases)} modules for {', '.join(ARCHS)}: {file}")


def compare(file, most):
    """Print what differs from a capture; returns the number of texts that do."""
    cases = json.loads(file.read_text())
    traced = dict(examples())
    differ = 0
    for name, case in cases.items():
        text = case.pop("module", None)
        module = parse(text) if text is not None else traced.get(name)
        if module is None:
            print(f"{name}: no such example any more")
            continue
        for arch, before in case.items():
            after = stages(module, arch)
            for stage, old in before.items():
                if after.get(stage) == old:
                    continue
                differ += 1
                if differ <= most:
                    lines = difflib.unified_diff(
                        old.splitlines(), after.get(stage, "").splitlines(),
                        f"{name} {arch} {stage}", "now", lineterm="", n=2,
                    )  # fmt: skip
                    print("\n".join(lines))
    print(f"{len(cases)} modules compared; {differ} texts differ")
    return differ


def lowering(names=("relu_2d", "add_tiled_copy"), repeats=20):
    """Median CPU milliseconds of bringing an example's kernels to the llvm level."""
    out = {}
    for name in names:
        (module,) = trace(name, np.float32)
        pipeline = device_pipeline(target("sm_90a"))
        times = []
        for _ in range(repeats):
            copy = module.clone({})
            start = time.process_time()
            pipeline.run(copy)
            times.append((time.process_time() - start) * 1e3)
        out[name] = statistics.median(times)
    return out


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("command", choices=["capture", "compare", "time"])
    parser.add_argument("file", type=Path, nargs="?", default=Path("replay.json"))
    parser.add_argument("--modules", type=Path, help="folder of traced modules to add")
    parser.add_argument("--most", type=int, default=10, help="diffs to print")
    options = parser.parse_args()
    if options.command == "capture":
        capture(options.file, options.modules)
    elif options.command == "compare":
        sys.exit(1 if compare(options.file, options.most) else 0)
    else:
        for name, ms in lowering().items():
            print(f"{name}: {ms:.2f} ms of CPU time")
