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
from opencute.base.interned import interned
from opencute.cute.runtime import from_dlpack
from opencute.kernels.arrays import (
    MOST_BLOCKS,
    element_name,
    empty,
    forwards,
    item_bits,
    portions,
    row_major,
    share_memory,
    strides,
    vector_elements,
    zeros,
)
from opencute.kernels.checked import checked, separate
from opencute.kernels.gemm.activations import activation_of
from opencute.kernels.gemm.config import GemmConfig, Problem, heuristic
from opencute.kernels.gemm.rows.few import FewConfig, FewPlan, few_heuristic, few_product, few_room
from opencute.kernels.gemm.rows.gemv import GemvConfig, GemvPlan, gemv, gemv_heuristic
from opencute.kernels.gemm.sm80 import (
    TensorCorePlan,
    shared_tensor_core_gemm,
    tensor_core_gemm,
)
from opencute.kernels.gemm.sm80_simt import SimtPlan, sgemm, shared_sgemm
from opencute.kernels.gemm.sm90_interface import (
    choice,
    for_tma,
    have_hopper,
    on_hopper,
    pad_time,
    refuse,
    why_not,
)
from opencute.kernels.gemm.sm90_plan import HopperConfig
from opencute.kernels.gemm.visitors import (
    Operand,
    Visitor,
    asked_for,
    check_operand,
    check_pairs,
    usual,
)
from opencute.kernels.repeat.operators import repeated
from opencute.kernels.tuned import tuned

__all__ = ["alone", "gemm", "problem_of", "separate_epilogue", "writable"]

_KINDS = {
    "float32": "f32", "float16": "f16", "bfloat16": "bf16", "int8": "i8", "uint8": "i8",
    "float8_e4m3fn": "f8", "float8_e5m2": "f8",
}  # fmt: skip
_CLASSES = {
    "f16": cutlass.Float16, "bf16": cutlass.BFloat16, "tf32": cutlass.TFloat32,
    "i8": cutlass.Int8,
}  # fmt: skip
_FEW = 40  # blocks that work, below which sharing by clusters is not enough
_FAR = 72e6  # bytes of which L2 holds next to nothing from the last time
# Rows of a product with a matrix whose rows begin anywhere: at most, and where Hopper's kernels are
# not faster, copies included.
_FEW_ROWS, _FEWER_ROWS = 64, 32
# Microseconds of a million operations, of 16 bits, and of a byte: of kernels that load single
# elements, and of Hopper's.
_SINGLE, _WHOLE = (1 / 250, 1 / 1e5), (1 / 700, 1 / 4e6)
_RESULTS = ("float16", "bfloat16", "float32", "int32")
_NARROW = ("int8", "uint8", "float8_e4m3fn", "float8_e5m2")  # results of Hopper's kernels too


