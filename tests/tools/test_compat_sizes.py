# SPDX-FileCopyrightText: 2026 The OpenCuTe authors
# SPDX-License-Identifier: Apache-2.0
"""Published tests whose sizes are written in them, with smaller ones."""

from __future__ import annotations

from pathlib import Path

import pytest

from opencute.tools import compat
from opencute.tools.compat_sizes import smaller

pytestmark = pytest.mark.t0

FILE = """
import pytest

def run(mnkl, tile_shape_mn, cluster_shape_mn, scale=1.0):
    assert scale == 2.0 and mnkl in ((128, 128, 512, 3), (128, 64, 512, 3))

@pytest.mark.parametrize("tile, cluster", [((128, 64), (1, 2)), ((64, 64), (2, 1))])
def test_products(tile, cluster):
    run(mnkl=(2048, 1024, 4096, 3), tile_shape_mn=tile, cluster_shape_mn=cluster, scale=2.0)
"""


def test_one_cluster_is_left_of_a_product() -> None:
    found = smaller(lambda **options: options)(
        mnkl=(2048, 96, 300, 3), tile_shape_mn=(64, 128), cluster_shape_mn=(2, 1), scale=2.0
    )
    assert found["mnkl"] == (128, 96, 300, 3) and found["scale"] == 2.0


def test_tests_that_were_collected_run_with_it(tmp_path: Path) -> None:
    (tmp_path / "test_products.py").write_text(FILE, encoding="utf-8")
    (tmp_path / "test_others.py").write_text("def test_it(): pass\n", encoding="utf-8")
    small = ("-p", "opencute.tools.compat_sizes")
    for name, arguments, result in (
        ("products", small, "works"), ("products", (), "fails"), ("others", small, "works"),
    ):  # fmt: skip
        example = compat.Example(f"test_{name}.py", arguments)
        assert compat.run_example(tmp_path, example, 60.0).result == result
