# SPDX-FileCopyrightText: 2026 The OpenCuTe authors
# SPDX-License-Identifier: Apache-2.0
"""`opencute tune`: find good configurations of an operator for a problem, and what is kept.

In: the words of the command line. Out: text; exit status 0, or 1 where nothing can be run::

    opencute tune gemm --m 4096 --n 4096 --k 4096 --dtype f16
    opencute tune attention --head_dim 128 --causal --arch sm_80      # compiles, times nothing
"""

from __future__ import annotations

import dataclasses
from collections.abc import Iterator, Sequence
from typing import Any

from opencute.base.errors import ArgumentError, OpenCuTeError
from opencute.base.words import singular
from opencute.kernels.tuning import Tuned, operator, operators
from opencute.kernels.tuning import tune as search
from opencute.tune.kept import forget, kept
from opencute.tune.trials import ranked

__all__ = ["forgotten", "listed", "parsed", "report", "tune"]

_MOST = 20  # configurations that are shown


def parsed(name: str, words: Sequence[str]) -> tuple[dict[str, int], tuple[str, ...]]:
    """Extents and flags from ``--m 4096 --causal`` or ``--m=4096``.

    Raises:
        ArgumentError: the operator has no such option, or a value is no number.
    """
    what = operator(name)
    sizes: dict[str, int] = {}
    flags: list[str] = []
    left = list(words)
    while left:
        word, equals, value = left.pop(0).partition("=")
        key = word.removeprefix("--").replace("-", "_")
        known = [f"--{n} N" for n in what.extents] + [f"--{n}" for n in what.flags]
        if word.startswith("--") and key in what.flags and not equals:
            flags.append(key)
            continue
        if not word.startswith("--") or key not in what.extents:
            raise ArgumentError(
                f"{name} has no option {word!r}", code="OC2406", expected=", ".join(known)
            )
        value = value if equals else left.pop(0) if left else ""
        if not (value.isascii() and value.isdigit()):
            raise ArgumentError(f"{word} takes a number", code="OC2406", found=value or "nothing")
        sizes[key] = int(value)
    return sizes, tuple(flags)


def tune(name: str, words: Sequence[str], **options: Any) -> tuple[str, int]:
    """What to print, and the exit status.

    Raises:
        ArgumentError: there is no such operator or option.
    """
    sizes, flags = parsed(name, words)
    asked: dict[str, Any] = {**options, **sizes}
    try:
        found = search(name, flags=flags, **asked)
    except ArgumentError as e:
        if e.code in ("OC2405", "OC2406"):
            raise
        return str(e), 1
    except OpenCuTeError as e:
        return str(e), 1
    return "\n".join(report(found)), 0


def report(found: Tuned) -> Iterator[str]:
    """What was found, as lines."""
    extents = ", ".join(f"{k}={v}" for k, v in found.case.sizes.items())
    flags = "".join(f", {f}" for f in sorted(found.case.flags))
    yield f"{found.operator}: {extents}, {found.case.dtype}{flags}, {found.arch}"
    good = [t for t in found.trials if not t.error]
    if not found.trials:
        yield "an earlier search has found:"
    elif found.timed:
        yield singular(f"{len(found.trials)} configurations, {len(good)} timed with a cold L2")
    else:
        yield singular(
            f"{len(found.trials)} configurations compiled, {len(found.ruled_out)} ruled out. "
            "There is no GPU here, or none was asked for: nothing is timed, and nothing is kept."
        )
    shown = ranked(found.trials) if found.timed else [*good, *found.ruled_out]
    for t in shown[:_MOST]:
        us = "" if t.us is None else f"{t.us:10.2f} us  "
        taken = "" if t.resources is None else f"  {t.resources.text()}"
        said = f"  {t.error.splitlines()[0]}" if t.error else ""
        yield f"  {us}{_named(t.configuration['config'])}{taken}{said}"
    if len(shown) > _MOST:
        yield f"  and {len(shown) - _MOST} more"
    if found.timed:
        own = found.default_us
        gain = f", {own / found.us:.3f} x the operator's own choice" if own and found.us else ""
        yield f"kept: {_named(found.configuration)}{gain}"
        yield (
            f"{found.operator}() uses it for such extents; OPENCUTE_TUNE_USE=0, or config=, says "
            "otherwise"
        )


def _named(configuration: Any) -> str:
    """A configuration by what it has besides its defaults."""
    if configuration is None:
        return "the operator's own choice"
    parts = [
        f"{f.name}={getattr(configuration, f.name)!r}"
        for f in dataclasses.fields(configuration) if getattr(configuration, f.name) != f.default
    ]  # fmt: skip
    return f"{type(configuration).__name__}({', '.join(parts)})"


def listed() -> Iterator[str]:
    """What can be tuned, and what is kept."""
    yield "operators, their extents and usual values:"
    for name, what in operators().items():
        extents = " ".join(f"--{k} {v}" for k, v in what.extents.items())
        flags = "".join(f" [--{f}]" for f in what.flags)
        yield f"  {name} {extents}{flags} --dtype {'|'.join(what.dtypes)}"
    found = kept()
    yield f"kept: {len(found)}"
    for key, record in found.items():
        fields = ", ".join(f"{k}={v}" for k, v in record["fields"].items())
        yield f"  {key}: {record['type']}({fields}), {record['us']:.2f} us"


def forgotten() -> str:
    """Remove what is kept."""
    count = len(kept())
    forget()
    return f"forgotten: {count}"
