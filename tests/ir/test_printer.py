# SPDX-FileCopyrightText: 2026 The OpenCuTe authors
# SPDX-License-Identifier: Apache-2.0
"""Names, locations, blocks and the pretty form."""

from __future__ import annotations

import pytest

from opencute.base.location import Location
from opencute.dialects import arith, builtin, cute, func, gpu, scf
from opencute.ir.builder import at_loc, insert_at, new_block
from opencute.ir.core import Block, Op, Region
from opencute.ir.printer import location_text, print_op
from opencute.ir.types import F32, I1, I32

pytestmark = pytest.mark.t0


def kernel(count: int = 1) -> Op:
    module, top = builtin.module()
    with insert_at(top):
        _, kernels = gpu.gpu_module()
    with insert_at(kernels):
        _, body = gpu.gpu_func("k", (I32,))
    x = body.args[0]
    with insert_at(body), at_loc(Location("k.py", 1, 2, 5, "k")):
        for _ in range(count):
            x = arith.binary("addi", x, body.args[0])
        gpu.return_()
    return module


def test_generic_form():
    assert print_op(kernel(), locations=True) == (
        '"builtin.module"() ({\n'
        '  "gpu.module"() ({\n'
        '    "gpu.func"() ({\n'
        "    ^bb0(%0: i32):\n"
        '      %1 = "arith.addi"(%0, %0) : (i32, i32) -> i32 loc("k"("k.py":1:3 to :6))\n'
        '      "gpu.return"() : () -> () loc("k"("k.py":1:3 to :6))\n'
        '    }) {sym_name = "k", function_type = (i32) -> (), gpu.kernel} : () -> () loc(unknown)\n'
        '  }) {sym_name = "kernels"} : () -> () loc(unknown)\n'
        "}) {gpu.container_module} : () -> () loc(unknown)\n"
    )


def test_str_of_an_operation_is_its_text():
    module = kernel()
    assert str(module) == print_op(module)


def test_hints_name_values_and_stay_unique():
    block = Block((I32, I32, I32, I32))
    for arg, hint in zip(block.args, ("x", "x", "not a name", "x_0"), strict=True):
        arg.hint = hint
    op = Op("test.op", (), (), None, [Region([block])])
    assert "^bb0(%x: i32, %x_0: i32, %0: i32, %x_0_0: i32):" in print_op(op)


def test_names_start_anew_in_each_function():
    module, top = builtin.module()
    with insert_at(top):
        for name in ("f", "g"):
            _, body = func.func(name, (I32,))
            with insert_at(body):
                func.return_()
    assert print_op(module).count("^bb0(%0: i32):") == 2


def test_blocks_are_labelled_where_needed():
    empty = Op("test.op", (), (), None, [Region([Block()]), Region(), Region([Block(), Block()])])
    assert print_op(empty) == ('"test.op"() ({\n^bb0:\n}, {\n}, {\n^bb0:\n^bb1:\n}) : () -> ()\n')


def test_several_results_are_listed():
    op = Op("test.op", (), (I32, F32))
    assert print_op(op) == '%0, %1 = "test.op"() : () -> (i32, f32)\n'


def test_locations_of_inlined_helpers():
    chain = Location("a.py", 2, 0, function="f", caller=Location('b"c.py', 7, 4, 9))
    assert location_text(chain) == 'callsite("f"("a.py":2:1) at "b\\"c.py":7:5 to :10)'
    for _ in range(2000):
        chain = Location("a.py", 1, caller=chain)
    assert location_text(chain).endswith(")" * 2001)
    assert location_text(None) == "unknown"


def test_pretty_form_is_short():
    module, top = builtin.module()
    with insert_at(top):
        _, body = func.func("f", (I1, cute.PtrType(F32)))
        body.args[0].hint = "c"
    with insert_at(body):
        regions = [new_block() for _ in range(2)]
        for _, inner in regions:
            with insert_at(inner):
                scf.yield_()
        scf.if_(body.args[0], (), regions[0][0], regions[1][0])
        cute.store(arith.constant(1.0, F32), body.args[1])
        func.return_()
    assert print_op(module, pretty=True) == (
        "builtin.module {gpu.container_module} {\n"
        "  func.func @f {\n"
        "  ^(%c: i1, %0: !cute.ptr<f32, gmem, align<1>>):\n"
        "    scf.if %c {\n"
        "      scf.yield\n"
        "    }, {\n"
        "      scf.yield\n"
        "    }\n"
        "    %1 = arith.constant {value = 1.0 : f32} : f32\n"
        "    cute.store %1, %0\n"
        "    func.return\n"
        "  }\n"
        "}\n"
    )
