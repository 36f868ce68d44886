# SPDX-FileCopyrightText: 2026 The OpenCuTe authors
# SPDX-License-Identifier: Apache-2.0
"""What can be tuned: the record of an operator, and all of them.

In: ``kernels/<op>/tuning.py``, which says what the operator takes and what may be told to it. Out:
an `Operator`, and for one tuning of it a `Case`::

    operator("gemm").extents        # {"m": 4096, "n": 4096, "k": 4096, "batch": 1}
"""

from __future__ import annotations

import importlib
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any

from opencute import utils
from opencute.base.errors import ArgumentError
from opencute.base.suggest import did_you_mean
from opencute.compiler.targets import run_target

__all__ = ["DTYPES", "Case", "Operator", "operator", "operators"]

DTYPES = {
    "f16": "float16", "bf16": "bfloat16", "f32": "float32", "tf32": "float32", "i8": "int8",
    "e4m3": "float8_e4m3fn", "e5m2": "float8_e5m2",
}  # fmt: skip
"""Types as options name them, and as torch and NumPy do."""
_FOLDERS = (
    "gemm", "grouped_gemm", "attention", "decode", "mla", "hstu", "softmax", "norm",
    "cross_entropy",
)  # fmt: skip


@dataclass(frozen=True)
class Case:
    """One problem that an operator is tuned for.

    Args:
        sizes: extents by name.
        dtype: type of the operands, one of `DTYPES`.
        flags: those that are set.
        make: an array of a shape and a type's name, with small numbers in it.
    """

    sizes: Mapping[str, int]
    dtype: str
    flags: frozenset[str]
    make: Callable[[tuple[int, ...], str], Any] = field(repr=False)

    def __getitem__(self, name: str) -> int:
        return self.sizes[name]

    def array(self, *shape: int, dtype: str | None = None) -> Any:
        """An array of these extents, of the operands' type if no other is named."""
        return self.make(shape, dtype or DTYPES[self.dtype])

    @property
    def smem(self) -> int:
        """Bytes of shared memory that a block may have."""
        return utils.get_smem_capacity_in_bytes()

    @property
    def hopper(self) -> bool:
        """Whether there are warpgroups."""
        return run_target().arch == "sm_90a"

    @property
    def processors(self) -> int:
        """Multiprocessors of the device."""
        return int(utils.HardwareInfo().get_device_multiprocessor_count())


@dataclass(frozen=True)
class Operator:
    """What is to be known of an operator to tune it.

    Args:
        name: the operator's function.
        call: what to call; `tuned` marks it.
        extents: names and usual values.
        dtypes: types that it takes, the usual one first.
        arguments: arguments of a call, positional and by name, results included.
        space: configurations worth trying, promising ones first.
        work: operations of a call, and bytes that it moves at least.
        flags: what else can be asked for.
    """

    name: str
    call: Callable[..., Any]
    extents: Mapping[str, int]
    dtypes: tuple[str, ...]
    arguments: Callable[[Case], tuple[tuple[Any, ...], dict[str, Any]]]
    space: Callable[[Case], Iterable[Any]]
    work: Callable[[Case], tuple[float, float]]
    flags: tuple[str, ...] = ()


def operators() -> dict[str, Operator]:
    """All that can be tuned, by name."""
    out: dict[str, Operator] = {}
    for folder in _FOLDERS:
        module = importlib.import_module(f"opencute.kernels.{folder}.tuning")
        out |= {each.name: each for each in module.OPERATORS}
    return out


def operator(name: str) -> Operator:
    """One of them.

    Raises:
        ArgumentError: there is none of this name.
    """
    known = operators()
    if name not in known:
        raise ArgumentError(
            f"no operator {name!r} can be tuned", code="OC2405", expected=", ".join(known),
            hint=did_you_mean(name, tuple(known)) or None,
        )  # fmt: skip
    return known[name]
