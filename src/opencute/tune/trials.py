# SPDX-FileCopyrightText: 2026 The OpenCuTe authors
# SPDX-License-Identifier: Apache-2.0
"""Trying configurations one after the other, and remembering which was best.

In: configurations, and a function that makes one ready to run. Out: a `Trial` for each; one that
cannot be compiled or launched has an error in place of a time and does not end the search::

    trials = run_trials(configurations({"bits": [64, 128]}), prepare, measure)
    best_of(trials).configuration
"""

from __future__ import annotations

import hashlib
import itertools
import json
import logging
import sys
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from opencute.base.errors import OpenCuTeError
from opencute.base.knobs import KNOBS
from opencute.compiler.targets import run_target
from opencute.jit.bench import CantImplementError
from opencute.runtime.cache import default_cache
from opencute.tune.resources import Resources

__all__ = [
    "REFUSALS", "Trial", "TuningError", "best_of", "configurations", "describe", "device_name",
    "log", "ranked", "read_best", "remembered_as", "run_trials", "table", "write_best",
]  # fmt: skip

_BLOB = "best.json"
# What says that a configuration does not go; anything else is a mistake that must be seen.
REFUSALS = (OpenCuTeError, CantImplementError, ValueError, NotImplementedError, RuntimeError)
_log = logging.getLogger("opencute.tune")


class TuningError(OpenCuTeError):
    """No configuration could be run."""

    default_code = "OC2400"


@dataclass(frozen=True)
class Trial:
    """One configuration that was tried.

    Args:
        configuration: parameter names and their values.
        us: microseconds per call; None if it could not be run.
        error: why it could not be run, or was left out; empty if it was timed.
        resources: what it takes, where that was looked at.
        floor: microseconds that it cannot beat, 0 where nobody has said.
    """

    configuration: dict[str, Any]
    us: float | None = None
    error: str = ""
    resources: Resources | None = None
    floor: float = 0.0


def device_name() -> str:
    """What is measured on."""
    target = run_target()
    if target.kind == "sim":
        return f"sim:{target.arch}"
    from opencute.runtime import device

    return device.properties().name


def configurations(params: Mapping[str, Iterable[Any]] | None) -> list[dict[str, Any]]:
    """Every combination of the parameters' values; without parameters the one empty configuration.

    Raises:
        TuningError: a parameter has no values.
    """
    values = {name: list(several) for name, several in (params or {}).items()}
    for name, several in values.items():
        if not several:
            raise TuningError(f"parameter {name!r} has no values to try", code="OC2401")
    return [dict(zip(values, each, strict=True)) for each in itertools.product(*values.values())]


def run_trials(
    tried: Sequence[dict[str, Any]],
    prepare: Callable[[dict[str, Any]], Callable[[], Any]],
    measure: Callable[[Callable[[], Any]], float],
) -> list[Trial]:
    """Measure each configuration.

    Args:
        tried: the configurations.
        prepare: makes a configuration ready; may refuse it by an error of OpenCuTe,
            CantImplementError, ValueError, NotImplementedError or RuntimeError.
        measure: microseconds per call of what `prepare` returned.

    Raises:
        TuningError: none can be run; the message has each one's reason.
    """
    trials: list[Trial] = []
    for configuration in tried:
        log("trying %s", configuration)
        try:
            trial = Trial(configuration, measure(prepare(configuration)))
            log("  %.3f us", trial.us)
        except REFUSALS as e:
            trial = Trial(configuration, error=f"{type(e).__name__}: {e}")
            log("  left out: %s", trial.error.splitlines()[0])
        trials.append(trial)
    if all(t.us is None for t in trials):
        reasons = "\n".join(f"    {t.configuration}: {t.error.splitlines()[0]}" for t in trials)
        raise TuningError(f"none of {len(trials)} configurations can be run\n{reasons}")
    log("%s", table(trials))
    return trials


def best_of(trials: Iterable[Trial], margin: float = 0.0) -> Trial:
    """The fastest; the first of equals.

    Args:
        trials: some of them timed.
        margin: the part by which another has to be faster than the first one that is timed.
    """
    timed = [t for t in trials if t.us is not None]
    best = min(timed, key=lambda t: t.us or 0.0)
    return timed[0] if (timed[0].us or 0.0) <= (best.us or 0.0) * (1 + margin) else best


def ranked(trials: Iterable[Trial]) -> list[Trial]:
    """The trials, fastest first."""
    return sorted(trials, key=lambda t: (t.us is None, t.us or 0.0))


def table(trials: Sequence[Trial]) -> str:
    """The trials as text, fastest first."""
    rows = [
        f"{'-' if t.us is None else f'{t.us:.3f}':>12}  {t.configuration}"
        + (f"  {t.error.splitlines()[0]}" if t.error else "")
        for t in ranked(trials)
    ]
    return "\n".join([f"{'us per call':>12}  configuration", *rows])


def log(message: str, *args: object) -> None:
    """Say what the search does, if OPENCUTE_LOG_AUTOTUNE asks for it."""
    if KNOBS.log_autotune:
        if not _log.handlers:
            handler = logging.StreamHandler(sys.stderr)
            handler.setFormatter(logging.Formatter("%(asctime)s - %(name)s - %(message)s"))
            _log.addHandler(handler)
            _log.setLevel(logging.INFO)
            _log.propagate = False
        _log.info(message, *args)


def describe(value: Any, *, shapes: bool) -> Any:
    """What a best configuration may depend on, as something that can be compared and hashed.

    Args:
        value: an argument of a call.
        shapes: whether extents and strides count, or only types and ranks.
    """
    if value is None or isinstance(value, bool | int | float | str):
        return (type(value).__name__, value) if shapes else type(value).__name__
    if isinstance(value, tuple | list):
        return tuple(describe(v, shapes=shapes) for v in value)
    shape, dtype = getattr(value, "shape", None), getattr(value, "dtype", None)
    dtype = dtype if dtype is not None else getattr(value, "element_type", "")
    if shape is None:
        return str(value) if isinstance(value, type) else type(value).__name__
    if not shapes:
        return (str(dtype), len(shape))
    strides = getattr(value, "stride", None) or getattr(value, "strides", None)
    strides = strides() if callable(strides) else strides
    return (str(dtype), str(tuple(shape)), str(strides))


def remembered_as(stages: Iterable[str], facts: object) -> str:
    """The key under which a search is kept: what would run, and what it would run on."""
    digest = hashlib.sha256(repr(facts).encode())
    for text in stages:
        digest.update(b"\0")
        digest.update(text.encode())
    return digest.hexdigest()


def read_best(key: str, tried: Sequence[dict[str, Any]]) -> dict[str, Any] | None:
    """The configuration that an earlier process found best, if it is among `tried`."""
    if not KNOBS.cache_enabled:
        return None
    blobs = default_cache().get(key)
    try:
        index = json.loads((blobs or {})[_BLOB])["index"]
        return tried[index] if isinstance(index, int) and 0 <= index < len(tried) else None
    except (KeyError, ValueError, TypeError):
        return None


def write_best(
    key: str, tried: Sequence[dict[str, Any]], trials: Sequence[Trial], margin: float = 0.0
) -> None:
    """Keep a search for later processes; `margin` as of `best_of`."""
    if not KNOBS.cache_enabled:
        return
    best = tried.index(best_of(trials, margin).configuration)
    record = {"index": best, "trials": [[repr(t.configuration), t.us, t.error] for t in trials]}
    default_cache().put(key, {_BLOB: json.dumps(record).encode()})
