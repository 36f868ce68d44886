# SPDX-FileCopyrightText: 2026 The OpenCuTe authors
# SPDX-License-Identifier: Apache-2.0
"""Element types as self-describing records.

Goes in: a name, a NumPy dtype, a DLPack code, a torch dtype's name or a Python type.
Comes out: the one `DType` record for it::

    >>> DTYPES["bf16"].display, DTYPES["bf16"].width, DTYPES["bf16"].max
    ('BFloat16', 16, 3.3895313892515355e+38)
    >>> from_dlpack_code(2, 16)
    DType(f16)

Everything that other layers know about a format (its fields, its limits, how MLIR spells it, how
NumPy stores it) is read from the record. Importing this module does not import NumPy.
"""

from __future__ import annotations

from contextlib import suppress
from dataclasses import dataclass
from functools import cache, cached_property
from typing import TYPE_CHECKING, Any, Literal

from opencute.base.errors import TypeMismatchError

if TYPE_CHECKING:
    import numpy as np

__all__ = [
    "BF16",
    "BOOL",
    "DTYPES",
    "F16",
    "F32",
    "F64",
    "I8",
    "I16",
    "I32",
    "I64",
    "TF32",
    "U8",
    "U16",
    "U32",
    "U64",
    "DType",
    "Kind",
    "dtype",
    "from_dlpack_code",
    "from_numpy_dtype",
    "from_python_type",
    "from_torch_name",
]

Kind = Literal["float", "int", "uint", "bool"]


