# SPDX-FileCopyrightText: 2026 The OpenCuTe authors
# SPDX-License-Identifier: Apache-2.0
"""Processor time of building, verifying, printing and parsing 20,000 operations.

python benchmarks/ir.py
"""

import sys
import time
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "src"))

from opencute.base.location import Location
from opencute.dialects import arith, builtin, func
from opencute.ir.builder import at_loc, insert_at, paused_gc
from opencute.ir.parser import parse
from opencute.ir.printer import print_op
from opencute.ir.types import F32, I32
from opencute.ir.verifier import verify

HERE = Location("kernel.py", 1)


def many(count):
    module, top = builtin.module()
    with insert_at(top):
        _, body = func.func("f", (I32, F32))
    x, y = body.args
    with insert_at(body), at_loc(HERE):
        for _ in range(count // 2):
            x = arith.binary("addi", x, x)
            y = arith.binary("addf", y, y)
        func.return_()
    return module


def milliseconds(work):
    """Processor time, the best of three."""
    best = 1e9
    with paused_gc():
        for _ in range(3):
            began = time.process_time()
            work()
            best = min(best, time.process_time() - began)
    return best * 1e3


def main():
    module = many(20_000)
    text = print_op(module, locations=True)
    print(f"build  {milliseconds(lambda: many(20_000)):.0f} ms")
    print(f"verify {milliseconds(lambda: verify(module)):.0f} ms")
    print(f"print  {milliseconds(lambda: print_op(module, locations=True)):.0f} ms")
    print(f"parse  {milliseconds(lambda: parse(text)):.0f} ms")


if __name__ == "__main__":
    main()
