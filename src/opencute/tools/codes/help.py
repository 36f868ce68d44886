# SPDX-FileCopyrightText: 2026 The OpenCuTe authors
# SPDX-License-Identifier: Apache-2.0
"""What `opencute error CODE` says beyond what the places say that raise the error.

`SAID` has sentences for codes whose messages are mostly filled in at run time, `REMEDIES` what to
change where no hint goes with the error, and `BY_BLOCK` what holds for whole blocks of codes::

    remedy_of(catalogue()["OC1234"])    # ["pass a tensor, such as cute.make_tensor(...); ..."]
"""

from __future__ import annotations

from opencute.tools.codes.catalogue import Entry
from opencute.tools.codes.meanings import MEANINGS

__all__ = ["BY_BLOCK", "REMEDIES", "SAID", "meaning_of", "remedy_of"]

SAID: dict[str, str] = {
    "OC1052": "a worker that compiles in parallel reports an error",
    "OC1117": "a list, dict or object differs between the paths of a run-time branch",
    "OC1206": "numbers of this type have no such operator",
    "OC1286": "an operator or a function of numbers gets a tensor",
    "OC1305": "coordinates with bases do not go together",
    "OC1434": "a tile does not fit its tensor map",
    "OC1435": "a copy by tensor maps breaks a rule of the hardware",
    "OC1436": "a bulk copy breaks a rule of the hardware",
    "OC1605": "a number type has no such property",
    "OC1499": "the operands of a copy do not fit its atom",
    "OC2100": "a grid, block or cluster has an extent that is no integer",
    "OC2112": "a block has more threads than a processor or the kernel allows",
    "OC2133": "an argument's shape is not the one that was promised when compiling",
    "OC2134": "an argument's strides are not those that were promised when compiling",
    "OC2138": "an argument has a value that was excluded when compiling",
    "OC2301": "the memory that an array claims to have cannot be touched",
    "OC2303": "a function of a module gets another number of arguments",
    "OC2510": "an array has no elements to reduce, or too many",
    "OC2528": "a scale is neither a number nor an array of the right shape",
    "OC2900": "an environment variable has a value that cannot be read",
    "OC3002": "a grid or block has extents that no processor of this kind launches",
    "OC3006": "a compiled function calls itself",
    "OC3007": "the format of a print does not fit its values",
    "OC3005": "a promise such as cute.assume(x, divby=...) or an alignment is broken",
    "OC3012": "a cluster that this processor does not launch",
    "OC3022": "a cp.async reads more bytes than it writes",
    "OC3029": "a wait for an mbarrier by parity may get another phase than it means",
    "OC3033": "an mbarrier is told to expect a number of bytes that it cannot count",
    "OC3061": "what a copy by tensor maps gets is no tensor map",
    "OC3066": "a bulk copy moves a number of bytes that is no multiple of 16",
    "OC3101": "a thread reads or writes outside of the array that its pointer belongs to",
    "OC3102": "a thread uses an address at which the simulator knows no memory",
    "OC3104": "an operation on memory gets registers",
    "OC3301": "a value that nothing wrote reaches a branch, an address, global memory or a print",
    "OC3401": "two threads use the same bytes, at least one writes, and nothing orders them",
    "OC3402": "bytes are used while an asynchronous copy may still be writing them",
    "OC3403": "bytes are overwritten while an asynchronous copy or product may still read them",
    "OC3404": "an mbarrier is used by a thread that cannot know that it is initialised",
    "OC3406": "TMA or wgmma uses bytes that ordinary stores wrote, with no proxy fence between",
    "OC3409": "a tensor map is used after it was changed, without the fences for that",
    "OC3412": "a tensor map is changed while a copy that was started with it may still read it",
}
"""Meanings of codes whose messages say little without what is filled in."""