@dataclass(frozen=True, eq=False, repr=False)
class DType:
    """One element type. Records are singletons: compare them with ``is`` or ``==``.

    Args:
        name: short name, as in MLIR where MLIR has one: ``f16``, ``i32``, ``u8``, ``f8e4m3fn``.
        display: the language's class name: ``Float16``, ``Int32``.
        width: bits that carry the value (1 for Boolean, 32 for tf32, which lives in an f32).
        kind: ``float``, ``int`` (two's complement), ``uint`` or ``bool``.
        mlir: MLIR's spelling; integers are signless there, so i32 and u32 are both ``i32``.
        numpy_name: the storage dtype, looked up in numpy, then in ml_dtypes; "" for 128-bit
            integers, which arrays hold as Python ints (dtype object).
        dlpack: DLPack's (type code, bits), or None if DLPack has no such type.
        exponent_bits: width of the exponent field; 0 for integers.
        mantissa_bits: explicit fraction bits; 0 for integers.
        bias: exponent bias.
        signed: whether negative numbers exist.
        has_inf: whether infinities exist.
        has_nan: whether not-a-number exists.
        has_zero: whether zero exists (not in e8m0).
        finite: the format is of the "fn" family: no infinity, all exponents are used for numbers.
        unsigned_zero: of the "uz" family: no negative zero, its pattern is the only NaN.
        pad_bits: low bits of the container that carry no value (13 for tf32).
        nan_bits: the NaN that conversions produce, as bits.
    """

    name: str
    display: str
    width: int
    kind: Kind
    mlir: str
    numpy_name: str
    dlpack: tuple[int, int] | None = None
    exponent_bits: int = 0
    mantissa_bits: int = 0
    bias: int = 0
    signed: bool = True
    has_inf: bool = False
    has_nan: bool = False
    has_zero: bool = True
    finite: bool = False
    unsigned_zero: bool = False
    pad_bits: int = 0
    nan_bits: int | None = None

    def __post_init__(self) -> None:
        if self.kind != "float":
            assert not (self.exponent_bits or self.mantissa_bits or self.has_inf or self.has_nan)
            return
        fields = self.signed + self.exponent_bits + self.mantissa_bits + self.pad_bits
        assert fields == self.width, f"{self.name}: fields take {fields} bits of {self.width}"
        assert self.has_nan == (self.nan_bits is not None), f"{self.name}: NaN without a pattern"
        assert not (self.finite and self.has_inf), f"{self.name}: fn formats have no infinity"

    @property
    def described(self) -> str:
        """The format in a sentence: its bits, and what numbers there are."""
        if self.kind == "bool":
            return f"{self.display}: true or false, one bit; a byte in memory."
        head = f"{self.display}: {self.width} bits"
        if self.kind != "float":
            low, high = (1 << self.width - 1, 1 << self.width - 1) if self.signed else (0, 0)
            most = (high or 1 << self.width) - 1
            ends = f"{-low} to {most}" if self.width <= 32 else f"up to 2**{most.bit_length()} - 1"
            return f"{head}, {ends}; arithmetic wraps around."
        fields = [f"{self.exponent_bits} of exponent", f"{self.mantissa_bits} of fraction"]
        if self.signed:
            fields.insert(0, "a sign")
        lacks = [
            what for what, there in (
                ("infinity", self.has_inf), ("NaN", self.has_nan), ("zero", self.has_zero)
            ) if not there
        ]  # fmt: skip
        more = f"; at most {self.max:g}" if self.width <= 16 else ""
        more += f"; {self.pad_bits} low bits count for nothing" if self.pad_bits else ""
        more += f"; no {', no '.join(lacks)}" if lacks else ""
        return f"{head}: {', '.join(fields)}{more}."

    def __repr__(self) -> str:
        return f"DType({self.name})"

    def __str__(self) -> str:
        return self.name

    def __reduce__(self) -> tuple[Any, ...]:
        # Copies and unpickled records must be the singleton again.
        return (dtype, (self.name,))

    # ── what kind of thing it is ────────────────────────────────────────────────────────────────

    @cached_property
    def is_float(self) -> bool:
        """Whether this is a floating-point format."""
        return self.kind == "float"

    @cached_property
    def is_integer(self) -> bool:
        """Whether this is a signed or unsigned integer; Boolean is not."""
        return self.kind in ("int", "uint")

    @cached_property
    def is_bool(self) -> bool:
        """Whether this is Boolean."""
        return self.kind == "bool"

    @cached_property
    def is_subbyte(self) -> bool:
        """Whether several elements share a byte in memory."""
        return self.memory_bits < 8

    # ── sizes ───────────────────────────────────────────────────────────────────────────────────

    @cached_property
    def memory_bits(self) -> int:
        """Bits that one element of a tensor takes: 8 for Boolean, else `width`."""
        return 8 if self.kind == "bool" else self.width

    @property
    def bytes(self) -> int:
        """Bytes of one element on its own: `memory_bits` rounded up."""
        return (self.memory_bits + 7) // 8

    @property
    def container_bits(self) -> int:
        """Width of the smallest machine integer that holds one element: 8, 16, 32, 64 or 128."""
        return next(n for n in (8, 16, 32, 64, 128) if n >= self.width)

    # ── limits ──────────────────────────────────────────────────────────────────────────────────

    @property
    def max_code(self) -> int:
        """Bits of the largest finite value, without `pad_bits`."""
        if self.kind != "float":
            return (1 << (self.width - (self.kind == "int"))) - 1
        top = (1 << (self.exponent_bits + self.mantissa_bits)) - 1
        if self.has_inf:  # the last exponent holds infinity and NaN
            return top - (1 << self.mantissa_bits)
        # The last pattern is the NaN of e4m3fn and e8m0; "uz" formats put theirs at minus zero.
        return top - 1 if self.has_nan and not self.unsigned_zero else top

    @property
    def max(self) -> int | float:
        """The largest finite value."""
        return self.value_of(self.max_code) if self.is_float else self.max_code

    @property
    def min(self) -> int | float:
        """The lowest finite value: the most negative one, or the smallest of unsigned types."""
        if self.is_float:
            return -self.max if self.signed else self.value_of(0)
        return -(1 << (self.width - 1)) if self.kind == "int" else 0

    @property
    def eps(self) -> float:
        """Distance from 1 to the next larger value; only floats have one.

        Raises:
            TypeMismatchError: OC1605, for integers and Boolean.
        """
        self._require_float("eps")
        return 2.0**-self.mantissa_bits

    @property
    def smallest_normal(self) -> float:
        """The smallest positive value with full precision; only floats have one.

        Raises:
            TypeMismatchError: OC1605, for integers and Boolean.
        """
        self._require_float("smallest_normal")
        return 2.0 ** (1 - self.bias) if self.has_zero else self.value_of(0)

    @property
    def smallest_subnormal(self) -> float:
        """The smallest positive value; only floats have one.

        Raises:
            TypeMismatchError: OC1605, for integers and Boolean.
        """
        self._require_float("smallest_subnormal")
        return self.value_of(1) if self.has_zero else self.value_of(0)

    def _require_float(self, what: str) -> None:
        if not self.is_float:
            raise TypeMismatchError(
                f"{self.display} has no {what}",
                code="OC1605",
                expected="a floating-point type",
                found=self.name,
            )

    def value_of(self, code: int) -> float:
        """The value of a non-negative finite float pattern that is given without `pad_bits`."""
        exponent, fraction = divmod(code, 1 << self.mantissa_bits)
        if not self.has_zero:
            return 2.0 ** (exponent - self.bias)
        if exponent == 0:
            return fraction * 2.0 ** (1 - self.bias - self.mantissa_bits)
        significand = fraction + (1 << self.mantissa_bits)
        # Multiplied in two steps: 2**1023 * 2 would overflow for the largest f64.
        return significand * 2.0**-self.mantissa_bits * 2.0 ** (exponent - self.bias)

    # ── NumPy ───────────────────────────────────────────────────────────────────────────────────

    @property
    def numpy_dtype(self) -> np.dtype[Any]:
        """The dtype of arrays that hold such values, one element per item (object for 128 bits)."""
        return _numpy_dtype(self.numpy_name)

    @property
    def bits_dtype(self) -> np.dtype[Any]:
        """The unsigned dtype of arrays that hold such values as bits (object for 128 bits)."""
        name = "" if self.container_bits == 128 else f"uint{self.container_bits}"
        return _numpy_dtype(name)


