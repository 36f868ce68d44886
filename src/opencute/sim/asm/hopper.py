# SPDX-FileCopyrightText: 2026 The OpenCuTe authors
# SPDX-License-Identifier: Apache-2.0
"""PTX instructions on mbarriers and clusters in inline assembly, as operations of `ptx`.

``mbarrier.try_wait.parity.shared::cta.b64 p, [$0], $1;`` becomes `ptx.mbarrier_try_wait`.
"""

from __future__ import annotations

from collections.abc import Callable

from opencute.dialects import arith
from opencute.dialects.cute import PtrType
from opencute.dialects.hopper import cluster, mbarrier
from opencute.ir.core import Value
from opencute.ir.types import F32, F64, I32, I64, IntegerType, Type, VectorType
from opencute.sim.asm.effects import EFFECTS, Effect, pointer, unknown
from opencute.sim.asm.registers import Registers, from_bits
from opencute.sim.asm.syntax import AsmError, Instruction, Operand, Register, type_width

__all__ = ["EFFECTS", "HOPPER"]

HOPPER: dict[tuple[str, ...], Effect] = {}
"""Effects by the first words of an instruction; longer ones count before shorter ones."""


def _on(*names: str) -> Callable[[Effect], Effect]:
    def decorate(fn: Effect) -> Effect:
        for name in names:
            HOPPER[tuple(name.split("."))] = fn
        return fn

    return decorate


def _space(i: Instruction) -> str:
    return "dsmem" if "shared::cluster" in i.parts else "smem"


def _bar(registers: Registers, i: Instruction, operand: Operand) -> Value:
    return pointer(registers, operand, I64, _space(i), 8)


def _sem(i: Instruction, words: tuple[str, ...]) -> dict[str, str]:
    """Order and scope, as far as they are named."""
    sem = next((w for w in i.parts if w in words and w), "")
    scope = next((w for w in i.parts if w in ("cta", "cluster")), "")
    return {"sem": sem or (words[1] if scope else ""), "scope": scope}


@_on("mbarrier.init")
def _init(registers: Registers, i: Instruction) -> None:
    count = registers.read(i.operands[1], "b32")
    mbarrier.mbarrier_init(_bar(registers, i, i.operands[0]), count)


@_on("mbarrier.inval")
def _inval(registers: Registers, i: Instruction) -> None:
    mbarrier.mbarrier_inval(_bar(registers, i, i.operands[0]))


@_on("mbarrier.arrive", "mbarrier.arrive_drop")
def _arrive(registers: Registers, i: Instruction) -> None:
    if "noComplete" in i.parts:
        raise unknown(i)
    target, place, *rest = i.operands
    kind = i.parts[1] + ("_expect_tx" if "expect_tx" in i.parts else "")
    value = registers.read(rest[0], "b32") if rest else arith.constant(1, I32)
    order = _sem(i, mbarrier.ARRIVE_SEMS)
    sem, scope = order["sem"], order["scope"]
    bar = _bar(registers, i, place)
    if isinstance(target, Register) and target.name == "_":
        mbarrier.mbarrier_arrive(kind, bar, value, sem=sem, scope=scope)
    else:
        registers.write(
            target, mbarrier.mbarrier_arrive_token(kind, bar, value, sem=sem, scope=scope)
        )


@_on("mbarrier.pending_count")
def _pending_count(registers: Registers, i: Instruction) -> None:
    token = registers.read(i.operands[1], "b64")
    registers.write(i.operands[0], mbarrier.mbarrier_pending_count(token))


@_on("mbarrier.expect_tx", "mbarrier.complete_tx")
def _tx(registers: Registers, i: Instruction) -> None:
    count = registers.read(i.operands[1], "b32")
    mbarrier.mbarrier_tx(i.parts[1], _bar(registers, i, i.operands[0]), count)


@_on("mbarrier.test_wait", "mbarrier.try_wait")
def _test_wait(registers: Registers, i: Instruction) -> None:
    target, place, phase, *time = i.operands
    value = registers.read(phase, "b32" if "parity" in i.parts else "b64")
    bar, order = _bar(registers, i, place), _sem(i, mbarrier.WAIT_SEMS)
    if i.parts[1] == "test_wait":
        registers.write(target, mbarrier.mbarrier_test_wait(bar, value, **order))
        return
    limit = registers.read(time[0], "b32") if time else None
    registers.write(target, mbarrier.mbarrier_try_wait(bar, value, limit, **order))


