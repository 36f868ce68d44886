# SPDX-FileCopyrightText: 2026 The OpenCuTe authors
# SPDX-License-Identifier: Apache-2.0
"""Rules of `tiles` for operations on mbarriers.

Before::

    "ptx.mbarrier_wait"(%p, %parity) {scope = "", sem = ""}
        : (!cute.ptr<i64, smem, align<8>>, i32) -> ()

After: one piece of assembly with the loop in it, whose label is local::

    { .reg .pred p; W: mbarrier.try_wait.parity.shared::cta.b64 p, [$0], $1; @!p bra W; }

Arriving at another block's barrier names no order unless asked to: release at cluster scope costs a
fence of the whole device for each arrival.
"""

from __future__ import annotations

from opencute.dialects import llvm
from opencute.dialects.cute import PtrType
from opencute.ir.attributes import IntAttr, StringAttr
from opencute.ir.core import Op, Value
from opencute.ir.rewrite import Replacement, Rewriter, Rule
from opencute.ir.types import I1, I32, I64

__all__ = ["mbarrier_rules", "shared_address"]

_MEMORY = ",~{memory}"


def mbarrier_rules() -> dict[str, Rule]:
    """The rules, by the operation's name."""
    return {
        "ptx.mbarrier_init": _init,
        "ptx.mbarrier_inval": _inval,
        "ptx.fence_mbarrier_init": _fence,
        "ptx.mbarrier_arrive": _arrive,
        "ptx.mbarrier_arrive_token": _arrive_token,
        "ptx.mbarrier_pending_count": _pending_count,
        "ptx.mbarrier_tx": _tx,
        "ptx.mbarrier_test_wait": _test_wait,
        "ptx.mbarrier_try_wait": _test_wait,
        "ptx.mbarrier_wait": _wait,
    }


def _word(op: Op, key: str) -> str:
    attr = op.attributes[key]
    assert isinstance(attr, StringAttr)
    return attr.value


def _dots(*words: str) -> str:
    return "".join(f".{w}" for w in words if w)


def shared_address(ptr: Value, rw: Rewriter, index: int) -> tuple[Value, str]:
    """Operand `index` of the operation as a 32-bit address, and its state space in PTX."""
    type = rw.source_type(index)
    assert isinstance(type, PtrType)
    return llvm.ptrtoint(ptr, I32), "shared::cluster" if type.space == "dsmem" else "shared::cta"


def _constant(value: Value) -> int | None:
    attr = value.op.attributes.get("value") if value.op is not None else None
    return attr.value if isinstance(attr, IntAttr) else None


def _guarded(text: str, values: list[Value], pred: Value | None) -> None:
    """One instruction without results, under a predicate if there is one."""
    letters = ["r"] * len(values)
    if pred is not None and pred.type == I1:
        n = len(values)
        text = f"{{\n.reg .pred q;\nsetp.ne.b32 q, ${n}, 0;\n@q {text}\n}}"
        values, letters = [*values, pred], [*letters, "r"]
    llvm.inline_asm(text, ",".join(letters) + _MEMORY, values, ())


def _split(op: Op, count: int) -> tuple[list[Value], Value | None]:
    """The operands, and the predicate if there is one more."""
    values = list(op.operands)
    return (values, None) if len(values) == count else (values[:count], values[count])


def _init(op: Op, rw: Rewriter) -> Replacement:
    (ptr, count), pred = _split(op, 2)
    address, space = shared_address(ptr, rw, 0)
    _guarded(f"mbarrier.init.{space}.b64 [$0], $1;", [address, count], pred)
    return ()


def _fence(op: Op, rw: Rewriter) -> Replacement:
    llvm.inline_asm("fence.mbarrier_init.release.cluster;", "~{memory}", (), ())
    return ()


def _inval(op: Op, rw: Rewriter) -> Replacement:
    address, space = shared_address(op.operands[0], rw, 0)
    _guarded(f"mbarrier.inval.{space}.b64 [$0];", [address], None)
    return ()


def _arrival(op: Op, space: str, value: Value) -> tuple[str, bool]:
    """The instruction up to its operands, and whether it names a value."""
    kind = _word(op, "kind")
    stem = "arrive_drop" if "drop" in kind else "arrive"
    expects = kind.endswith("expect_tx")
    tx = ".expect_tx" if expects else ""
    order = _dots(_word(op, "sem"), _word(op, "scope") or ("cta" if _word(op, "sem") else ""))
    return f"mbarrier.{stem}{tx}{order}.{space}.b64", expects or _constant(value) != 1


def _arrive(op: Op, rw: Rewriter) -> Replacement:
    (ptr, value), pred = _split(op, 2)
    address, space = shared_address(ptr, rw, 0)
    stem, named = _arrival(op, space, value)
    tail, values = (", $1", [address, value]) if named else ("", [address])
    _guarded(f"{stem} _, [$0]{tail};", values, pred)
    return ()


def _arrive_token(op: Op, rw: Rewriter) -> Replacement:
    ptr, value = op.operands
    address, space = shared_address(ptr, rw, 0)
    stem, named = _arrival(op, space, value)
    tail, values = (", $2", [address, value]) if named else ("", [address])
    letters = "=l,r" + ",r" * (len(values) - 1)
    return llvm.inline_asm(f"{stem} $0, [$1]{tail};", letters + _MEMORY, values, (I64,)).result


def _pending_count(op: Op, rw: Rewriter) -> Replacement:
    text = "mbarrier.pending_count.b64 $0, $1;"
    return llvm.inline_asm(text, "=r,l", op.operands, (I32,), pure=True).result


def _tx(op: Op, rw: Rewriter) -> Replacement:
    (ptr, count), pred = _split(op, 2)
    address, space = shared_address(ptr, rw, 0)
    scope = "cluster" if space == "shared::cluster" else "cta"
    kind = _word(op, "kind")
    text = f"mbarrier.{kind}.relaxed.{scope}.{space}.b64 [$0], $1;"
    _guarded(text, [address, count], pred)
    return ()


def _waiting(op: Op, verb: str) -> str:
    parity = ".parity" if op.operands[1].type == I32 else ""
    order = _dots(_word(op, "sem"), _word(op, "scope") or ("cta" if _word(op, "sem") else ""))
    return f"mbarrier.{verb}{parity}{order}.shared::cta.b64"


def _test_wait(op: Op, rw: Rewriter) -> Replacement:
    ptr, phase, *time = op.operands
    address, _ = shared_address(ptr, rw, 0)
    verb = "try_wait" if op.name == "ptx.mbarrier_try_wait" else "test_wait"
    limit = ", $3" if time else ""
    text = f"{{\n.reg .pred p;\n{_waiting(op, verb)} p, [$1], $2{limit};\nselp.b32 $0, 1, 0, p;\n}}"
    letters = f"=r,r,{'r' if phase.type == I32 else 'l'}{',r' * len(time)}{_MEMORY}"
    return llvm.inline_asm(text, letters, (address, phase, *time), (I1,)).result


def _wait(op: Op, rw: Rewriter) -> Replacement:
    ptr, phase = op.operands
    address, _ = shared_address(ptr, rw, 0)
    text = f"{{\n.reg .pred p;\nW:\n{_waiting(op, 'try_wait')} p, [$0], $1;\n@!p bra W;\n}}"
    letter = "r" if phase.type == I32 else "l"
    llvm.inline_asm(text, f"r,{letter}{_MEMORY}", (address, phase), ())
    return ()