REMEDIES: dict[str, str] = {
    "OC1051": "look at what the worker printed; less memory or fewer processes may be the cause",
    "OC1052": "compile this item alone, with cute.compile, to see where it fails",
    "OC1061": "copy the registers to shared or global memory, and take the address there",
    "OC1122": "write it with the constructs that compiled functions have: if, while, for, "
    "functions, comprehensions; or do it outside of the kernel",
    "OC1136": "decorate the function: @cute.jit on what Python calls, @cute.kernel on kernels",
    "OC1141": "end the body with yield_out([...]) of as many values as the loop carries",
    "OC1143": "look at the names that the message offers; dir(module) lists all",
    "OC1195": "yield the same number and types of values in both branches",
    "OC1196": "end the body with yield_out([...]) of as many values as the loop carries",
    "OC1202": "use a numeric class of cutlass: cutlass.Float32, cutlass.Int8, ...",
    "OC1204": "pass a Python number, a cutlass number or an element x[i] of a tensor",
    "OC1206": "convert first: x.to(cutlass.Int32) for % << and &, x.to(cutlass.Float32) for others",
    "OC1207": "convert with x.to(cutlass.Int32), or use an operator that floats have",
    "OC1208": "pass numbers, elements x[i], or the vectors of x.load(), not tensors",
    "OC1210": "pass a pointer: tensor.iterator, or what the allocator gives",
    "OC1211": "add an integer, such as cutlass.Int32(n)",
    "OC1217": "pass what x.load() of a tensor gives, and static positions",
    "OC1218": "give as many values as the object was taken apart into",
    "OC1219": "use numbers of 16, 32 or 64 bits; smaller ones are packed into one of these",
    "OC1220": "make the number of elements fit: the vector's size is the product of its shape",
    "OC1223": "name one of cute.ReductionOp.ADD, MUL, MAX, MIN (or INC, DEC, AND, OR, XOR for "
    "integers), and reduce what x.load() gives",
    "OC1229": "make the atom from a tensor argument of the host function, before the launch",
    "OC1231": "read coordinates with t[i]; memory has to be made with make_tensor(pointer, layout)",
    "OC1233": "pass a pointer first: cute.make_tensor(x.iterator, layout)",
    "OC1234": "pass a tensor: a parameter, or cute.make_tensor(pointer, layout); pointers have "
    "cute.recast_ptr(ptr, dtype=...), layouts cute.recast_layout(new_bits, old_bits, layout)",
    "OC1235": "cute.assume(n, divby=16), with a run-time integer n",
    "OC1237": "make one: cute.make_copy_atom(cute.nvgpu.CopyUniversalOp(), dtype)",
    "OC1239": "make it with cute.make_rmem_tensor(shape, cutlass.Boolean)",
    "OC1248": "take it from the table of policies while tracing, not from a run-time value",
    "OC1249": "pass tensors: the tile in shared memory and the tile of the map's tensor, both "
    "grouped with cute.group_modes(t, 0, n)",
    "OC1250": "give the variable a value of one kind on all paths, or decide with const_expr()",
    "OC1253": "give integers; floats become ones with cutlass.Int32(x)",
    "OC1254": "give integers, Python's or cutlass's; grid=(x, y, z) has at most three",
    "OC1256": "pass what the annotation says, or change the annotation",
    "OC1257": "pass tensors (from_dlpack(x)), numbers, pointers, tuples, dataclasses or objects "
    "with __c_pointers__; what is known at compile time is annotated cutlass.Constexpr",
    "OC1259": "pass an int, or annotate the parameter as what it is",
    "OC1260": "use a type that torch has, or view an array of bytes as the type",
    "OC1266": "return as many pointers as types",
    "OC1269": "write a Python int: the number belongs to the code, not to a call",
    "OC1276": "pass a tensor, not its vector or pointer",
    "OC1279": "pass what make_fragment_A/_B and make_fragment_C give",
    "OC1286": "read elements x[i], or the values of a tile of static shape, x.load(); store what "
    "is computed with y[i] = v, or y.store(v)",
    "OC1289": "index a tensor, or make one: cute.make_tensor(pointer, layout)",
    "OC1290": "convert with x.to(cutlass.Int32)",
    "OC1295": "write a Python int, or a Constexpr",
    "OC1302": "give a divisor that is not 0",
    "OC1327": "make it from Python ints, with make_smem_layout_a/_b or cute.make_layout",
    "OC1337": "pass the tensor itself, without a composition or a swizzle",
    "OC1350": "16, 32, 64, 128, ...",
    "OC1352": "give a profile with a mode (an int keeps, None reduces) for each mode of the shape",
    "OC1353": "extents have to be equal, or 1 where they are repeated",
    "OC1370": "num_bits_per_copy is 8, 16, 32, 64 or 128, and a multiple of the element's bits",
    "OC1374": "pass a tile with its modes: cute.local_tile(...) before partition_A/_B/_C",
    "OC1394": "give the swizzle for byte addresses: a base of at least 1 for elements of 2 bytes, "
    "2 for 4, 3 for 8; TMA and matrix instructions have make_swizzle(1 to 3, 4, 3)",
    "OC1606": "use a numeric class of cutlass",
    "OC1615": "write a positive Python int",
    "OC2020": "name one of rne, rna, rtz, rd, ru",
    "OC2101": "16, 32, 64, ... bytes; the address has to be a multiple of it",
    "OC2111": "give at least 1; an empty problem needs no launch",
    "OC2112": "launch more, smaller blocks",
    "OC2125": "make the cluster smaller; its extents divide those of the grid",
    "OC2130": "look at the signature of the function; Constexpr arguments may be left out of "
    "calls of a compiled function, and no other may be added",
    "OC2131": "an extent or stride that may differ: from_dlpack(x).mark_layout_dynamic() when "
    "compiling; another element type or number of modes: convert or reshape the array, or compile "
    "for it too",
    "OC2132": "keep the compiled function for as long as it is called",
    "OC2133": "pass an array of the shape that was promised, or compile for this one",
    "OC2134": "pass an array with the promised strides (x.contiguous()), or compile for these",
    "OC2135": "pass an array whose address has the promised alignment, or promise less",
    "OC2136": "convert the argument, or compile for its type",
    "OC2137": "leave the argument out: it is the framework's current stream",
    "OC2138": "pass a value within what was promised, or compile for this one",
    "OC2160": "measure at least once; percentiles are numbers from 0 to 100",
    "OC2197": "compile_many([(fn, args), (fn, args, kwargs), ...])",
    "OC2214": "-1 leaves it to the driver; 0 to 100 is a share of the memory of L1",
    "OC2216": "give at most three extents: grid=(x, y, z)",
    "OC2220": "take it from an allocator of shared memory: storage.x.data_ptr() or tensor.iterator",
    "OC2224": "time at least one call",
    "OC2303": "pass one value for each parameter of the function",
    "OC2401": "give the parameter at least one value",
    "OC2402": "name a parameter of the function that is decorated",
    "OC2405": "opencute tune --list shows the operators",
    "OC2406": "opencute tune --list shows the extents and options of each operator",
    "OC2500": "add axes: x[None], x.reshape(1, -1)",
    "OC2502": "pass arrays of equal shapes; the message has both",
    "OC2503": "leave config out, or take one of those that `opencute tune` finds",
    "OC2504": "leave config out, or give a row more threads",
    "OC2505": "pass a vector as long as the last axis of x",
    "OC2509": "axes are numbered from 0; -1 is the last one",
    "OC2512": "name one of those in the message, or pass a function of a vector: activation=fn",
    "OC2514": "pass arrays with two axes, (M, K) and (K, N), or three, with batches first",
    "OC2516": "convert one operand to the type of the other: x.to(y.dtype), x.astype(y.dtype)",
    "OC2517": "convert the matrix to a type of the operands, or to f32, f16 or bf16",
    "OC2518": "pass an array of the shape and type of the result, (M, N) or (L, M, N): leave out "
    "away for a new one; what is added to each row is bias; convert or broadcast c and residual",
    "OC2519": "pass a vector (N,); one number for each row is add_rows of kernels.gemm.visitors",
    "OC2520": "leave config out, or take one of those that `opencute tune` finds",
    "OC2521": "smaller tiles or fewer stages; or leave config out",
    "OC2523": "give it the heads, batches and head extent that q has, as the docstring says",
    "OC2526": "the axes are (B, S, H, D), not (B, H, S, D) as torch's function has them: "
    "x.transpose(1, 2) changes one into the other; heads of other sizes are filled up with zeros",
    "OC2528": "pass a float, or an array of float32 of the shape that the message names",
    "OC2530": "pass a tensor of torch or an array of NumPy, without a wrapper",
    "OC2533": "convert the bias to the operands' type or to f32",
    "OC2542": "pass other memory as out, or leave it out",
    "OC2561": "leave config out, or give tiles that divide a page",
    "OC2562": "one number for each sequence: x.to(torch.int32).contiguous()",
    "OC2590": "pass finite numbers, and a divisor that is not 0",
    "OC2587": "repeat keys and values, so that fewer heads share each of them; their gradients are "
    "sums over the copies",
    "OC2900": "docs/knobs.md lists the variables and their values",
    "OC2901": "docs/knobs.md lists the variables",
    "OC2910": "name an architecture such as sm_90a, sm_100f or sm_80",
    "OC2911": "name an architecture such as sm_90a; opencute doctor lists them",
    "OC2931": "TMA reads tensors whose rows begin at multiples of 16 bytes: pass a contiguous copy "
    "of a view, and make rows of an odd length wider, as in buffer[:, :n]; empty ones have no map",
    "OC2944": "give filter, padding, stride and dilation an integer for each mode of space, such "
    "as (3, 3) for images (N, H, W, C), and cta_tiler (pixels, channels)",
    "OC3001": "run this kernel on a GPU, or avoid the operation; if the documentation says that "
    "the simulator runs it, report it",
    "OC3003": "guard the division with a condition, or divide by something that is never 0",
    "OC3004": "give a step of at least 1; to count down, compute the index from one that rises",
    "OC3005": "promise less (divby, assumed_align), or pass what keeps the promise",
    "OC3006": "write the recursion as a loop",
    "OC3007": "as many {} in the format as there are values",
    "OC3008": "threads have to agree on the extents of a tile: compute them from indices of blocks",
    "OC3009": "count the threads that come: all warps with this barrier_id, each warp once",
    "OC3011": "fewer pipeline stages or a smaller tile",
    "OC3013": "the program says that this cannot happen; look at the values it names",
    "OC3014": "all who meet at a barrier have to give the same number of threads",
    "OC3015": "wait (barrier with the same id) before arriving a second time",
    "OC3016": "use one barrier_id for barriers with a reduction, another for those without",
    "OC3022": "src_size is at most the size of the copy",
    "OC3030": "mbarrier_init counts the arrivals of a phase: threads, or warps if one thread of "
    "each arrives",
    "OC3032": "a thread that arrives twice in a phase runs ahead: it has to wait between its "
    "arrivals (mbarrier_wait, producer_acquire); else correct the count of mbarrier_init",
    "OC3064": "the mask has a bit for each block of the cluster that receives: at least one, and "
    "none beyond its size; make_layout_image_mask or create_tma_multicast_mask make it",
    "OC3065": "reduce numbers of a type for which the hardware has this reduction in memory",
    "OC3101": "compare the coordinate with the extents: guard the access with a condition "
    "(if i < cute.size(x)), a predicate (pred=...), or make the grid and the tile fit",
    "OC3301": "write what the first read reads before it: fill accumulators (fill(0)), copy all of "
    "a tile, wait for the copy; let all lanes of a shuffle's mask come to it",
    "OC3401": "put cute.arch.sync_threads() (or another barrier that both pass) between the "
    "access that comes first and the other; between blocks, an atomic with an order, or a launch",
}
"""What to change, for codes whose errors come without a hint or with one for some cases only."""