@_on("fence.mbarrier_init")
def _fence(registers: Registers, i: Instruction) -> None:
    mbarrier.fence_mbarrier_init()


@_on("cp.async.mbarrier.arrive")
def _cp_async(registers: Registers, i: Instruction) -> None:
    place = _bar(registers, i, i.operands[0])
    cluster.cp_async_mbarrier_arrive(place, noinc="noinc" in i.parts)


# ---------------------------------------------------------------------- clusters
@_on("mapa")
def _mapa(registers: Registers, i: Instruction) -> None:
    from opencute.dialects import cute

    if "shared::cluster" not in i.parts or i.parts[-1] not in ("u32", "u64"):
        raise unknown(i)
    target, source, rank = i.operands
    address = registers.read(source, i.parts[-1])
    if i.parts[-1] == "u32":
        address = arith.cast("extui", address, I64)
    own = cute.int_to_ptr(address, PtrType(IntegerType(8), "smem", 1))
    far = cute.ptr_to_int(cluster.mapa(own, registers.read(rank, "b32")))
    registers.write(target, arith.cast("trunci", far, I32) if i.parts[-1] == "u32" else far)


@_on("barrier.cluster.arrive")
def _cluster_arrive(registers: Registers, i: Instruction) -> None:
    cluster.cluster_arrive("relaxed" if "relaxed" in i.parts else "release")


@_on("barrier.cluster.wait")
def _cluster_wait(registers: Registers, i: Instruction) -> None:
    cluster.cluster_wait()


_FLOATS: dict[str, Type] = {"f32": F32, "f64": F64}


def _far(registers: Registers, i: Instruction, operand: Operand, type: Type, size: int) -> Value:
    return pointer(registers, operand, type, "dsmem", size)


@_on("st.async")
def _st_async(registers: Registers, i: Instruction) -> None:
    word, width = i.parts[-1], type_width(i.parts[-1])
    if width not in (32, 64) or len(i.operands) != 3:
        raise unknown(i)
    element = _FLOATS.get(word, IntegerType(width))
    count = next((int(w[1]) for w in i.parts if w in ("v2", "v4")), 1)
    items = registers.items(i.operands[1], count, i.text)
    parts = [from_bits(registers.read(x, word), element) for x in items]
    value: Value = parts[0]
    if count > 1:
        from opencute.dialects import vector

        value = vector.from_elements(parts)
        assert isinstance(value.type, VectorType)
    place = _far(registers, i, i.operands[0], element, width // 8 * count)
    cluster.st_async(place, value, _far(registers, i, i.operands[2], I64, 8))


@_on("red.async")
def _red_async(registers: Registers, i: Instruction) -> None:
    op, word = i.parts[-2:]
    width = type_width(word)
    if width not in (32, 64) or op not in cluster.RED_ASYNC or len(i.operands) != 3:
        raise unknown(i)
    element = IntegerType(width)
    place = _far(registers, i, i.operands[0], element, width // 8)
    value, bar = registers.read(i.operands[1], word), _far(registers, i, i.operands[2], I64, 8)
    unsigned = word[0] == "u" and op in ("min", "max")
    cluster.red_async(op, place, value, bar, unsigned=unsigned)


# ---------------------------------------------------------------------- registers and launches
@_on("griddepcontrol")
def _griddepcontrol(registers: Registers, i: Instruction) -> None:
    if i.parts[-1] not in cluster.GRIDDEP:
        raise unknown(i)
    cluster.griddepcontrol(i.parts[-1])


@_on("setmaxnreg")
def _setmaxnreg(registers: Registers, i: Instruction) -> None:
    count = getattr(i.operands[0], "value", None)
    if i.parts[1] not in cluster.SETMAXNREG or not isinstance(count, int):
        raise AsmError("the number of registers is a constant")
    cluster.setmaxnreg(i.parts[1], count)


# ---------------------------------------------------------------------- the whole
def _dispatch(registers: Registers, i: Instruction) -> None:
    for length in range(min(len(i.parts), 4), 0, -1):
        effect = HOPPER.get(tuple(i.parts[:length]))
        if effect is not None:
            effect(registers, i)
            return
    other = _OTHERS.get(i.parts[0])
    if other is None:
        raise unknown(i)
    other(registers, i)


_OTHERS = {name: EFFECTS[name] for name in {words[0] for words in HOPPER} if name in EFFECTS}
EFFECTS.update(dict.fromkeys({words[0] for words in HOPPER}, _dispatch))
