# SPDX-FileCopyrightText: 2026 The OpenCuTe authors
# SPDX-License-Identifier: Apache-2.0
"""One program, run by CPython and by the simulator.

In: source with a function `program(a, b, c, *numbers)`. Out: what differs, why it was refused, or
nothing::

    verdict = run(Writer(7).program(), 7, folder)
    assert verdict.kind in ("same", "refused")
"""

from __future__ import annotations

import os
import random
import types
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

import opencute as cutlass
from compiled import load_source, on_device
from frontend.fuzz.programs import FLOATS, INTS, NUMBERS
from opencute import cute
from opencute.base.errors import OpenCuTeError
from opencute.base.knobs import KNOBS
from opencute.cute.runtime import from_dlpack

__all__ = ["REFUSALS", "Verdict", "assemble", "run", "shrink"]

THREADS = 12
# What the language refuses by design, with an error that says so: lists and dicts that differ in
# structure, and objects that two names share on some path only.
REFUSALS = frozenset({"OC1117", "OC1124"})


@dataclass
class Verdict:
    """What became of a program: same, refused, different, crash, or invalid (CPython fails)."""

    kind: str
    detail: str = ""

    @property
    def failed(self) -> bool:
        """Whether this is a bug of ours."""
        return self.kind in ("different", "crash")


def _plain_jit(fn: Any = None, **options: Any) -> Any:
    return fn if fn is not None else _plain_jit


_ORACLE = types.SimpleNamespace(jit=_plain_jit, native_struct=cute.native_struct)


def inputs(seed: int) -> list[list[int]]:
    """The Python integers that each thread gets."""
    rng = random.Random(seed)
    return [[rng.randint(-4, 9) for _ in range(3)] for _ in range(THREADS)]


def numbers(seed: int) -> list[Any]:
    """The numbers of other types: an array of one for each thread; small ones and extreme ones."""
    rng = random.Random(-seed - 1)
    out: list[Any] = []
    for cls in NUMBERS.values():
        dtype = np.dtype(cls.lower())
        if dtype.kind == "f":
            values = [
                rng.choice((rng.randint(-9, 9) / 4, rng.random() * 8)) for _ in range(THREADS)
            ]
        else:
            info = np.iinfo(dtype)
            low, high = int(info.min), int(info.max)
            values = [
                rng.choice((rng.randint(max(low, -4), 9), rng.randint(low, high), low, high))
                for _ in range(THREADS)
            ]
        out.append(np.array(values, dtype))
    return out


def _expected(text: str, seed: int, folder: Path) -> tuple[list[Any], list[Any]]:
    program = load_source(text, folder, cute=_ORACLE).program
    classes = [getattr(cutlass, cls) for cls in NUMBERS.values()]
    arrays = numbers(seed)
    rows = [
        program(*row, *(c(x[i].item()) for c, x in zip(classes, arrays, strict=True)))
        for i, row in enumerate(inputs(seed))
    ]
    n = len(INTS)
    wrap = 1 << 63
    ints = [[(int(v) + wrap) % (2 * wrap) - wrap for v in r[:n]] for r in rows]
    return ints, [[float(v) for v in r[n:]] for r in rows]


def _body(program: Any) -> Any:
    compiled = cute.jit(program)

    def body(ints: Any, floats: Any, args: Any, *numbers: Any) -> None:
        i, _, _ = cute.arch.thread_idx()
        out = compiled(args[i, 0], args[i, 1], args[i, 2], *(x[i] for x in numbers))
        for k in range(len(INTS)):
            ints[i, k] = out[k]
        for k in range(len(FLOATS)):
            floats[i, k] = out[len(INTS) + k]

    return body


def run(text: str, seed: int, folder: Path) -> Verdict:
    """Run a program both ways."""
    try:
        ints, floats = _expected(text, seed, folder)
    except Exception as e:
        return Verdict("invalid", f"{type(e).__name__}: {e}")
    arrays = _arrays(seed)
    try:
        on_device(_body(load_source(text, folder).program), *arrays, block=THREADS)
    except OpenCuTeError as e:
        # A list that gets another length in a loop or branch is no number either.
        by_design = e.code in REFUSALS or (e.code == "OC1250" and "found:    list" in str(e))
        return Verdict("refused" if by_design else "crash", str(e))
    except Exception as e:
        return Verdict("crash", f"{type(e).__name__}: {e}")
    names, got = [*INTS, *FLOATS], zip(arrays[0].tolist(), arrays[1].tolist(), strict=True)
    for thread, (gi, gf) in enumerate(got):
        for name, new, old in zip(names, [*gi, *gf], [*ints[thread], *floats[thread]], strict=True):
            if new != old and not (new != new and old != old):
                return Verdict("different", f"{name} of thread {thread}: {new}, CPython {old}")
    return Verdict("same")


def _arrays(seed: int) -> list[Any]:
    return [np.zeros((THREADS, len(INTS)), np.int64), np.zeros((THREADS, len(FLOATS))),
            np.array(inputs(seed), np.int32), *numbers(seed)]  # fmt: skip


def assemble(text: str, seed: int, folder: Path, arch: str = "sm_90a") -> bytes:
    """The machine code of a program."""
    body = _body(load_source(text, folder).program)

    @cute.kernel
    def kernel(arrays: Any):
        body(*arrays)

    @cute.jit
    def host(arrays: Any):
        kernel(arrays).launch(block=THREADS)

    before = os.environ.get("OPENCUTE_TARGET")
    os.environ["OPENCUTE_TARGET"] = f"sim:{arch}"
    try:
        with KNOBS.override(advisories=False):  # nobody asked these loops to be fast
            return cute.compile(host, [from_dlpack(x) for x in _arrays(seed)]).__cubin__
    finally:
        if before is None:
            del os.environ["OPENCUTE_TARGET"]
        else:
            os.environ["OPENCUTE_TARGET"] = before


def shrink(text: str, seed: int, folder: Path, found: Verdict, most: int = 400) -> str:
    """A smaller program with the same failure: lines and the blocks under them are removed
    as long as it still fails."""
    lines = text.splitlines()
    first = next(i for i, s in enumerate(lines) if s.startswith("def program"))
    tries = 0
    again = True
    while again:
        again = False
        at = len(lines) - 2
        while at > first and tries < most:
            end = _block_end(lines, at)
            for new in _without(lines, at, end):
                tries += 1
                tried = run("\n".join(new) + "\n", seed, folder)
                if tried.kind == found.kind and (
                    found.kind != "crash" or tried.detail[:30] == found.detail[:30]
                ):
                    lines, again = new, True
                    break
            at = min(at, len(lines) - 1) - 1
    return "\n".join(lines) + "\n"


def _indent(line: str) -> int:
    return len(line) - len(line.lstrip())


def _block_end(lines: list[str], at: int) -> int:
    end = at + 1
    while end < len(lines) and _indent(lines[end]) > _indent(lines[at]):
        end += 1
    return end


def _without(lines: list[str], at: int, end: int) -> list[list[str]]:
    """Candidates: without a block; with its inside in its place; with `pass` in its place."""
    out = [[*lines[:at], *lines[end:]]]
    if end > at + 1:
        inside = [s[4:] for s in lines[at + 1 : end]]
        out.append([*lines[:at], *inside, *lines[end:]])
    if lines[at].strip() != "pass":
        out.append([*lines[:at], " " * _indent(lines[at]) + "pass", *lines[end:]])
    return out