@cache
def _numpy_dtype(name: str) -> np.dtype[Any]:
    import numpy as np

    if not name:
        return np.dtype(object)
    if hasattr(np, name):
        return np.dtype(getattr(np, name))
    import ml_dtypes

    return np.dtype(getattr(ml_dtypes, name))


def _float(
    name: str,
    display: str,
    fields: tuple[int, int, int],
    numpy_name: str,
    dlpack: tuple[int, int] | None,
    nan: int | None,
    *,
    mlir: str | None = None,
    **flags: Any,
) -> DType:
    exponent, mantissa, bias = fields
    width = exponent + mantissa + flags.get("signed", True) + flags.get("pad_bits", 0)
    return DType(
        name, display, width, "float", mlir or name, numpy_name, dlpack, exponent, mantissa, bias,
        has_nan=nan is not None, nan_bits=nan, **flags,
    )  # fmt: skip


def _records() -> list[DType]:
    ieee: dict[str, Any] = {"has_inf": True}
    fn: dict[str, Any] = {"finite": True}
    fnuz: dict[str, Any] = {"finite": True, "unsigned_zero": True}
    records = [
        _float("f64", "Float64", (11, 52, 1023), "float64", (2, 64), 0x7FF8 << 48, **ieee),
        _float("f32", "Float32", (8, 23, 127), "float32", (2, 32), 0x7FFFFFFF, **ieee),
        _float("tf32", "TFloat32", (8, 10, 127), "float32", None, 0x7FFFE000, pad_bits=13, **ieee),
        _float("f16", "Float16", (5, 10, 15), "float16", (2, 16), 0x7FFF, **ieee),
        _float("bf16", "BFloat16", (8, 7, 127), "bfloat16", (4, 16), 0x7FFF, **ieee),
        _float("f8e5m2", "Float8E5M2", (5, 2, 15), "float8_e5m2", (12, 8), 0x7F,
               mlir="f8E5M2", **ieee),
        _float("f8e4m3", "Float8E4M3", (4, 3, 7), "float8_e4m3", (8, 8), 0x7F,
               mlir="f8E4M3", **ieee),
        _float("f8e4m3fn", "Float8E4M3FN", (4, 3, 7), "float8_e4m3fn", (10, 8), 0x7F,
               mlir="f8E4M3FN", **fn),
        _float("f8e3m4", "Float8E3M4", (3, 4, 3), "float8_e3m4", (7, 8), 0x7F,
               mlir="f8E3M4", **ieee),
        _float("f8e5m2fnuz", "Float8E5M2FNUZ", (5, 2, 16), "float8_e5m2fnuz", (13, 8), 0x80,
               mlir="f8E5M2FNUZ", **fnuz),
        _float("f8e4m3fnuz", "Float8E4M3FNUZ", (4, 3, 8), "float8_e4m3fnuz", (11, 8), 0x80,
               mlir="f8E4M3FNUZ", **fnuz),
        _float("f8e4m3b11fnuz", "Float8E4M3B11FNUZ", (4, 3, 11), "float8_e4m3b11fnuz", (9, 8), 0x80,
               mlir="f8E4M3B11FNUZ", **fnuz),
        _float("f8e8m0fnu", "Float8E8M0FNU", (8, 0, 127), "float8_e8m0fnu", (14, 8), 0xFF,
               mlir="f8E8M0FNU", signed=False, has_zero=False, **fn),
        _float("f6e3m2fn", "Float6E3M2FN", (3, 2, 3), "float6_e3m2fn", (16, 6), None,
               mlir="f6E3M2FN", **fn),
        _float("f6e2m3fn", "Float6E2M3FN", (2, 3, 1), "float6_e2m3fn", (15, 6), None,
               mlir="f6E2M3FN", **fn),
        _float("f4e2m1fn", "Float4E2M1FN", (2, 1, 1), "float4_e2m1fn", (17, 4), None,
               mlir="f4E2M1FN", **fn),
        DType("i1", "Boolean", 1, "bool", "i1", "bool_", (6, 8), signed=False),
    ]  # fmt: skip
    for width in (4, 8, 16, 32, 64, 128):
        i, u = (f"int{width}", f"uint{width}") if width < 128 else ("", "")
        mlir = f"i{width}"
        records += [
            DType(f"i{width}", f"Int{width}", width, "int", mlir, i, (0, width)),
            DType(f"u{width}", f"Uint{width}", width, "uint", mlir, u, (1, width), signed=False),
        ]
    return records