_IR = (
    "the text of a module, or operations that a program makes by itself, break a rule that the "
    "message names (docs/reference/ir.md has all operations); from a kernel in the documented "
    "language this is a mistake of OpenCuTe: please report it with the kernel"
)
_TOOLS = (
    "from a kernel in the documented language this is a mistake of OpenCuTe: please report it with "
    "the kernel; OPENCUTE_DUMP_DIR=folder writes every stage, inline assembly is a frequent cause"
)
BY_BLOCK: dict[str, str] = {
    "OC104": _IR,
    "OC105": "cute, lowered, llvm, ptx, cubin and sass are the stages",
    "OC12": "pass what the message asks for: types of lower levels are those of its operations",
    "OC13": "change the layout as the message says; print it with cute.printf or print()",
    "OC14": _IR,
    "OC15": _TOOLS,
    "OC16": "pass what the message asks for",
    "OC20": "pass what the message asks for",
    "OC21": "pass what the message asks for",
    "OC22": "pass what the message asks for",
    "OC23": "pass arrays that live in this process, and names and arguments that the module has",
    "OC24": "give positive numbers",
    "OC29": "the message names what is possible; this is an interface for code that extends "
    "OpenCuTe",
}
"""What to change, for blocks of codes of which no more is known."""


def meaning_of(entry: Entry) -> str:
    """One sentence: what a code means."""
    return SAID.get(entry.code) or MEANINGS.get(entry.code) or entry.messages[0]


def remedy_of(entry: Entry) -> list[str]:
    """What to change, by falling weight; never empty."""
    out = [REMEDIES[entry.code]] if entry.code in REMEDIES else []
    out += [h for h in entry.hints if h.strip("… ")]
    if not out and entry.expected:
        out = ["give " + ", or ".join(entry.expected)]
    if not out:
        block = max((b for b in BY_BLOCK if entry.code.startswith(b)), key=len, default="")
        out = [BY_BLOCK[block]] if block else []
    return out
