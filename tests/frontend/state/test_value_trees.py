# SPDX-FileCopyrightText: 2026 The OpenCuTe authors
# SPDX-License-Identifier: Apache-2.0
"""Objects that say what they consist of by dicts and lists, carried through loops and branches."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import opencute as cutlass
from opencute import cute
from opencute.base.errors import OpenCuTeError
from opencute.cute.runtime import from_dlpack
from opencute.frontend.state.value_trees import difference, form, leaves, shaped

pytestmark = pytest.mark.t0


class Pair:
    def __init__(self, x: Any, y: Any) -> None:
        self.x, self.y = x, y

    def __extract_mlir_values__(self) -> dict[str, Any]:
        return {"x": self.x.ir_value(), "y": self.y.ir_value()}

    def __new_from_mlir_values__(self, values: dict[str, Any]) -> Pair:
        return Pair(cutlass.Float32(values["x"]), cutlass.Float32(values["y"]))


class System:
    def __init__(self, parts: list[Pair], count: Any) -> None:
        self.parts, self.count = parts, count

    def __extract_mlir_values__(self) -> dict[str, Any]:
        return {
            "parts": [
                cutlass.extract_mlir_values(p, structured=True) for p in self.parts
            ],
            "count": self.count.ir_value(),
        }  # fmt: skip

    def __new_from_mlir_values__(self, values: dict[str, Any]) -> System:
        parts = [
            cutlass.new_from_mlir_values(p, v, structured=True)
            for p, v in zip(self.parts, values["parts"], strict=True)
        ]
        return System(parts, cutlass.Int32(values["count"]))

    def step(self) -> System:
        return System([Pair(p.x + 1.0, p.y * 2.0) for p in self.parts], self.count + 1)


@cute.kernel
def kernel(out: cute.Tensor, n: cutlass.Int32, grows: cutlass.Constexpr[bool]):
    system = System([Pair(out[i], out[i] + 1.0) for i in range(2)], cutlass.Int32(0))
    for _ in cutlass.range(n):
        system = system.step()
        if cutlass.const_expr(grows):
            system = System([*system.parts, system.parts[0]], system.count)
    if system.count > 2:
        system = system.step()
    for i in cutlass.range_constexpr(2):
        out[2 + i] = system.parts[i].x
        out[4 + i] = system.parts[i].y
    out[6] = cutlass.Float32(system.count)


@cute.jit
def host(out: cute.Tensor, n: cutlass.Int32, grows: cutlass.Constexpr[bool]):
    kernel(out, n, grows).launch(grid=1, block=1)


@pytest.mark.parametrize("n", [0, 2, 3])
def test_a_tree_goes_through_loops_and_branches(n: int) -> None:
    out = np.array([1, 5, 0, 0, 0, 0, 0], np.float32)
    host(from_dlpack(out), n, False)
    steps = n + (n > 2)
    want = [1, 5, 1 + steps, 5 + steps, 2 * 2**steps, 6 * 2**steps, steps]
    np.testing.assert_array_equal(out, want)


def test_a_tree_that_grows_is_refused() -> None:
    with pytest.raises(OpenCuTeError) as e:
        host(from_dlpack(np.zeros(7, np.float32)), 2, True)
    assert e.value.code == "OC1250" and e.value.expected == "System: no parts[2]"
    assert e.value.found == "System: parts[2] is of 2 parts"


def test_trees_of_values() -> None:
    class Leaf:
        def __init__(self, value: Any) -> None:
            self.value = value

        def ir_value(self) -> Any:
            return self.value

    class Typed:
        type = "t"

    a, b, c = Typed(), Typed(), Typed()
    tree: Any = {"p": [Leaf(a), None], "q": (Leaf(b), {"r": Leaf(c)})}
    assert list(leaves(tree)) == [a, b, c]
    assert form(tree) == form({"p": [Leaf(b), None], "q": (Leaf(b), {"r": Leaf(a)})})
    assert form(tree) != form({"p": [Leaf(a)], "q": (Leaf(b), {"r": Leaf(c)})})
    other = {"p": [Leaf(a), None], "q": (Leaf(b), {"r": None})}
    assert difference(tree, other) == ("q[1].r is t", "q[1].r is None")
    assert difference(Leaf(a), [Leaf(a)]) == ("it is t", "it is of 1 parts")
    assert shaped(tree, iter("xyz")) == {"p": ["x", None], "q": ("y", {"r": "z"})}