@tuned("gemm", "a b out tf32")
@checked(arrays="a b", optional="c bias residual out", numbers="alpha beta")
@repeated
@separate(inplace="c residual")
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
    epilogue: Visitor | Callable[..., Any] | None = None,
    config: GemmConfig | HopperConfig | GemvConfig | FewConfig | None = None,
) -> Any:
    """``activation(alpha * a @ b + beta * c + bias) + residual``.

    Args:
        a: array (M, K) or (L, M, K) of f32, f16, bf16, int8; on Hopper also of uint8, e4m3, e5m2.
        b: array (K, N) or (L, K, N) of the same type, or of the other of uint8 and int8, or of
            e4m3 and e5m2. One matrix serves a whole batch of the other.
        c, residual: arrays of the result's shape and type, or None.
        alpha, beta: where `alpha` is 0, neither `a` nor `b` is read, where `beta` is 0, `c` is
            not, as in BLAS: they may be full of NaN.
        bias: array (N,), or None.
        activation: "relu", "gelu", "silu", or a function on vectors of Float32.
        out: where the result goes; a new array when omitted, of the type of `a`, of int32, or of
            f32 where 8-bit floats are multiplied. On Hopper it may be of 8 bits: what does not
            fit becomes the nearest number that does.
        tf32: whether f32 is multiplied on tensor cores, rounded to 10 bits of mantissa.
        epilogue: what becomes of the sums, instead of all but `a`, `b` and `out`: a function on
            vectors of Float32, or, on Hopper, ``fn(x, tile)`` or a `Visitor`: see `visitors`.
        config: how the work is shared; a good choice when omitted. A `HopperConfig` asks for the
            kernel with TMA and `wgmma`, a `GemmConfig` for those of every processor, a
            `GemvConfig` for that of a matrix and a vector, a `FewConfig` for that of few rows
            which begin anywhere.

    Strides decide majors: rows or columns of each matrix may be contiguous, and views are fine.
    Where there are few tiles and much to sum, several blocks share a tile (`config.split`,
    `config.stream`); what they add up is added in the same order each time.

    Returns:
        The result. Sums are taken in f32; those of bytes in int32, and stay there where nothing is
        done to them. All that is added is added in f32, which is exact up to 2**24.

    Raises:
        ArgumentError: shapes or types do not fit, or the configuration does not.
    """
    shape = _shape(a, b)
    kind = _kind(a, b, tf32)
    alpha, beta = float(alpha), float(beta)  # NumPy's numbers compare to answers of their own
    result = shape
    if epilogue is not None:
        given = {"alpha": None if alpha == 1.0 else alpha, "c": c, "bias": bias}
        alone(given | {"activation": activation, "residual": residual})
        epilogue, activation = _visitor(epilogue, shape)
    if epilogue is not None and epilogue.gated is not None:
        result = (*shape[:-1], shape[-1] // 2)
    if out is None:
        names = {"i8": "int32", "f8": "float32"}
        out = empty(a, result, names.get(kind, a.dtype))
    _check(result, kind, out, bias_shape=shape[-1:], c=c, residual=residual, bias=bias)
    activation = activation_of(activation)
    if 0 in shape:
        return out
    if c is not None and beta == 0.0:
        c = None  # which is not read, as in BLAS: it may be full of NaN
    if a.shape[-1] == 0 or (epilogue is None and alpha == 0.0):  # nor are a and b, then
        a, b = _nothing(a, b, 1 if config is None else max(int(a.shape[-1]), 1))
    call = _Call.of(a, b, c, residual, out)
    if epilogue is None and len(result) == 3 and int(result[0]) > MOST_BLOCKS:
        _in_portions(
            (a, b, c, residual), out, alpha=alpha, beta=beta, bias=bias, activation=activation,
            tf32=tf32, config=config,
        )  # fmt: skip
        return out
    if epilogue is None:
        for kernel in (_few, _gemv):
            if kernel(call, kind, bias, activation, (alpha, beta), config):
                return out
    visitor = epilogue
    if visitor is None:
        visitor = usual(
            alpha=alpha, beta=beta, c=call.c, bias=bias, activation=activation,
            residual=call.residual,
        )  # fmt: skip
    else:
        separate_epilogue(visitor, a, b, out)
        visitor = _placed(visitor, call)
    only = epilogue is not None or kind == "f8" or element_name(out) in _NARROW
    only = only or "uint8" in (element_name(a), element_name(b))
    if _hopper(call, visitor, kind, config, forced=only):
        return out
    assert not isinstance(config, (HopperConfig, GemvConfig, FewConfig))
    problem = call.problem(kind)
    smem = utils.get_smem_capacity_in_bytes()
    config = heuristic(problem, smem) if config is None else config
    config.check(problem.kind, problem.out_bits, smem)
    plan = interned(call.plan(config, kind, alpha != 1.0, activation))
    args = (*call.tensors(bias), alpha, beta)
    blocks = config.blocks(problem)
    if blocks == 0:
        (sgemm if kind == "f32" else tensor_core_gemm)(*args, plan)
        return out
    m, n, _ = config.tile
    sums = empty(a, (blocks, m * n), "int32" if kind == "i8" else "float32")
    flags = zeros(a, (blocks,), "int32")
    (shared_sgemm if kind == "f32" else shared_tensor_core_gemm)(*args, sums, flags, plan)
    return out


def _nothing(a: Any, b: Any, depth: int) -> tuple[Any, Any]:
    """Factors of a product that is 0, with majors as those have, which a configuration may need."""
    found: list[Any] = []
    for t, shape in ((a, (*a.shape[:-1], depth)), (b, (*b.shape[:-2], depth, b.shape[-1]))):
        if row_major(t):
            found.append(zeros(t, shape, t.dtype))
        else:
            turned = (*shape[:-2], shape[-1], shape[-2])
            found.append(zeros(t, turned, t.dtype).swapaxes(-1, -2))
    return found[0], found[1]


def _in_portions(matrices: tuple[Any, ...], out: Any, **rest: Any) -> None:
    """As many batches at a time as a grid has blocks along its last axis."""
    for part in portions(int(out.shape[0])):
        a, b, c, residual = [t if t is None or len(t.shape) < 3 else t[part] for t in matrices]
        gemm(a, b, c, residual=residual, out=out[part], **rest)


def _few(
    call: _Call, kind: str, bias: Any, activation: Any, numbers: tuple[float, float], config: Any
) -> bool:
    """Do a product of few rows with a matrix whose rows begin anywhere, if this is one.

    Raises:
        ArgumentError: it is none, but asked for.
    """
    turned = call.b.shape[1] < call.a.shape[1]
    few, wide = (call.b, call.a) if turned else (call.a, call.b)
    good = (
        int(few.shape[1]) <= _FEW_ROWS and kind in ("f16", "bf16") and all(call.k_major)
        and element_name(call.d) in ("float16", "bfloat16", "float32")
    )  # fmt: skip
    if not good and isinstance(config, FewConfig):
        raise ArgumentError(
            "this is no product of few rows", code="OC2536", found=[few.shape, wide.shape],
            expected=f"at most {_FEW_ROWS}, and floats of 16 bits that are contiguous along k",
        )  # fmt: skip
    anywhere = min(_vector(t, True) for t in (few, wide)) < 8
    if not good or (config is None and not anywhere):
        return False
    if config is None and int(few.shape[1]) > _FEWER_ROWS and have_hopper():
        return False
    if config is not None and not isinstance(config, FewConfig):
        return False
    batch, rows = int(call.d.shape[0]), int(few.shape[1])
    smem = utils.get_smem_capacity_in_bytes()
    config = config or few_heuristic(rows, int(wide.shape[1]), batch, smem)
    plan = interned(FewPlan(
        config, -(-rows // 16), _CLASSES[kind], numbers[0] != 1.0, int(turned == call.swapped),
        activation, few_room(int(few.shape[2]), rows, smem),
    ).check(smem))  # fmt: skip
    others = [
        None if t is None else _tensor(t.swapaxes(1, 2), 1) if turned else _tensor(t, 2)
        for t in (call.c, call.residual, call.d)
    ]
    bias = None if bias is None else from_dlpack(bias).mark_layout_dynamic()
    few_product(
        _tensor(few, 2), _tensor(wide, 2), others[0], bias, *others[1:], *map(float, numbers), plan
    )
    return True


def _gemv(
    call: _Call, kind: str, bias: Any, activation: Any, numbers: tuple[float, float], config: Any
) -> bool:
    """Do a product with a vector, if this is one whose matrix is read along rows.

    Raises:
        ArgumentError: it is none, but asked for.
    """
    sides = (call.b, call.a) if call.a.shape[1] == 1 else (call.a, call.b)
    one = sides[0] is call.a
    flat = [
        None if t is None else t[:, :, 0] if one else t[:, 0]
        for t in (call.c, call.residual, call.d)
    ]
    good = (
        sides[1].shape[1] == 1 and not call.swapped and all(map(row_major, sides))
        and kind in ("f16", "bf16", "f32", "tf32") and all(t is None or row_major(t) for t in flat)
        and element_name(call.d) in ("float16", "bfloat16", "float32")
    )  # fmt: skip
    if not good and isinstance(config, GemvConfig):
        raise ArgumentError(
            "this is no product of rows with a vector", code="OC2536",
            found=[tuple(t.shape) for t in sides],
            expected="an extent of 1, and operands of floats that are contiguous along k",
        )  # fmt: skip
    if not good or (config is not None and not isinstance(config, GemvConfig)):
        return False
    # TMA asks for more of a large matrix at a time than threads do.
    size = int(sides[0].shape[0] * sides[0].shape[1] * sides[0].shape[2]) * item_bits(sides[0]) / 8
    if config is None and size > _FAR and kind in ("f16", "bf16") and have_hopper():
        if all(map(for_tma, sides)):
            return False
    matrix, vector = sides[0], sides[1][:, 0]
    k = int(matrix.shape[2])
    vec = vector_elements(k, item_bits(matrix), matrix, vector)
    config = config or gemv_heuristic(int(matrix.shape[1]), k, vec, int(matrix.shape[0]))
    c, residual, out = (None if t is None else _tensor(t, 1) for t in flat)
    bias = None if bias is None else from_dlpack(bias).mark_layout_dynamic()
    plan = interned(GemvPlan(config.check(), vec, numbers[0] != 1.0, one, activation))
    gemv(
        _tensor(matrix, 2), _tensor(vector, 1), c, bias, residual, out,
        *map(float, numbers), plan,
    )  # fmt: skip
    return True


def _hopper(call: _Call, visitor: Visitor, kind: str, config: Any, *, forced: bool) -> bool:
    """Do a product with Hopper's kernel, if that is possible and good.

    Args:
        forced: whether there is no other kernel for it.

    Raises:
        ArgumentError: it is not possible, but asked for.
    """
    forced = forced or isinstance(config, HopperConfig)
    if kind == "f32" or (isinstance(config, GemmConfig) and not forced):
        reason = "f32 is not multiplied without tf32=True" if forced else "another is asked for"
    elif not have_hopper():
        reason = "this processor has none"
    else:
        used = [o.value for o in visitor.operands.values() if o.kind in ("load", "store")]
        reason = why_not(call.a, call.b, [call.d, *used], kind)
    tiles = config if isinstance(config, HopperConfig) else None
    if not reason and tiles is None:
        tiles = choice(call.a, call.b, call.d, visitor, kind)
        # Where tiles are very few and sums long, the other kernel shares them among more blocks.
        problem = call.problem(kind)
        few = tiles.busy(problem.m, problem.n, problem.batch) < _FEW
        if few and not forced:
            if heuristic(problem, utils.get_smem_capacity_in_bytes()).split > 1:
                reason = "there are few tiles"
        # What TMA cannot read is copied, if that is less than what it gains.
        work = 2e-6 * problem.m * problem.n * problem.k * problem.batch
        size = sum(int(t.shape[0] * t.shape[1] * t.shape[2]) * item_bits(t) / 8
                   for t in (call.a, call.b))  # fmt: skip
        single, whole = (max(work * w, size * s) for w, s in (_SINGLE, _WHOLE))
        if not forced and pad_time(call.a, call.b) + whole > single:
            reason = "copies of operands take too long"
    if reason and forced:
        raise refuse(reason)
    if reason:
        return False
    on_hopper(call.a, call.b, call.d, visitor, kind=kind, swapped=call.swapped, config=tiles)
    return True


def alone(others: dict[str, Any]) -> None:
    """Raise if an epilogue is not all there is to do."""
    given = [name for name, value in others.items() if value is not None]
    if given:
        raise ArgumentError(
            "an epilogue is instead of other things that are done to the sums", code="OC2540",
            found=", ".join(given), hint="pieces such as visitors.add(c) do the same",
        )  # fmt: skip


def _visitor(epilogue: Any, shape: tuple[int, ...]) -> tuple[Visitor | None, Any]:
    """The visitor that is asked for, or, of a function of sums alone, an activation, which every
    processor has; raise if it is neither, or its matrices do not fit."""
    visitor = asked_for("gemm", epilogue)
    if visitor is None:
        return None, epilogue
    wanted = {"row": shape[-2:-1], "column": shape[-1:], "amax": (1,), "load": shape,
              "store": shape}  # fmt: skip
    for name, operand in visitor.operands.items():
        want = wanted.get(operand.kind)
        if want is None:  # a number
            continue
        check_operand(name, operand, str(want))
        if tuple(operand.value.shape) != want:
            raise ArgumentError(
                f"{name} does not fit the product", code="OC2540", expected=want,
                found=tuple(operand.value.shape),
            )  # fmt: skip
    if visitor.gated is not None:
        check_pairs(shape[-1])
    return visitor, None


def _placed(epilogue: Visitor, call: _Call) -> Visitor:
    """A visitor whose matrices are (batch, rows, columns) and transposed as the product is."""
    if epilogue.gated is not None and call.swapped:
        raise ArgumentError(
            "results of pairs of columns are stored row by row", code="OC2540",
            expected="a row-major out", found="a column-major one",
        )  # fmt: skip
    placed: dict[str, Operand] = {}
    for name, operand in epilogue.operands.items():
        value = operand.value
        if operand.kind in ("row", "column", "load") and hasattr(value, "ctypes"):
            value = forwards(name, value)
        if operand.kind in ("load", "store"):
            value = _batched(value, call.d.shape[0])
            value = value.swapaxes(1, 2) if call.swapped else value
            if operand.kind == "store":
                writable(name, value, operand.value)
            elif _repeats(value) or not row_major(value):
                value = _compact(value)
        placed[name] = Operand(operand.kind, value)
    return epilogue.given(placed)


def separate_epilogue(epilogue: Visitor, a: Any, b: Any, out: Any) -> None:
    """Refuse an epilogue that writes what the product reads, or writes elsewhere. It may read the
    elements in whose place it, or the product, writes.

    Raises:
        ArgumentError: it does.
    """
    places = [("a", a, "load"), ("b", b, "load"), ("out", out, "store")]
    places += [(n, o.value, o.kind) for n, o in epilogue.operands.items() if o.kind != "scalar"]
    for i, (name, mine, how) in enumerate(places):
        for j, (other, array, kind) in enumerate(places):
            if i == j or how not in ("store", "amax"):
                continue
            same = share_memory(mine, array)
            if same or (same is None and (kind != "load" or j < 2)):
                raise ArgumentError(
                    f"{name} shares memory with {other}, which the product reads or writes",
                    code="OC2542", expected="other memory",
                )  # fmt: skip


def writable(name: str, placed: Any, given: Any) -> None:
    """Check that TMA can store to a matrix of an epilogue as it does to the result.

    Args:
        placed: the matrix, transposed as the product is.
        given: the matrix as it was given.

    Raises:
        ArgumentError: it cannot.
    """
    if _repeats(placed) or _repeats(placed.swapaxes(0, 2)):
        raise ArgumentError(
            f"elements of {name}, which is written, are at the same place", code="OC2540",
            expected="a matrix", found=strides(given),
        )  # fmt: skip
    if not row_major(placed) or any(s < 0 for s in strides(placed)):
        raise ArgumentError(
            f"{name}, which is written, lies in another order than the result", code="OC2540",
            expected="rows that are contiguous, or columns, as those of out",
            found=f"strides {strides(given)}", hint="pass an array that lies as out does",
        )  # fmt: skip


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
        if _repeats(d):
            raise ArgumentError(
                "elements of out are at the same place", code="OC2513", expected="a matrix",
                found=strides(out),
            )  # fmt: skip
        added = [
            t if t is None or (row_major(t) and not _repeats(t)) else _compact(t) for t in added
        ]
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
            _tensor(t, 2 if k_major else 1)
            for t, k_major in zip((self.a, self.b), self.k_major, strict=True)
        )
        c, residual = (None if t is None else _tensor(t, 2) for t in (self.c, self.residual))
        return a, b, c, bias, residual, _tensor(self.d, 2)

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
            dtype=_CLASSES[kind], vec=(vec[0], vec[1], min(results)), rounded=config.rounded,
            ahead=config.ahead, gap=config.gap, turning=config.turning, together=config.together,
            level=config.level, overlap=overlap, **common,
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


def _kind(a: Any, b: Any, tf32: bool) -> str:
    names = [element_name(t) for t in (a, b)]
    kinds = [_KINDS.get(name) for name in names]
    if kinds[0] != kinds[1] or kinds[0] is None:
        raise ArgumentError(
            "no product of these types", code="OC2516", found=names,
            expected="two of the same type of " + ", ".join(_KINDS),
        )  # fmt: skip
    kind = kinds[0]
    return "tf32" if kind == "f32" and tf32 else kind


def _check(
    shape: tuple[int, ...], kind: str, out: Any, *, bias_shape: Any, bias: Any, **added: Any
) -> None:
    results = ("float32",) if kind == "f32" else (*_RESULTS, *_NARROW)
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
    columns = strides(array)[-2] == 1 and item_bits(array) > 8
    return array if (row_major(array) or columns) and not _repeats(array) else _compact(array)


def _repeats(array: Any) -> bool:
    """Whether rows or columns of a matrix are the same elements again."""
    pairs = zip(array.shape[-2:], strides(array)[-2:], strict=True)
    return any(int(n) > 1 and s == 0 for n, s in pairs)


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


def _vector(array: Any, along_rows: bool) -> int:
    """Elements that can be moved at once along the contiguous axis."""
    rows = array if along_rows else array.swapaxes(1, 2)
    return vector_elements(int(rows.shape[-1]), item_bits(array), rows)


def _tensor(array: Any, leading: int) -> Any:
    return from_dlpack(array).mark_layout_dynamic(leading_dim=leading)