DTYPES: dict[str, DType] = {r.name: r for r in _records()}
"""Every element type by its short name."""

BOOL = DTYPES["i1"]
F64, F32, TF32, F16, BF16 = (DTYPES[n] for n in ("f64", "f32", "tf32", "f16", "bf16"))
I8, I16, I32, I64 = (DTYPES[n] for n in ("i8", "i16", "i32", "i64"))
U8, U16, U32, U64 = (DTYPES[n] for n in ("u8", "u16", "u32", "u64"))

_BY_DISPLAY = {r.display: r for r in DTYPES.values()}
_BY_DLPACK = {r.dlpack: r for r in DTYPES.values() if r.dlpack is not None}
# tf32 shares NumPy's float32 with f32, which must win.
_BY_NUMPY = {r.numpy_name: r for r in DTYPES.values() if r.numpy_name and r.name != "tf32"}
_BY_NUMPY["bool"] = BOOL  # NumPy's own name for its bool_
_NOT_IN_TORCH = ("bool_", "float8_e4m3", "float8_e3m4", "float8_e4m3b11fnuz", "float6_e3m2fn",
                 "float6_e2m3fn", "float4_e2m1fn")  # fmt: skip
_BY_TORCH = {n: r for n, r in _BY_NUMPY.items() if n not in _NOT_IN_TORCH} | {
    "float": F32,
    "double": F64,
    "half": F16,
    "short": I16,
    "int": I32,
    "long": I64,
    "float4_e2m1fn_x2": DTYPES["f4e2m1fn"],
}
_BY_PYTHON: dict[type, DType] = {bool: BOOL, int: I32, float: F32}


def _unknown(what: str, found: object, hint: str) -> TypeMismatchError:
    return TypeMismatchError(f"no element type for {what}", code="OC1606", found=found, hint=hint)


def dtype(name: str | DType) -> DType:
    """The record with a short name (``"f16"``) or display name (``"Float16"``).

    Raises:
        TypeMismatchError: OC1606, if there is none.
    """
    if isinstance(name, DType):
        return name
    found = DTYPES.get(name) or _BY_DISPLAY.get(name)
    if found is None:
        raise _unknown("this name", name, "known names: " + ", ".join(DTYPES))
    return found


def from_numpy_dtype(value: Any) -> DType:
    """The record of a NumPy dtype, or of anything that ``np.dtype`` accepts (``np.float16``).

    Raises:
        TypeMismatchError: OC1606, if there is none (complex, strings, other byte orders).
    """
    import numpy as np

    given: np.dtype[Any] | None = None
    with suppress(TypeError):
        given = np.dtype(value)
    found = _BY_NUMPY.get(str(given)) if given is not None and given.isnative else None
    if found is None:
        raise _unknown(
            "this NumPy dtype", value, "pass a native float, integer or bool dtype, or ml_dtypes'"
        )
    return found


def from_dlpack_code(code: int, bits: int, lanes: int = 1) -> DType:
    """The record of a DLPack data type.

    Args:
        code: ``DLDataTypeCode``.
        bits: width of one lane.
        lanes: 1, or what fills one byte for types narrower than a byte (two f4 per byte).

    Raises:
        TypeMismatchError: OC1606, if there is none.
    """
    found = _BY_DLPACK.get((code, bits))
    if found is None or not (lanes == 1 or (lanes > 1 and bits * lanes == 8)):
        raise _unknown(
            "this DLPack type",
            f"code {code}, {bits} bits, {lanes} lanes",
            "vector types are passed as tensors of their element",
        )
    return found


def from_torch_name(name: str) -> DType:
    """The record of a torch dtype by its name: ``"torch.float16"``, ``"half"``; imports no torch.

    Raises:
        TypeMismatchError: OC1606, if there is none (complex, quantised, other fnuz formats).
    """
    found = _BY_TORCH.get(name.removeprefix("torch."))
    if found is None:
        raise _unknown("this torch dtype", name, "convert the tensor to a supported dtype first")
    return found


def from_python_type(value: type) -> DType:
    """The type that a Python scalar has in a kernel: bool → i1, int → i32, float → f32.

    Raises:
        TypeMismatchError: OC1606, for any other type.
    """
    found = _BY_PYTHON.get(value)
    if found is None:
        raise _unknown("this Python type", value, "bool, int and float have one")
    return found
