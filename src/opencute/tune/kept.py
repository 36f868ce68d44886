# SPDX-FileCopyrightText: 2026 The OpenCuTe authors
# SPDX-License-Identifier: Apache-2.0
"""What operators remember of searches: the best configuration for a device and a problem.

In: an operator's name, a problem (its extents count by their `bucket`), a frozen configuration.
Out: the same configuration, in this process and in later ones::

    remember("gemm", problem, HopperConfig((128, 256), (2, 1)), us=158.0)
    recall("gemm", problem, (GemmConfig, HopperConfig))

All of it is one entry of the disk cache. Looking up costs nothing while nothing has been found.
"""

from __future__ import annotations

import dataclasses
import hashlib
import json
from typing import Any, cast

from opencute.base.knobs import KNOBS
from opencute.compiler.targets import run_target
from opencute.runtime.cache import default_cache
from opencute.tune.searching import bucket
from opencute.tune.trials import device_name

__all__ = ["anything_kept", "forget", "kept", "kept_places", "recall", "reload", "remember"]

_KEY = hashlib.sha256(b"tuned configurations 1").hexdigest()
_BLOB = "tuned.json"
_loaded: dict[str, Any] | None = None  # read once: operators ask at each call


def _table(*, again: bool = False) -> dict[str, Any]:
    global _loaded
    if _loaded is None or again:
        blobs = default_cache().get(_KEY)
        try:
            found = json.loads((blobs or {})[_BLOB])
        except (KeyError, ValueError, RecursionError):
            found = {}
        records = cast("dict[str, Any]", found) if isinstance(found, dict) else {}
        _loaded = {k: v for k, v in records.items() if _is_record(v)}
    return _loaded


def _is_record(value: Any) -> bool:
    """Whether it is what `remember` writes; a damaged file is as good as none."""
    if not isinstance(value, dict):
        return False
    found = cast("dict[str, Any]", value)
    numbers = all(type(found.get(k)) in (int, float) for k in ("us", "default_us"))
    return numbers and isinstance(found.get("type"), str) and isinstance(found.get("fields"), dict)


def anything_kept() -> bool:
    """Whether there is anything to recall, and whether that is wanted (OPENCUTE_TUNE_USE)."""
    return bool(_table()) and KNOBS.tune_use


def kept_places() -> list[tuple[dict[Any, Any], Any]]:
    """What an answer of `recall` depends on besides its arguments, as dicts and keys."""
    _table()
    return [(globals(), "_loaded"), *KNOBS.places("tune_use")]


def _key(name: str, problem: object) -> str:
    return repr((name, device_name(), run_target().arch, bucket(problem)))


def remember(
    name: str, problem: object, configuration: Any, *, us: float = 0.0, default_us: float = 0.0
) -> None:
    """Keep a configuration.

    Args:
        name: of the operator.
        problem: what the choice depends on.
        configuration: a frozen dataclass of numbers and tuples; None: the operator's own choice.
        us: microseconds that it took.
        default_us: those of the operator's own choice.
    """
    record: dict[str, Any] | None = None
    if configuration is not None:
        record = {
            "type": type(configuration).__name__,
            "fields": {
                f.name: getattr(configuration, f.name) for f in dataclasses.fields(configuration)
            },
            "us": us, "default_us": default_us,
        }  # fmt: skip
    table = _table(again=True)  # other processes may have added some
    if record is None:
        table.pop(_key(name, problem), None)
    else:
        table[_key(name, problem)] = record
    default_cache().put(_KEY, {_BLOB: json.dumps(table).encode()})


def recall(name: str, problem: object, types: tuple[type, ...]) -> Any:
    """The configuration that a search has found, or None.

    Args:
        name, problem: as for `remember`.
        types: what configurations of the operator may be.
    """
    found = _table().get(_key(name, problem))
    if not isinstance(found, dict):
        return None
    record = cast("dict[str, Any]", found)
    for kind in types:
        if kind.__name__ == record.get("type"):
            try:
                return kind(**{k: _frozen(v) for k, v in record["fields"].items()})
            except (TypeError, ValueError, KeyError, AttributeError):
                return None  # of a version whose configurations had other fields
    return None


def _frozen(value: Any) -> Any:
    """Lists as tuples: JSON has no others."""
    if isinstance(value, list):
        several: list[Any] = value
        return tuple(_frozen(v) for v in several)
    return value


def kept() -> dict[str, dict[str, Any]]:
    """All there is, by what it is for."""
    return dict(_table())


def forget() -> None:
    """Remove everything, here and on disk."""
    _table().clear()
    default_cache().put(_KEY, {_BLOB: b"{}"})


def reload() -> None:
    """Read what is on disk again: another process may have tuned since."""
    _table(again=True)
