# SPDX-FileCopyrightText: 2026 The OpenCuTe authors
# SPDX-License-Identifier: Apache-2.0
"""What to call: products of torch or NumPy arrays."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import opencute as cutlass
from opencute import utils
from opencute.base.errors import ArgumentError
from opencute.cute.runtime import from_dlpack
from opencute.kernels.arrays import empty, item_bits, vector_elements
from opencute.kernels.checked import checked
from opencute.kernels.gemm.activations import ACTIVATIONS
from opencute.kernels.gemm.config import GemmConfig, Problem, heuristic
from opencute.kernels.gemm.sm80 import (
    TensorCorePlan,
    shared_tensor_core_gemm,
    tensor_core_gemm,
)
from opencute.kernels.gemm.sm80_simt import SimtPlan, sgemm, shared_sgemm

__all__ = ["gemm", "problem_of"]

_KINDS = {"float32": "f32", "float16": "f16", "bfloat16": "bf16", "int8": "i8"}
_CLASSES = {
    "f16": cutlass.Float16, "bf16": cutlass.BFloat16, "tf32": cutlass.TFloat32,
    "i8": cutlass.Int8,
}  # fmt: skip
_RESULTS = ("float16", "bfloat16", "float32", "int32")


@checked(arrays="a b", optional="c bias residual out", numbers="alpha beta")
def gemm(
    a: Any,
    b: Any,
    c: Any = None,
    *,
    alpha: float = 1.0,
    beta: float = 1.0,
    bias: Any = None,
    activation: str | Callable[[Any], Any] | None = None,
    residual: Any = None,
    out: Any = None,
    tf32: bool = False,
    config: GemmConfig | None = None,
) -> Any:
    """``activation(alpha * a @ b + beta * c + bias) + residual``.

    Args:
        a: array (M, K) or (L, M, K) of f32, f16, bf16 or int8.
        b: array (K, N) or (L, K, N) of the same type. One matrix serves a whole batch of the other.
        c, residual: arrays of the result's shape and type, or None.
        bias: array (N,), or None.
        activation: "relu", "gelu", "silu", or a function on vectors of Float32.
        out: where the result goes; a new array when omitted, of the type of `a`, or of int32.
        tf32: whether f32 is multiplied on tensor cores, rounded to 10 bits of mantissa.
        config: how the work is shared; a good choice when omitted.

    Strides decide majors: rows or columns of each matrix may be contiguous, and views are fine.
    Where there are few tiles and much to sum, several blocks share a tile (`config.split`,
    `config.stream`); what they add up is added in the same order each time.

    Returns:
        The result. Sums are taken in f32; those of int8 in int32, and stay there without scaling.

    Raises:
        ArgumentError: shapes or types do not fit, or the configuration does not.
    """
    shape = _shape(a, b)
    kind = _kind(a, b, tf32)
    if out is None:
        out = empty(a, shape, _int32(a) if kind == "i8" else a.dtype)
    _check(shape, kind, out, c=c, residual=residual, bias=bias)
    if activation is not None and not callable(activation):
        if not isinstance(activation, str) or activation not in ACTIVATIONS:
            raise ArgumentError(
                "there is no such activation", code="OC2512", found=activation,
                expected=", ".join(sorted(ACTIVATIONS)) + ", or a function",
            )  # fmt: skip
        activation = ACTIVATIONS[activation]
    if 0 in shape:
        return out
    if a.shape[-1] == 0:
        a = _zeros(a, (*a.shape[:-1], 1), a.dtype)
        b = _zeros(b, (*b.shape[:-2], 1, b.shape[-1]), b.dtype)
    call = _Call.of(a, b, c, residual, out)
    problem = call.problem(kind)
    smem = utils.get_smem_capacity_in_bytes()
    config = heuristic(problem, smem) if config is None else config
    config.check(problem.kind, problem.out_bits, smem)
    plan = call.plan(config, kind, alpha != 1.0, activation)
    c, residual = (None if t is None else _tensor(t, 2) for t in (call.c, call.residual))
    lead = [2 if major else 1 for major in call.k_major]
    args = (
        _tensor(call.a, lead[0]), _tensor(call.b, lead[1]), c, bias, residual, _tensor(call.d, 2),
        float(alpha), float(beta),
    )  # fmt: skip
    blocks = config.blocks(problem)
    if blocks == 0:
        (sgemm if kind == "f32" else tensor_core_gemm)(*args, plan)
        return out
    m, n, _ = config.tile
    sums = empty(a, (blocks, m * n), _int32(a) if kind == "i8" else "float32")
    flags = _zeros(a, (blocks,), "int32")
    (shared_sgemm if kind == "f32" else shared_tensor_core_gemm)(*args, sums, flags, plan)
    return out


def problem_of(a: Any, b: Any, out: Any, *, tf32: bool = False) -> Problem:
    """What `gemm` is asked to do, as `heuristic` and `search_space` want it."""
    _shape(a, b)
    return _Call.of(a, b, None, None, out).problem(_kind(a, b, tf32))


@dataclass
class _Call:
    """The arrays as the kernels take them: (batch, rows, columns), B and D transposed as needed.

    A product whose result is column-major is the product of the transposed operands, in the other
    order, whose result is row-major.
    """

    a: Any
    b: Any
    c: Any
    residual: Any
    d: Any
    k_major: tuple[bool, bool]
    swapped: bool

    @classmethod
    def of(cls, a: Any, b: Any, c: Any, residual: Any, out: Any) -> _Call:
        """The arrays of a call."""
        batch = out.shape[0] if len(out.shape) == 3 else 1
        left, right = _batched(a, batch), _batched(b, batch).swapaxes(1, 2)
        d = _batched(out, batch)
        added = [None if t is None else _batched(t, batch) for t in (c, residual)]
        swapped = not _row_major(d)
        if swapped:
            left, right, d = right, left, d.swapaxes(1, 2)
            added = [None if t is None else t.swapaxes(1, 2) for t in added]
            if not _row_major(d):
                raise ArgumentError(
                    "neither rows nor columns of out are contiguous", code="OC2513",
                    expected="a stride of 1", found=_strides(out),
                )  # fmt: skip
        left, right = _with_major(left), _with_major(right)
        added = [t if t is None or _row_major(t) else _compact(t) for t in added]
        k_major = (_row_major(left), _row_major(right))
        return cls(left, right, added[0], added[1], d, k_major, swapped)

    def problem(self, kind: str) -> Problem:
        """Extents and types."""
        (batch, m, n), k = self.d.shape, self.a.shape[2]
        bits = [v * item_bits(t) for v, t in zip(self.vectors(), self.matrices(), strict=True)]
        narrow = 1 in self.vectors() or min(bits) < 32
        if kind == "tf32" and (self.c is not None or self.residual is not None):
            # Rounding, checks and an addend leave too few registers for the largest tiles.
            narrow = narrow or bool(m % 256 or n % 256 or k % 32)
        return Problem(int(m), int(n), int(k), int(batch), kind, item_bits(self.d), narrow)

    def matrices(self) -> list[Any]:
        """What is read and written."""
        return [t for t in (self.a, self.b, self.d, self.c, self.residual) if t is not None]

    def vectors(self) -> list[int]:
        """Elements of each of the matrices that can be moved at once."""
        majors = (*self.k_major, True, True, True)
        return [_vector(t, major) for t, major in zip(self.matrices(), majors, strict=False)]

    def plan(
        self, config: GemmConfig, kind: str, scaled: bool, activation: Any
    ) -> SimtPlan | TensorCorePlan:
        """The configuration applied to the arrays."""
        problem = self.problem(kind)
        extents = (problem.m, problem.n, problem.k)
        even = not any(e % t for e, t in zip(extents, config.tile, strict=True))
        vec, results = self.vectors()[:2], self.vectors()[2:]
        common: dict[str, Any] = {
            "tile": config.tile, "warps": config.warps, "stages": config.stages,
            "group": config.group, "k_major": self.k_major, "even": even, "scaled": scaled,
            "bias_axis": 0 if self.swapped else 1, "activation": activation,
        }  # fmt: skip
        if kind == "f32":
            vec = [1 if major else v for v, major in zip(vec, self.k_major, strict=True)]
            return SimtPlan(
                vec=(vec[0], vec[1], min(results)), interleaved=config.interleaved, **common
            )
        return TensorCorePlan(
            dtype=_CLASSES[kind], vec=(vec[0], vec[1], min(results)), rounded=config.rounded,
            **common,
        )  # fmt: skip


def _shape(a: Any, b: Any) -> tuple[int, ...]:
    """The shape of a product."""
    if not (2 <= len(a.shape) <= 3 and 2 <= len(b.shape) <= 3):
        raise ArgumentError(
            "operands are matrices or batches of matrices", code="OC2514",
            found=(tuple(a.shape), tuple(b.shape)),
        )  # fmt: skip
    batches = {int(t.shape[0]) for t in (a, b) if len(t.shape) == 3}
    if a.shape[-1] != b.shape[-2] or len(batches) > 1:
        raise ArgumentError(
            "the shapes of a and b do not fit", code="OC2515", expected="(L, M, K) and (L, K, N)",
            found=(tuple(a.shape), tuple(b.shape)),
        )  # fmt: skip
    return (*batches, int(a.shape[-2]), int(b.shape[-1]))


def _name(dtype: Any) -> str:
    return str(dtype).rpartition(".")[2]


def _kind(a: Any, b: Any, tf32: bool) -> str:
    names = [_name(t.dtype) for t in (a, b)]
    if names[0] != names[1] or names[0] not in _KINDS:
        raise ArgumentError(
            "no product of these types", code="OC2516", found=names,
            expected="two of " + ", ".join(_KINDS),
        )  # fmt: skip
    kind = _KINDS[names[0]]
    return "tf32" if kind == "f32" and tf32 else kind


def _check(shape: tuple[int, ...], kind: str, out: Any, *, bias: Any, **added: Any) -> None:
    results = ("float32",) if kind == "f32" else _RESULTS
    if _name(out.dtype) not in results:
        raise ArgumentError(
            "no product has results of this type", code="OC2517", found=_name(out.dtype),
            expected=" or ".join(results),
        )  # fmt: skip
    for name, t in (("out", out), *added.items()):
        if t is not None and (tuple(t.shape) != shape or t.dtype != out.dtype):
            raise ArgumentError(
                f"{name} does not fit the result", code="OC2518",
                expected=(shape, _name(out.dtype)), found=(tuple(t.shape), _name(t.dtype)),
            )  # fmt: skip
    if bias is not None and _name(bias.dtype) not in _RESULTS:
        raise ArgumentError(
            "bias is of a type that is not added to products", code="OC2533",
            expected=" or ".join(_RESULTS), found=_name(bias.dtype),
        )  # fmt: skip
    if bias is not None and tuple(bias.shape) != shape[-1:]:
        raise ArgumentError(
            "bias does not fit the columns of the result", code="OC2519", expected=shape[-1:],
            found=tuple(bias.shape),
        )  # fmt: skip


def _strides(array: Any) -> tuple[int, ...]:
    """In elements."""
    if callable(getattr(array, "stride", None)):
        return tuple(array.stride())
    return tuple(s // array.dtype.itemsize for s in array.strides)


def _row_major(array: Any) -> bool:
    return int(array.shape[-1]) == 1 or _strides(array)[-1] == 1


def _compact(array: Any) -> Any:
    if hasattr(array, "contiguous"):
        return array.contiguous()
    import numpy as np

    return np.ascontiguousarray(array)


def _with_major(array: Any) -> Any:
    """The array, or a copy of it if neither its rows nor its columns are contiguous.

    No instruction transposes bytes on their way to tensor cores, so that Int8 is copied as well
    unless it is contiguous along k.
    """
    columns = _strides(array)[-2] == 1 and item_bits(array) > 8
    return array if _row_major(array) or columns else _compact(array)


def _batched(array: Any, batch: int) -> Any:
    if len(array.shape) == 3:
        return array
    one = array[None]
    if batch == 1:
        return one
    if hasattr(one, "expand"):
        return one.expand(batch, *array.shape)
    import numpy as np

    return np.broadcast_to(one, (batch, *array.shape))


def _vector(array: Any, row_major: bool) -> int:
    """Elements that can be moved at once along the contiguous axis."""
    rows = array if row_major else array.swapaxes(1, 2)
    return vector_elements(int(rows.shape[-1]), item_bits(array), rows)


def _tensor(array: Any, leading: int) -> Any:
    return from_dlpack(array).mark_layout_dynamic(leading_dim=leading)


def _zeros(like: Any, shape: tuple[int, ...], dtype: Any) -> Any:
    new = empty(like, shape, dtype)
    new[...] = 0
    return new


def _int32(array: Any) -> Any:
    if hasattr(array, "new_empty"):
        import torch

        return torch.int32
    return "int32"
