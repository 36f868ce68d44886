# SPDX-FileCopyrightText: 2026 The OpenCuTe authors
# SPDX-License-Identifier: Apache-2.0
"""Random programs by hand, for minutes::

    PYTHONPATH=src:tests python -m frontend.fuzz --minutes 15 --seed 1

Prints a line of statistics now and then, and each failure after it has been shrunk.
"""

from __future__ import annotations

import argparse
import collections
import os
import sys
import tempfile
import time
from pathlib import Path

from frontend.fuzz.programs import Writer
from frontend.fuzz.running import assemble, run, shrink


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, prog="python -m frontend.fuzz")
    parser.add_argument("--minutes", type=float, default=15)
    parser.add_argument("--seed", type=int, default=0, help="of the first program")
    parser.add_argument("--programs", type=int, default=1 << 62, help="at most so many")
    parser.add_argument("--assemble", type=int, default=25, help="one in so many also to sm_90a")
    parser.add_argument("--no-shrink", action="store_true")
    args = parser.parse_args()
    os.environ.setdefault("OPENCUTE_TARGET", "sim")
    counts: collections.Counter[str] = collections.Counter()
    start = time.monotonic()
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        for k in range(args.programs):
            if time.monotonic() - start > args.minutes * 60:
                break
            seed = args.seed + k
            text = Writer(seed).program()
            verdict = run(text, seed, folder)
            counts[verdict.kind] += 1
            if verdict.kind == "same" and k % args.assemble == 0:
                counts["assembled"] += len(assemble(text, seed, folder)) > 0
            if verdict.failed:
                small = text if args.no_shrink else shrink(text, seed, folder, verdict)
                again = run(small, seed, folder)
                body = small[small.index("def program") :]
                print(f"--- seed {seed}: {again.kind}: {again.detail}\n{body}", flush=True)
            elif verdict.kind == "refused":
                counts[verdict.detail[:8]] += 1
            if k % 50 == 49:
                print(f"{time.monotonic() - start:.0f} s: {dict(counts)}", flush=True)
            for path in folder.glob("source_*.py"):
                sys.modules.pop(path.stem, None)
                path.unlink()
    print(f"{time.monotonic() - start:.0f} s: {dict(counts)}")
    return 1 if counts["different"] or counts["crash"] else 0


if __name__ == "__main__":
    sys.exit(main())
