# SPDX-FileCopyrightText: 2026 The OpenCuTe authors
# SPDX-License-Identifier: Apache-2.0
"""Splits that their own blocks put together: numbers, calls again and side by side, planted faults,
code.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from types import ModuleType
from typing import Any

import ml_dtypes
import numpy as np
import pytest

import opencute as cutlass
from opencute import cute
from opencute.base.errors import ArgumentError, OpenCuTeError
from opencute.base.knobs import KNOBS
from opencute.cute.runtime import from_dlpack
from opencute.kernels.decode import DecodeConfig, decode_attention, interface, sm90
from opencute.kernels.decode.merge import splits_ahead
from opencute.kernels.decode.parts import DecodePlan
from opencute.kernels.decode.reference import decode_attention as reference

t0, t1, t2 = pytest.mark.t0, pytest.mark.t1, pytest.mark.t2

SMALL = DecodeConfig(1, 2, 16, 3, 2)


def operands(b: int, sq: int, h: int, hk: int, d: int, keys: int, seed: int = 0) -> list[Any]:
    rng = np.random.default_rng(seed)
    shapes = ((b, sq, h, d), (b, keys, hk, d), (b, keys, hk, d))
    return [rng.standard_normal(s, np.float32).astype(np.float16) for s in shapes]


def check(got: Any, q: Any, k: Any, v: Any, lengths: Any, causal: bool = True) -> None:
    out, logs = got
    want, want_logs = reference(q, k, v, lengths, q.shape[-1] ** -0.5, causal=causal)
    np.testing.assert_allclose(out.astype(np.float64), want, rtol=2e-3, atol=1e-3)
    np.testing.assert_allclose(logs, want_logs, rtol=1e-5, atol=1e-5)


FLAGS, CLUSTER = replace(SMALL, merge="flags"), replace(SMALL, merge="cluster")
CASES = [
    # b, sq, h, hk, d, lengths, config
    (2, 2, 4, 2, 64, (61, 0), FLAGS),  # a sequence without keys
    (2, 2, 4, 2, 64, (61, 0), CLUSTER),
    (1, 5, 8, 1, 96, (33,), replace(CLUSTER, warps=2)),  # two blocks of rows, the last one cut
    (4, 1, 4, 4, 64, (37, 0, 20, 33), replace(CLUSTER, beyond=4)),  # heads of a cluster
    (2, 1, 8, 2, 64, (37, 64), replace(CLUSTER, beyond=4, once=True)),  # heads, and sequences
    (2, 1, 3, 3, 64, (37, 64), replace(CLUSTER, beyond=4)),  # sequences
    (1, 1, 3, 1, 64, (70,), replace(FLAGS, splits=4, promote=256)),
    (1, 1, 2, 1, 64, (20,), replace(CLUSTER, splits=16, groups=1)),  # splits without keys
]


@t0
@pytest.mark.parametrize(("b", "sq", "h", "hk", "d", "lengths", "config"), CASES)
def test_simulated(
    b: int, sq: int, h: int, hk: int, d: int, lengths: Any, config: DecodeConfig
) -> None:
    arrays, lengths = operands(b, sq, h, hk, d, max(lengths)), np.array(lengths, np.int32)
    with KNOBS.override(target="sim:sm_90a", sim_check=True):
        got = decode_attention(*arrays, lengths, return_lse=True, config=config)
    check(got, *arrays, lengths)


@t0
@pytest.mark.parametrize("merge", ["flags", "cluster"])
def test_eight_bits_with_scales(merge: str) -> None:
    q, k, v = operands(1, 1, 4, 1, 64, 70)
    narrow = [x.astype(ml_dtypes.float8_e4m3fn) for x in (k, v)]
    config = replace(SMALL, n=32, merge=merge)
    with KNOBS.override(target="sim:sm_90a", sim_check=True):
        out = decode_attention(q, *narrow, k_scale=0.5, v_scale=3.0, config=config)
    wide = [x.astype(np.float32) for x in narrow]
    want, _ = reference(q, 0.5 * wide[0], 3.0 * wide[1], None, 64**-0.5)
    np.testing.assert_allclose(out.astype(np.float64), want, rtol=4e-3, atol=4e-3)


@t0
@pytest.mark.parametrize("config", [FLAGS, CLUSTER], ids=["flags", "cluster"])
def test_any_order_of_blocks_gives_the_same_bits(config: DecodeConfig) -> None:
    arrays = operands(1, 1, 4, 1, 64, 70)
    results = []
    for seed in (1, 2):
        with KNOBS.override(target="sim:sm_90a", sim_check=True, sim_seed=seed):
            results.append(decode_attention(*arrays, config=replace(config, splits=4)))
    np.testing.assert_array_equal(*results)


def plan_of(config: DecodeConfig, **more: Any) -> DecodePlan:
    own = config.splits if config.merge == "cluster" else 1
    given: dict[str, Any] = {"dtype": cutlass.Float16, "head_dim": 64, "queries": 1, "group": 4}
    return DecodePlan(
        config=replace(config, splits=own), causal=True, page=None,
        slots=splits_ahead(config.splits), **(given | more),
    )  # fmt: skip


@t0
def test_a_call_may_be_made_again_with_its_flags_and_number() -> None:
    """As a CUDA graph does: whoever has waited takes flags down."""
    config = replace(SMALL, splits=3, merge="flags")
    flags = np.full((1, 1, 3), 6)
    parts, logs = np.zeros((3, 1, 1, 4, 64), np.float32), np.zeros((3, 1, 4, 1), np.float32)
    for turn in range(3):
        q, k, v = operands(1, 1, 4, 1, 64, 100, turn)
        out, lse = np.zeros_like(q), np.zeros((1, 4, 1), np.float32)
        given = [from_dlpack(x).mark_layout_dynamic(leading_dim=3) for x in (q, k, v, out)]
        with KNOBS.override(target="sim:sm_90a", sim_check=True):
            sm90.decode_forward(
                *given, lse, None, None, parts, logs, 64**-0.5 * np.log2(np.e), plan_of(config),
                1.0, None, None, flags, cutlass.Int64(7),
            )  # fmt: skip
        check((out, lse), q, k, v, None)
        assert flags.ravel().tolist() == [0, 0, 6]


@t0
def test_calls_have_flags_and_numbers_of_their_own(monkeypatch: pytest.MonkeyPatch) -> None:
    """So those that run side by side on several streams share none."""
    made: list[Any] = []
    tags: list[int] = []
    empty, number = interface.empty, interface.call_tag
    monkeypatch.setattr(
        interface, "empty", lambda *a: made.append(empty(*a)) or made[-1],
    )  # fmt: skip
    monkeypatch.setattr(interface, "call_tag", lambda: tags.append(number()) or tags[-1])
    arrays = operands(1, 1, 4, 1, 64, 40)
    with KNOBS.override(target="sim:sm_90a"):
        for _ in range(3):
            decode_attention(*arrays, config=replace(SMALL, merge="flags"))
    flags = [x for x in made if x.dtype == np.int64]
    assert len(flags) == 3
    assert len({x.ctypes.data for x in flags}) == 3
    assert len({int(t.value) for t in tags}) == 3


@t0
def test_wrong_choices() -> None:
    q, k, v = operands(1, 1, 4, 1, 64, 40)
    for wrong in (
        {"merge": "cluster", "splits": 3}, {"merge": "cluster", "splits": 32}, {"merge": "tree"},
        {"promote": 32},
    ):  # fmt: skip
        with pytest.raises(ArgumentError, match="OC2560"):
            decode_attention(q, k, v, config=replace(SMALL, **wrong))
    with KNOBS.override(target="sim:sm_80"), pytest.raises(ArgumentError, match="OC2560"):
        decode_attention(q, k, v, config=replace(SMALL, merge="flags"))
    one = replace(SMALL, splits=1, merge="flags")  # nothing to put together
    with KNOBS.override(target="sim:sm_80"):
        decode_attention(q, k, v, config=one)


# ---------------------------------------------------------------- faults
MEET = "    cute.arch.sync_threads()"
FAULTS = [
    # what is wrong, of which merge, the text, what stands there instead, the report
    ("nobody waits for what is sent", "cluster", "    cute.arch.mbarrier_wait(merge.barrier, 0)\n",
     "", "OC3402"),
    ("too few bytes", "cluster", "_VEC * merge.each + 2)", "_VEC * merge.each)", "OC3402"),
    ("too many bytes", "cluster", "_VEC * merge.each + 2)", "_VEC * merge.each + 4)", "OC3501"),
    ("barriers are not ready", "cluster", "        cute.arch.cluster_wait()  #", "        #",
     "OC3404"),
    ("the part is not written", "flags", MEET + "  # all of the part is written\n", "", "OC3401"),
    ("release of the flag", "flags", 'sem="release"', 'sem="relaxed"', "OC3401"),
    ("acquire of the flag", "flags", 'sem="acquire"', 'sem="relaxed"', "OC3401"),
    ("meeting after the flags", "flags", "    " + MEET + "\n", "", "OC3401"),
    ("no flag", "flags", "merge.tag, sem=", "cutlass.Int64(0), sem=", "OC3017"),
]  # fmt: skip


@t0
@pytest.mark.parametrize(
    ("merge", "text", "other", "code"), [f[1:] for f in FAULTS], ids=[f[0] for f in FAULTS]
)
def test_faults_are_reported(
    planted: Callable[..., ModuleType], monkeypatch: pytest.MonkeyPatch, merge: str, text: str,
    other: str, code: str,
) -> None:  # fmt: skip
    module = planted("opencute.kernels.decode.merge", text, other, 1)
    for name in ("ClusterMerge", "FlagMerge"):
        monkeypatch.setattr(sm90, name, getattr(module, name))
    arrays = operands(1, 1, 4, 1, 64, 100)
    with KNOBS.override(target="sim:sm_90a", sim_check=True), pytest.raises(OpenCuTeError) as e:
        decode_attention(*arrays, config=replace(SMALL, merge=merge))
    assert e.value.code == code


# ---------------------------------------------------------------- code
@t1
@pytest.mark.parametrize(
    ("config", "rows", "narrow"),
    [
        (DecodeConfig(1, 4, 16, 6, 16, "cluster"), 4, False),
        (DecodeConfig(2, 4, 32, 3, 4, "flags"), 32, False),
        (DecodeConfig(1, 8, 32, 3, 2, "cluster"), 8, True),
        (DecodeConfig(2, 4, 32, 2, 2, "cluster", beyond=4, once=True), 32, False),
        (DecodeConfig(1, 8, 16, 2, 8, "cluster"), 4, False),  # usual choices, for one sequence
        (DecodeConfig(1, 8, 32, 2, 8, "cluster"), 4, True),
        (DecodeConfig(1, 16, 16, 3, 8, "cluster"), 4, True),  # 128 registers for a thread
    ],
    ids=str,
)
def test_no_spills(config: DecodeConfig, rows: int, narrow: bool) -> None:
    own, stored = ml_dtypes.bfloat16, ml_dtypes.float8_e4m3fn if narrow else ml_dtypes.bfloat16
    shapes = ((1, 1, rows, 128), (1, 64, 1, 128), (1, 64, 1, 128), (1, 1, rows, 128))
    arrays = [
        from_dlpack(np.zeros(s, t)).mark_layout_dynamic(leading_dim=3)
        for s, t in zip(shapes, (own, stored, stored, own), strict=True)
    ]
    plan = plan_of(
        config, dtype=cutlass.BFloat16, head_dim=128, group=rows,
        cache=cutlass.Float8E4M3FN if narrow else None,
    )  # fmt: skip
    config.check(128, None, 232448, 8 if narrow else 16)
    more: tuple[Any, ...] = (None, None, 1.0, plan)
    if config.merge == "flags":
        parts = np.zeros((config.splits, 1, 1, rows, 128), np.float32)
        logs = np.zeros((config.splits, 1, rows, 1), np.float32)
        flags = np.zeros((1, 1, config.splits), np.int64)
        more = (parts, logs, 1.0, plan, 1.0, None, None, flags, cutlass.Int64(7))
    with KNOBS.override(target="sim"):
        made = cute.compile[cute.GPUArch("sm_90a")](
            sm90.decode_forward, *arrays, None, np.zeros(1, np.int32), None, *more
        ).artefacts
    (report,) = made.kernel_info.values()
    assert report.spill_loads == report.spill_stores == report.stack == 0
    assert ("st.async" in made.ptx) == (config.merge == "cluster")


# ---------------------------------------------------------------- on a GPU
@t2
@pytest.mark.parametrize("merge", ["flags", "cluster"])
@pytest.mark.parametrize(
    ("b", "h", "hk", "config"),
    [
        (1, 32, 8, DecodeConfig(1, 8, 16, 2, 16)), (32, 32, 1, DecodeConfig(2, 4, 32, 2, 4)),
        (64, 16, 8, DecodeConfig(1, 4, 16, 3, 2)),
        (32, 32, 1, DecodeConfig(2, 4, 32, 2, 2, "cluster", beyond=4)),
        (2, 32, 8, DecodeConfig(1, 8, 16, 2, 4, "cluster", beyond=2)),
    ],
    ids=str,
)  # fmt: skip
def test_on_a_gpu(merge: str, b: int, h: int, hk: int, config: DecodeConfig) -> None:
    torch = pytest.importorskip("torch")
    config = replace(config, merge=merge, beyond=1 if merge == "flags" else config.beyond)
    g = torch.Generator(device="cuda").manual_seed(0)
    q, k, v = (
        torch.randn(s, device="cuda", generator=g).half()
        for s in ((b, 1, h, 128), (b, 1500, hk, 128), (b, 1500, hk, 128))
    )
    n = torch.randint(0, 1501, (b,), device="cuda", generator=g, dtype=torch.int32)
    n[0] = 1500
    want = decode_attention(q, k, v, n, config=replace(config, splits=1, merge="launch", beyond=1))
    streams = [torch.cuda.Stream() for _ in range(3)]
    torch.cuda.synchronize()
    outs = []
    for turn in range(30):
        with torch.cuda.stream(streams[turn % 3]):
            outs.append(decode_attention(q, k, v, n, config=config))
    torch.cuda.synchronize()
    for out in outs:
        torch.testing.assert_close(out, want, rtol=4e-3, atol=2e-3)
        assert torch.equal(out, outs[0])
