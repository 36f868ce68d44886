# SPDX-FileCopyrightText: 2026 The OpenCuTe authors
# SPDX-License-Identifier: Apache-2.0
"""One valid module or more for every declared operation, made with the builders.

A sample is a function that builds the operation in a kernel (or, named in HOST, in a host
function); `arg` adds an argument of a type to that function. Tests print, parse, verify and hand to
mlir-opt what `modules` returns, so an operation that is declared without a sample fails a test.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

from dialects.hopper.hopper_samples import HOPPER
from dialects.hopper.product_samples import PRODUCTS
from dialects.hopper.tma_samples import TMA_SAMPLES
from opencute.arch.mma import MMA_ATOMS
from opencute.arch.sparse import SPARSE_MMA_ATOMS
from opencute.base.location import Location
from opencute.dialects import (
    arith,
    builtin,
    cf,
    cute,
    func,
    gpu,
    interop,
    llvm,
    math,
    ptx,
    ptx_math,
    ptx_matrix,
    ptx_memory,
    ptx_warp,
    scf,
    smem,
    tiled,
    vector,
)
from opencute.dialects.asm import extern
from opencute.dialects.asm.compute import compute
from opencute.ir.attributes import (
    UNIT,
    ArrayAttr,
    BoolAttr,
    DenseI32Attr,
    DictAttr,
    FloatAttr,
    IntAttr,
    StringAttr,
    TypeAttr,
)
from opencute.ir.builder import at_loc, build, insert_at, new_block
from opencute.ir.core import Block, Op, Value
from opencute.ir.types import (
    BF16,
    F16,
    F32,
    F64,
    FLOATS,
    I1,
    I8,
    I16,
    I32,
    I64,
    INDEX,
    FunctionType,
    Type,
    VectorType,
)

__all__ = ["HOST", "SAMPLES", "modules", "together"]

Arg = Callable[[Type], Value]
Sample = Callable[[Arg], object]
V4 = VectorType(4, F32)
V8 = VectorType(8, F16)
G16 = cute.PtrType(F16, "gmem", 16)
G32 = cute.PtrType(F32, "gmem", 4)
PRED = cute.PtrType(I1, "rmem", 1)
GLOBAL = llvm.LLVMPointerType(llvm.GLOBAL)
PAIR = llvm.LLVMStructType((I32, I32))
LAYOUT = cute.LayoutAttr((8, 1), (1, cute.Dyn(64, 8)))

SAMPLES: dict[str, list[Sample]] = {}
HOST = {"func.func", "func.call", "func.return", "gpu.launch_func", "cute.launch_event"}


def modules(name: str) -> list[Op]:
    """A module for each sample of an operation; each contains that operation."""
    return [_module(name, sample) for sample in SAMPLES[name]]


def together(name: str) -> Op:
    """One module with all samples of an operation, in one kernel."""

    def all_of_them(arg: Arg) -> None:
        for sample in SAMPLES[name]:
            sample(arg)

    return _module(name, all_of_them)


def _module(name: str, sample: Sample) -> Op:
    module, top = builtin.module()
    with at_loc(Location("kernel.py", 3, 4, 9, "f", Location("main.py", 7))):
        with insert_at(top):
            host, host_body = func.func("host", ())
            _, kernels = gpu.gpu_module()
        with insert_at(kernels):
            kernel, kernel_body = gpu.gpu_func("k", ())
        on_host = name in HOST
        _fill(host, host_body, sample if on_host else None, func.return_)
        _fill(kernel, kernel_body, None if on_host else sample, gpu.return_)
    assert any(op.name == name for op in module.walk()), f"the sample has no {name}"
    return module


def _fill(function: Op, body: Block, sample: Sample | None, return_: Callable[[], object]) -> None:
    with insert_at(body):
        if sample is not None:
            sample(body.add_argument)
        return_()
    inputs = tuple(a.type for a in body.args)
    function.attributes["function_type"] = TypeAttr(FunctionType(inputs, ()))


def _add(name: str, *samples: Sample) -> None:
    SAMPLES.setdefault(name, []).extend(samples)


def _binary(build_: Callable[..., object], name: str, types: Sequence[Type]) -> list[Sample]:
    return [lambda arg, t=t: build_(name, arg(t), arg(t)) for t in types]


def _unary(build_: Callable[..., object], name: str, types: Sequence[Type]) -> list[Sample]:
    return [lambda arg, t=t: build_(name, arg(t)) for t in types]


# builtin, func, gpu

_add("builtin.module", lambda arg: None)
_add("func.func", lambda arg: arg(I32))
_add("func.return", lambda arg: None)
_add("func.call", lambda arg: func.call("host", (), ()))
_add("gpu.module", lambda arg: None)
_add("gpu.func", lambda arg: arg(G16))
_add("gpu.return", lambda arg: None)


def _launch(arg: Arg) -> None:
    one = arith.constant(1, I32)
    gpu.launch_func("k", (one,) * 3, (one,) * 3, ())


def _launch_all(arg: Arg) -> None:
    one = arith.constant(1, I32)
    gpu.launch_func(
        "k", (one,) * 3, (one,) * 3, (), cluster=(one,) * 3, smem=one,
        stream=arg(llvm.LLVMPointerType()),
        attributes={"cute.use_pdl": BoolAttr(True), "cute.cooperative": UNIT},
    )  # fmt: skip


_add("gpu.launch_func", _launch, _launch_all)

# arith, math

_INTS = (I1, I8, I16, I32, I64, INDEX, VectorType(4, I32))
_FLOATS = (F16, BF16, F32, F64, V4)
for _name in arith.INT_BINARY:
    _add(f"arith.{_name}", *_binary(arith.binary, _name, _INTS))
for _name in arith.FLOAT_BINARY:
    _add(f"arith.{_name}", *_binary(arith.binary, _name, _FLOATS))
    _add(f"arith.{_name}", lambda arg, n=_name: arith.binary(n, arg(F32), arg(F32), fast=True))
_add("arith.negf", *[lambda arg, t=t: arith.negf(arg(t)) for t in _FLOATS])
for _name in arith.CMPI:
    _add("arith.cmpi", *_binary(arith.cmpi, _name, _INTS))
for _name in arith.CMPF:
    _add("arith.cmpf", *_binary(arith.cmpf, _name, _FLOATS))
_add(
    "arith.select",
    lambda arg: arith.select(arg(I1), arg(V4), arg(V4)),
    lambda arg: arith.select(arg(VectorType(4, I1)), arg(V4), arg(V4)),
    lambda arg: arith.select(arg(I1), arg(GLOBAL), arg(GLOBAL)),
)
_CONSTANTS: list[tuple[int | float, Type]] = [
    (True, I1), (-1, I8), (2**15, I16), (-(2**31), I32), (2**64 - 1, I64), (7, INDEX),
    (0.1, F16), (-0.0, F32), (1e-45, F32), (1e300, F64), (float("nan"), F32), (float("inf"), BF16),
    (float("-inf"), F64), (0.5, V4), (1, VectorType(4, I1)), (-3, VectorType(1, I32)),
]  # fmt: skip
_add("arith.constant", *[lambda arg, v=v, t=t: arith.constant(v, t) for v, t in _CONSTANTS])
_add("arith.constant", *[lambda arg, t=t: arith.constant(1.5, t) for t in FLOATS.values()])
_CASTS: dict[str, list[tuple[Type, Type]]] = {
    "extsi": [(I8, I32), (I32, I64)], "extui": [(I1, I32)], "trunci": [(I64, I32), (I32, I1)],
    "extf": [(F16, F32), (BF16, F64), (FLOATS["f8E4M3FN"], F16)],
    "truncf": [(F32, F16), (F64, F32), (F32, BF16)],
    "sitofp": [(I32, F32), (I64, F16)], "uitofp": [(I1, F32)],
    "fptosi": [(F32, I32)], "fptoui": [(F16, I8)],
    "bitcast": [(F32, I32), (I16, BF16)], "index_cast": [(I32, INDEX), (INDEX, I64)],
}  # fmt: skip
for _name, _pairs in _CASTS.items():
    for _src, _dst in _pairs:
        _add(
            f"arith.{_name}",
            lambda arg, n=_name, s=_src, d=_dst: arith.cast(n, arg(s), d),
            lambda arg, n=_name, s=_src, d=_dst: arith.cast(n, arg(VectorType(2, s)), d),
        )
for _name in math.UNARY:
    _add(f"math.{_name}", *_unary(math.unary, _name, _FLOATS))
    _add(f"math.{_name}", lambda arg, n=_name: math.unary(n, arg(F32), fast=True))
for _name in math.INT_UNARY:
    _add(f"math.{_name}", *_unary(math.int_unary, _name, (I32, I64, VectorType(4, I32))))
for _name in math.BINARY:
    _add(f"math.{_name}", *_binary(math.binary, _name, _FLOATS))
_add("math.fma", lambda arg: math.fma(arg(F32), arg(F32), arg(F32)))

# scf


def _if(arg: Arg) -> None:
    then, then_body = new_block()
    orelse, else_body = new_block()
    a, b = arg(I32), arg(F32)
    for body in (then_body, else_body):
        with insert_at(body):
            scf.yield_((a, b))
    scf.if_(arg(I1), (I32, F32), then, orelse)


def _if_nothing(arg: Arg) -> None:
    regions = [new_block() for _ in range(2)]
    for _, body in regions:
        with insert_at(body):
            scf.yield_()
    scf.if_(arg(I1), (), regions[0][0], regions[1][0])


def _for(arg: Arg, index: Type = I32) -> None:
    region, body = new_block((index, F32))
    with insert_at(body):
        scf.yield_((arith.binary("addf", body.args[1], body.args[1]),))
    scf.for_(arg(index), arg(index), arg(index), (arg(F32),), region)


def _while(arg: Arg) -> None:
    before, before_body = new_block((I32,))
    after, after_body = new_block((I32, F32))
    x = arg(F32)
    with insert_at(before_body):
        zero = arith.constant(0, I32)
        scf.condition(arith.cmpi("sgt", before_body.args[0], zero), (before_body.args[0], x))
    with insert_at(after_body):
        scf.yield_((after_body.args[0],))
    scf.while_((arg(I32),), (I32, F32), before, after)


_add("scf.if", _if, _if_nothing)
_add("scf.for", _for, lambda arg: _for(arg, INDEX), lambda arg: _for(arg, I64))
_add("scf.while", _while)
_add("scf.yield", _if, _for)
_add("scf.condition", _while)

# vector

_add("vector.broadcast", lambda arg: vector.broadcast(arg(F32), 4))
_add("vector.extract", lambda arg: vector.extract(arg(V8), 7))
_add("vector.insert", lambda arg: vector.insert(arg(F16), arg(V8), 0))
_add("vector.from_elements", lambda arg: vector.from_elements([arg(F32), arg(F32)]))
_add("vector.shuffle", lambda arg: vector.shuffle(arg(V8), arg(V8), (0, 15, -1)))
_add("vector.bitcast", lambda arg: vector.bitcast(arg(V8), VectorType(4, I32)))
for _name in vector.REDUCTIONS:
    _t = VectorType(
        4, F32 if _name in ("add", "mul") or _name[-1] == "f" or "num" in _name else I32
    )
    if "imum" in _name:
        _t = V4
    _add(
        "vector.reduction",
        lambda arg, n=_name, t=_t: vector.reduction(n, arg(t)),
        lambda arg, n=_name, t=_t: vector.reduction(n, arg(t), arg(t.element)),
    )

# cute

_add("cute.ptr_add", lambda arg: cute.ptr_add(arg(G16), arg(I64), 2))
_add("cute.recast", lambda arg: cute.recast(arg(G16), cute.PtrType(I8, "generic", 16)))
_add("cute.ptr_to_int", lambda arg: cute.ptr_to_int(arg(G16)))
_add("cute.int_to_ptr", lambda arg: cute.int_to_ptr(arg(I64), G16))
_add("cute.alloca", lambda arg: cute.alloca(F32, 8))
_add("cute.load", lambda arg: cute.load(arg(G32)), lambda arg: cute.load(arg(PRED)))
_add("cute.store", lambda arg: cute.store(arg(F32), arg(G32)))
_add(
    "cute.tile_load",
    lambda arg: cute.tile_load(arg(G16), LAYOUT, (arg(I64),)),
    lambda arg: cute.tile_load(arg(G16), cute.LayoutAttr((2, (2, 2)), (4, (1, -2)))),
    lambda arg: cute.tile_load(arg(G16), cute.LayoutAttr(8, cute.Dyn()), (arg(I32),)),
)
_add("cute.tile_store", lambda arg: cute.tile_store(arg(V8), arg(G16), LAYOUT, (arg(I64),)))
_add("cute.assume", lambda arg: cute.assume(arg(I32), 8))
_add(
    "cute.convert",
    lambda arg: cute.convert(arg(F32), FLOATS["f8E4M3FN"], saturate=True),
    lambda arg: cute.convert(arg(V4), VectorType(4, FLOATS["tf32"]), "rna"),
    lambda arg: cute.convert(arg(F32), FLOATS["f4E2M1FN"], "rs", saturate=True, random=arg(I32)),
)
_add("cf.assert", lambda arg: cf.assert_(arg(I1), 'n is 100% "right"'))
_add("cute.print", lambda arg: cute.print_('i = %d, "%s"\n\té', (arg(I32),)))


def _copy(arg: Arg) -> None:
    src = cute.Tile(arg(G16), cute.LayoutAttr((8, 4), (1, cute.Dyn(64))), (arg(I64),))
    dst = cute.Tile(arg(G16), cute.LayoutAttr((8, 4), (1, 8)))
    cute.copy("universal_copy", 128, src, dst)
    pred = cute.Tile(arg(PRED), cute.LayoutAttr((4,), (cute.Dyn(),)), (arg(I32),))
    cute.copy("universal_copy", 0, src, dst, pred)


_add("cute.copy", _copy)

# llvm, ptx

_add(
    "llvm.getelementptr",
    lambda arg: llvm.gep(arg(GLOBAL), arg(I64), F32),
    lambda arg: llvm.gep(arg(llvm.LLVMPointerType()), -5, V8),
)
_add(
    "llvm.load",
    lambda arg: llvm.load(arg(GLOBAL), V8, 16, invariant=True),
    lambda arg: llvm.load(arg(GLOBAL), I1, 1),
)
_add("llvm.store", lambda arg: llvm.store(arg(V4), arg(GLOBAL), 16))
_add("llvm.alloca", lambda arg: llvm.alloca(F32, 8, 16))
_add("llvm.addrspacecast", lambda arg: llvm.addrspacecast(arg(GLOBAL), 0))
_add("llvm.ptrtoint", lambda arg: llvm.ptrtoint(arg(GLOBAL)))
_add("llvm.inttoptr", lambda arg: llvm.inttoptr(arg(I64), 1))
_add(
    "llvm.inline_asm",
    lambda arg: llvm.inline_asm(
        "add.u32 $0, $1, $2;", "=r,r,r", (arg(I32), arg(I32)), (I32,), pure=True
    ),
    lambda arg: llvm.inline_asm("bar.sync 0;", "", (), ()),
    lambda arg: llvm.inline_asm("mov.b64 {$0, $1}, $2;", "=r,=r,l", (arg(I64),), (PAIR,)),
)
_add("llvm.extractvalue", lambda arg: llvm.extractvalue(arg(PAIR), 1))
_add("ptx.compute", lambda arg: compute("add.u32", (arg(I32), arg(I32)), I32))
_add(
    "cute.to_llvm", lambda arg: interop.to_llvm(arg(G16)), lambda arg: interop.to_llvm(arg(G16), 0)
)
_add("cute.from_llvm", lambda arg: interop.from_llvm(arg(GLOBAL), G16))
_add(
    "ptx.bar_sync",
    lambda arg: ptx.bar_sync(arg(I32)),
    lambda arg: ptx.bar_sync(arg(I32), arg(I32)),
)
_add("ptx.sreg", *[lambda arg, n=n: ptx.sreg(n) for n in ptx.SREGS])


def _attributes(arg: Arg) -> None:
    """Every kind of attribute, on an operation that does not mind."""
    op = build("ptx.sreg", (), (I32,), {"reg": StringAttr("tid.x")})
    op.results[0].hint = "thread"
    op.attributes |= {
        "test.array": ArrayAttr((IntAttr(1), UNIT, ArrayAttr(()))),
        "test.dict": DictAttr((("a", BoolAttr(False)), ("b c", StringAttr('\\"\n')))),
        "test.i32s": DenseI32Attr((1, -2)),
        "test.i64s": DenseI32Attr((), 64),
        "test.type": TypeAttr(FunctionType((I32, G16), (F32, I64))),
        "test.float": FloatAttr(float("nan"), FLOATS["f8E5M2"]),
        "test quoted": IntAttr(-1, INDEX),
    }


_add("ptx.sreg", _attributes)


# smem, barriers, warps, memory with an order

S32 = cute.PtrType(F32, "smem", 16)
_add("cute.smem_alloc", lambda arg: smem.smem_alloc(1024, 512, 1024))
_add("cute.smem_size", lambda arg: smem.smem_size())
_add("ptx.bar_arrive", lambda arg: ptx.bar_arrive(arg(I32), arg(I32)))
for _name in ptx.BAR_REDUCTIONS:
    _add(
        "ptx.bar_red",
        lambda arg, n=_name: ptx.bar_red(n, arg(I32), None, arg(I1)),
        lambda arg, n=_name: ptx.bar_red(n, arg(I32), arg(I32), arg(I1)),
    )
_add("ptx.bar_warp_sync", lambda arg: ptx.bar_warp_sync(arg(I32)))
_add("ptx.nanosleep", lambda arg: ptx.nanosleep(arg(I32)))
for _sem in ptx.FENCE_SEMS:
    _add("ptx.fence", *[lambda arg, s=s, m=_sem: ptx.fence(m, s) for s in ptx.SCOPES])
for _name in ptx.FENCE_PROXIES:
    _add(
        "ptx.fence_proxy",
        lambda arg, n=_name: ptx.fence_proxy(n, arg(G16) if "acquire" in n else None),
    )
for _name in ptx_warp.SHFL_MODES:
    for _t in (I32, F32):
        _add(
            "ptx.shfl_sync",
            lambda arg, n=_name, t=_t: ptx_warp.shfl_sync(n, arg(I32), arg(t), arg(I32), arg(I32)),
        )
for _name in ptx_warp.VOTE_MODES:
    _add("ptx.vote_sync", lambda arg, n=_name: ptx_warp.vote_sync(n, arg(I32), arg(I1)))
for _name in ptx_warp.MATCH_MODES:
    for _t in (I32, I64):
        _add("ptx.match_sync", lambda arg, n=_name, t=_t: ptx_warp.match_sync(n, arg(I32), arg(t)))
for _name in ptx_warp.REDUX_OPS:
    _t = F32 if _name[0] == "f" else I32
    _add("ptx.redux_sync", lambda arg, n=_name, t=_t: ptx_warp.redux_sync(n, arg(I32), arg(t)))
_add(
    "ptx.redux_sync",
    lambda arg: ptx_warp.redux_sync("max", arg(I32), arg(I32), unsigned=True),
    lambda arg: ptx_warp.redux_sync("fmax", arg(I32), arg(F32), abs=True, nan=True),
)
_add("ptx.activemask", lambda arg: ptx_warp.activemask())
_add("ptx.elect_sync", lambda arg: ptx_warp.elect_sync(arg(I32)))


def _atomics(name: str, type: Type) -> list[Sample]:
    element = type.element if isinstance(type, VectorType) else type
    return [
        lambda arg: ptx_memory.atomic(
            name, arg(cute.PtrType(element, "gmem", 4)), arg(type), "relaxed", "gpu"
        ),
        lambda arg: ptx_memory.red(
            name, arg(cute.PtrType(element, "smem", 4)), arg(type), "release", "cta"
        ),
    ]


for _name, _kinds in ptx_memory.ATOMICS.items():
    for _t in _kinds:
        _atomic, _red = _atomics(_name, _t)
        _add("ptx.atomic", _atomic)
        if _name != "exch":
            _add("ptx.red", _red)
_add(
    "ptx.atomic",
    lambda arg: ptx_memory.atomic(
        "max", arg(cute.PtrType(I64, "generic", 8)), arg(I64), "acq_rel", "sys", unsigned=True
    ),
)
for _t in (I16, I32, I64):
    _add(
        "ptx.cas",
        lambda arg, t=_t: ptx_memory.cas(
            arg(cute.PtrType(t, "gmem", 8)), arg(t), arg(t), "acquire", "cluster"
        ),
    )
_add(
    "ptx.load",
    lambda arg: ptx_memory.load(arg(G16), V8, cache="nc", evict="no_allocate", prefetch=256),
    lambda arg: ptx_memory.load(arg(G32), F32, sem="acquire", scope="sys"),
    lambda arg: ptx_memory.load(arg(S32), F32, sem="volatile"),
    lambda arg: ptx_memory.load(arg(G32), F32, cache="cv"),
)
_add(
    "ptx.store",
    lambda arg: ptx_memory.store(arg(G16), arg(V8), evict="evict_first"),
    lambda arg: ptx_memory.store(arg(G32), arg(F32), sem="release", scope="gpu"),
    lambda arg: ptx_memory.store(arg(G32), arg(F32), cache="cs"),
)
_add(
    "ptx.cp_async",
    lambda arg: ptx_memory.cp_async(arg(S32), arg(G16), 16, cache="cg", prefetch=128),
    lambda arg: ptx_memory.cp_async(arg(S32), arg(G32), 4, src_bytes=arg(I32)),
)
_add(
    "ptx.extern",
    lambda arg: extern.extern("f", ".func (.param .b32 r) f();", [], [F32], pure=True),
    lambda arg: extern.extern("g", ".func g(.param .b64 p);", [arg(G32), arg(I32)], []),
)
_add(
    "ptx.prefetch",
    lambda arg: ptx_memory.prefetch(arg(G16)),
    lambda arg: ptx_memory.prefetch(arg(G32), "L1"),
)
_add("ptx.cp_async_commit", lambda arg: ptx_memory.cp_async_commit())
_add("ptx.cp_async_wait", *[lambda arg, n=n: ptx_memory.cp_async_wait(n) for n in (-1, 0, 3)])

_add("ptx.smem_base", lambda arg: smem.smem_base())
_add("ptx.rcp_approx", lambda arg: ptx_math.rcp_approx(arg(F32)))
_add("ptx.prmt", lambda arg: ptx_math.prmt(arg(I32), arg(I32), arg(I32)))
for _name in ptx_math.ROUNDED:
    for _rnd in ptx_math.ROUNDINGS:
        for _t in (F32, VectorType(2, F32)):
            _add(
                "ptx.rounded",
                lambda arg, n=_name, r=_rnd, t=_t: ptx_math.rounded(
                    n, r, *[arg(t) for _ in range(3 if n == "fma" else 2)], ftz=r == "rz"
                ),
            )


# matrices of a warp

S16 = cute.PtrType(F16, "smem", 16, (3, 4, 3))
for _n in (1, 2, 4):
    for _trans in (False, True):
        _add(
            "ptx.ldmatrix",
            lambda arg, n=_n, t=_trans: ptx_matrix.ldmatrix(arg(S16), n, trans=t),
        )
        _add(
            "ptx.stmatrix",
            lambda arg, n=_n, t=_trans: ptx_matrix.stmatrix(
                arg(S16), arg(VectorType(n, I32)), n, trans=t
            ),
        )


def _mma(name: str) -> Sample:
    types = ptx_matrix.register_types(MMA_ATOMS[name])
    return lambda arg: ptx_matrix.mma(name, *map(arg, types))


def _mma_sparse(name: str) -> Sample:
    atom = SPARSE_MMA_ATOMS[name]
    types = (*ptx_matrix.register_types(atom), I32)
    return lambda arg: ptx_matrix.mma_sparse(name, *map(arg, types), selector=atom.selectors - 1)


_add("ptx.mma", *[_mma(name) for name, r in MMA_ATOMS.items() if r.threads > 1])
_add("ptx.mma_sp", *map(_mma_sparse, SPARSE_MMA_ATOMS))


def _fragment(element: Type, *shape: int) -> cute.Tile:
    layout, size = cute.LayoutAttr(shape, tuple(_strides(shape))), 1
    for n in shape:
        size *= n
    return cute.Tile(cute.alloca(element, size), layout)


def _strides(shape: Sequence[int]) -> list[int]:
    out = [1]
    for n in shape[:-1]:
        out.append(out[-1] * n)
    return out


def _gemm(arg: Callable[[Type], Value]) -> object:
    d, a, b = _fragment(F32, 4, 2, 3), _fragment(F16, 8, 2, 2), _fragment(F16, 4, 3, 2)
    return tiled.gemm("m16n8k16.f32.f16.f16.f32", d, a, b, d)


_add("cute.gemm", _gemm)


for _name, _samples in {**HOPPER, **PRODUCTS, **TMA_SAMPLES}.items():
    _add(_name, *_samples)
