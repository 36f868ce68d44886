# SPDX-FileCopyrightText: 2026 The OpenCuTe authors
# SPDX-License-Identifier: Apache-2.0
"""The arrays of a product: whether they fit, and as the kernels take them.

In: matrices or batches of them, of torch or NumPy, that lie anyhow. Out: a `Call`, which holds them
as (batch, rows, columns), copied where no kernel reads them as they lie; its problem and plan::

    kind_of(a, b, False)                    # "f16"
    call = Call.of(a, b, None, None, out)   # out column-major: the product of b.T and a.T
    call.problem("f16").m, call.swapped     # columns of out, True
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import opencute as cutlass
from opencute.base.errors import ArgumentError
from opencute.cute.runtime import from_dlpack
from opencute.kernels.arrays import element_name, item_bits, row_major, strides, vector_elements
from opencute.kernels.gemm.config import GemmConfig, Problem
from opencute.kernels.gemm.sm80 import TensorCorePlan
from opencute.kernels.gemm.sm80_simt import SimtPlan

__all__ = [
    "CLASSES", "NARROW", "Call", "batched", "check_result", "compact", "kind_of", "repeats",
    "shape_of", "tensor_of", "vector_of",
]  # fmt: skip

_KINDS = {
    "float32": "f32", "float16": "f16", "bfloat16": "bf16", "int8": "i8", "uint8": "i8",
    "float8_e4m3fn": "f8", "float8_e5m2": "f8",
}  # fmt: skip
CLASSES = {
    "f16": cutlass.Float16, "bf16": cutlass.BFloat16, "tf32": cutlass.TFloat32,
    "i8": cutlass.Int8,
}  # fmt: skip
_RESULTS = ("float16", "bfloat16", "float32", "int32")
NARROW = ("int8", "uint8", "float8_e4m3fn", "float8_e5m2")  # results of Hopper's kernels too


@dataclass
class Call:
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
    def of(cls, a: Any, b: Any, c: Any, residual: Any, out: Any) -> Call:
        """The arrays of a call."""
        batch = out.shape[0] if len(out.shape) == 3 else 1
        left, right = batched(a, batch), batched(b, batch).swapaxes(1, 2)
        d = batched(out, batch)
        added = [None if t is None else batched(t, batch) for t in (c, residual)]
        swapped = not row_major(d)
        if swapped:
            left, right, d = right, left, d.swapaxes(1, 2)
            added = [None if t is None else t.swapaxes(1, 2) for t in added]
            if not row_major(d):
                raise ArgumentError(
                    "neither rows nor columns of out are contiguous", code="OC2513",
                    expected="a stride of 1", found=strides(out),
                )  # fmt: skip
        left, right = _with_major(left), _with_major(right)
        if repeats(d):
            raise ArgumentError(
                "elements of out are at the same place", code="OC2513", expected="a matrix",
                found=strides(out),
            )  # fmt: skip
        added = [t if t is None or (row_major(t) and not repeats(t)) else compact(t) for t in added]
        k_major = (row_major(left), row_major(right))
        return cls(left, right, added[0], added[1], d, k_major, swapped)

    def problem(self, kind: str) -> Problem:
        """Extents and types."""
        (batch, m, n), k = self.d.shape, self.a.shape[2]
        bits = [v * item_bits(t) for v, t in zip(self.vectors(), self.matrices(), strict=True)]
        narrow = 1 in self.vectors() or min(bits) < 32
        if kind == "tf32" and (self.c is not None or self.residual is not None):
            # Rounding, checks and an addend leave too few registers for the largest tiles.
            narrow = narrow or bool(m % 256 or n % 256 or k % 32)
        return Problem(
            int(m), int(n), int(k), int(batch), kind, item_bits(self.d), narrow, min(128, *bits)
        )  # fmt: skip

    def tensors(self, bias: Any) -> tuple[Any, ...]:
        """The arguments of the kernels of every processor, up to the result."""
        a, b = (
            tensor_of(t, 2 if k_major else 1)
            for t, k_major in zip((self.a, self.b), self.k_major, strict=True)
        )
        c, residual = (None if t is None else tensor_of(t, 2) for t in (self.c, self.residual))
        return a, b, c, bias, residual, tensor_of(self.d, 2)

    def matrices(self) -> list[Any]:
        """What is read and written."""
        return [t for t in (self.a, self.b, self.d, self.c, self.residual) if t is not None]

    def vectors(self) -> list[int]:
        """Elements of each of the matrices that can be moved at once."""
        majors = (*self.k_major, True, True, True)
        return [vector_of(t, major) for t, major in zip(self.matrices(), majors, strict=False)]

    def plan(
        self, config: GemmConfig, kind: str, scaled: bool, activation: Any
    ) -> SimtPlan | TensorCorePlan:
        """The configuration applied to the arrays."""
        problem = self.problem(kind)
        extents = (problem.m, problem.n, problem.k)
        even = not any(e % t for e, t in zip(extents, config.tile, strict=True))
        vec, results = self.vectors()[:2], self.vectors()[2:]
        # Tiles at the end are moved back rather than cut, if there is room.
        overlap = (
            not even
            and kind != "f32"
            and extents[2] % config.tile[2] == 0
            and all(e >= t for e, t in zip(extents[:2], config.tile, strict=False))
        )
        even = even or overlap
        common: dict[str, Any] = {
            "tile": config.tile, "warps": config.warps, "stages": config.stages,
            "group": config.group, "k_major": self.k_major, "even": even, "scaled": scaled,
            "bias_axis": 0 if self.swapped else 1, "activation": activation,
            "pieces": min(config.pieces, -(-problem.k // config.tile[2])),
        }  # fmt: skip
        if kind == "f32":
            vec = [1 if major else v for v, major in zip(vec, self.k_major, strict=True)]
            return SimtPlan(
                vec=(vec[0], vec[1], min(results)),
                interleaved=config.interleaved,
                level=config.level,
                **common,
            )
        return TensorCorePlan(
            dtype=CLASSES[kind], vec=(vec[0], vec[1], min(results)), rounded=config.rounded,
            ahead=config.ahead, gap=config.gap, turning=config.turning, together=config.together,
            level=config.level, overlap=overlap, **common,
        )  # fmt: skip


def shape_of(a: Any, b: Any) -> tuple[int, ...]:
    """The shape of a product.

    Raises:
        ArgumentError: the shapes of its operands do not fit.
    """
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


def kind_of(a: Any, b: Any, tf32: bool) -> str:
    """What is multiplied: "f16", "bf16", "f32", "tf32", "i8" or "f8".

    Raises:
        ArgumentError: the types do not fit, or there is no product of them.
    """
    names = [element_name(t) for t in (a, b)]
    kinds = [_KINDS.get(name) for name in names]
    if kinds[0] != kinds[1] or kinds[0] is None:
        raise ArgumentError(
            "no product of these types", code="OC2516", found=names,
            expected="two of the same type of " + ", ".join(_KINDS),
        )  # fmt: skip
    kind = kinds[0]
    return "tf32" if kind == "f32" and tf32 else kind


def check_result(
    shape: tuple[int, ...], kind: str, out: Any, *, bias_shape: Any, bias: Any, **added: Any
) -> None:
    """Check that a result, a bias and what is added by name fit a product.

    Raises:
        ArgumentError: one does not.
    """
    results = ("float32",) if kind == "f32" else (*_RESULTS, *NARROW)
    if element_name(out) not in results:
        raise ArgumentError(
            "no product has results of this type", code="OC2517", found=element_name(out),
            expected=" or ".join(results),
        )  # fmt: skip
    for name, t in (("out", out), *added.items()):
        if t is not None and (tuple(t.shape) != shape or t.dtype != out.dtype):
            raise ArgumentError(
                f"{name} does not fit the result", code="OC2518",
                expected=f"{shape} of {element_name(out)}",
                found=f"{tuple(t.shape)} of {element_name(t)}",
                hint=_fit(name, shape, tuple(t.shape)),
            )  # fmt: skip
    if bias is not None and element_name(bias) not in _RESULTS:
        raise ArgumentError(
            "bias is of a type that is not added to products", code="OC2533",
            expected=" or ".join(_RESULTS), found=element_name(bias),
        )  # fmt: skip
    if bias is not None and tuple(bias.shape) != bias_shape:
        raise ArgumentError(
            "bias does not fit the columns of the result", code="OC2519", expected=bias_shape,
            found=tuple(bias.shape),
        )  # fmt: skip


def _fit(name: str, shape: tuple[int, ...], given: tuple[int, ...]) -> str:
    """What to do about a matrix that does not fit a result."""
    if given == shape:
        return f"convert {name} to the type of the result, or pass out of the type of {name}"
    if given[-1:] == shape[-1:] and len(given) == 1 and name != "out":
        return "a vector (N,) that is added to each row is bias"
    if given == (*shape[:-2], shape[-1], shape[-2]):
        return f"{name} is transposed: swap its last two axes"
    if name == "out":
        return "leave out away for a new array, or allocate it as is expected"
    return f"broadcast {name} to the shape of the result, and pass a copy"


def compact(array: Any) -> Any:
    """A copy of an array, or itself, that is contiguous in order."""
    if hasattr(array, "contiguous"):
        return array.contiguous()
    import numpy as np

    return np.ascontiguousarray(array)


def _with_major(array: Any) -> Any:
    """The array, or a copy of it if neither its rows nor its columns are contiguous.

    No instruction transposes bytes on their way to tensor cores, so that Int8 is copied as well
    unless it is contiguous along k.
    """
    columns = strides(array)[-2] == 1 and item_bits(array) > 8
    return array if (row_major(array) or columns) and not repeats(array) else compact(array)


def repeats(array: Any) -> bool:
    """Whether rows or columns of a matrix are the same elements again."""
    pairs = zip(array.shape[-2:], strides(array)[-2:], strict=True)
    return any(int(n) > 1 and s == 0 for n, s in pairs)


def batched(array: Any, batch: int) -> Any:
    """An array (batch, rows, columns): a matrix serves each batch, without a copy."""
    if len(array.shape) == 3:
        return array
    one = array[None]
    if batch == 1:
        return one
    if hasattr(one, "expand"):
        return one.expand(batch, *array.shape)
    import numpy as np

    return np.broadcast_to(one, (batch, *array.shape))


def vector_of(array: Any, along_rows: bool) -> int:
    """Elements that can be moved at once along the contiguous axis."""
    rows = array if along_rows else array.swapaxes(1, 2)
    return vector_elements(int(rows.shape[-1]), item_bits(array), rows)


def tensor_of(array: Any, leading: int) -> Any:
    """The argument of a kernel that serves other extents too; `leading` is its contiguous axis."""
    return from_dlpack(array).mark_layout_dynamic(leading_dim=leading)
