# SPDX-FileCopyrightText: 2026 The OpenCuTe authors
# SPDX-License-Identifier: Apache-2.0
"""`opencute help` shows the entry of a name as people type it, and says which names are near."""

from __future__ import annotations

import pytest
from click.testing import CliRunner

from opencute.base.errors import ArgumentError
from opencute.lang.external import ExternalTensor
from opencute.tools.cli import main
from opencute.tools.reference.lookup import described

pytestmark = pytest.mark.t1


@pytest.mark.parametrize(
    "typed",
    ["cute.make_layout", "make_layout", "cutlass.cute.make_layout", "opencute.cute.make_layout",
     "`make_layout()`", "MAKE_LAYOUT", "cute.core.make_layout"],
)  # fmt: skip
def test_a_name_as_people_type_it(typed: str) -> None:
    text = described(typed)
    assert text.startswith("cutlass.cute.make_layout(shape, *more, stride=None)\n")
    assert "Args:\n    shape: extents, or a layout." in text


def test_where_it_is_for_and_its_other_names() -> None:
    assert "\n  In kernels. Also cutlass.cute.arch.mapa.\n" in described("arch.map_dsmem_ptr")
    assert "cutlass.cute.math.exp(a, fastmath: bool = False)" in described("cute.exp")


def test_classes() -> None:
    text = described("TiledCopy")
    assert "\nMethods:\n  get_slice(thr_idx) -> ThrCopy" in text and "\nProperties:\n" in text
    assert "It also has what cutlass.cute.CopyAtom has." in text
    assert "\nMembers:\n  generic, gmem, smem," in described("AddressSpace")


@pytest.mark.parametrize(
    ("typed", "call"),
    [
        ("Layout.size", "cutlass.cute.Layout.size()"),
        ("cute.Tensor.load", "cutlass.cute.Tensor.load() -> TensorSSA"),
        ("ThrCopy.retile", "cutlass.cute.TiledCopy.retile(src)"),
        ("AddressSpace.smem", "cutlass.AddressSpace.smem = 3"),
    ],
)
def test_members(typed: str, call: str) -> None:
    assert described(typed).splitlines()[0] == call


def test_constants_and_namespaces() -> None:
    assert described("FULL_MASK") == "cutlass.cute.arch.FULL_MASK = 0xffffffff\n"
    text = described("cute.nvgpu.warp")
    assert "LdMatrix8x8x16bOp" in text and "fence_proxy" not in text
    assert "\nNamespaces in it: cutlass.cute.arch," in described("cute")


def test_several_names_end_so() -> None:
    text = described("MmaF16BF16Op")
    assert text.startswith("2 names end so:") and "nvgpu.warpgroup.MmaF16BF16Op" in text


@pytest.mark.parametrize(
    ("typed", "said"),
    [
        ("cute.make_tiled_copy_tw", "did you mean cute.make_tiled_copy_tv"),
        ("blok_idx", "did you mean block_idx"),
        ("cute.syncthreads", "it is cute.arch.sync_threads"),
        ("threadIdx", "it is cute.arch.thread_idx"),
        ("pipeline.PipelineTmaUmma", "is not in OpenCuTe yet"),
        ("Layout.sise", "cutlass.cute.Layout has no method or property 'sise'. did you mean size"),
        ("Layout.zzzz", "opencute help cutlass.cute.Layout lists them"),
        ("decode_atention", "did you mean decode_attention"),
        ("zzzzzz", "opencute help lists the namespaces"),
    ],
)
def test_no_such_name(typed: str, said: str) -> None:
    with pytest.raises(ArgumentError) as e:
        described(typed)
    assert e.value.code == "OC2921" and said in f"{e.value.message}. {e.value.hint}"


@pytest.mark.parametrize(
    ("typed", "first"),
    [
        ("attention", "opencute.kernels.attention.attention("),
        ("moe_gemm", "opencute.kernels.grouped_gemm.moe_gemm("),
        ("kernels.decode.decode_attention", "opencute.kernels.decode.decode_attention("),
        ("visitors.chain", "opencute.kernels.gemm.visitors.chain(*pieces: Piece, gated: "),
        ("opencute.kernels.gemm", "Matrix products: plain fma for f32, "),
        ("opencute.kernels", "operators, each in a folder of its own."),
        ("Visitor", "opencute.kernels.gemm.Visitor("),
    ],
)
def test_operators(typed: str, first: str) -> None:
    assert described(typed).startswith(first)


def test_what_is_in_a_namespace_of_operators() -> None:
    assert "\n  opencute.kernels.attention " in described("opencute.kernels")
    assert "\n  gemm          ``activation(alpha * a @ b" in described("opencute.kernels.gemm")
    assert "opencute.kernels " in CliRunner().invoke(main, ["help"]).output


def test_an_operator_beside_a_name_of_the_language() -> None:
    text = described("gemm")
    assert text.startswith("cutlass.cute.gemm(")
    assert "\nopencute.kernels.gemm.gemm is another thing: opencute help opencute.k" in text


@pytest.mark.parametrize(
    ("method", "owner"),
    [
        ("partition_C", "cutlass.cute.ThrMma.partition_C("),
        ("get_slice", "\n  cutlass.cute.TiledMma.get_slice "),
        ("producer_acquire", "\n  cutlass.pipeline.PipelineTmaAsync.producer_acquire\n"),
        ("make_fragment_A", "cutlass.cute.MmaAtom.make_fragment_A("),
        ("allocate_tensor", "cutlass.utils.SmemAllocator.allocate_tensor("),
        ("mark_layout_dynamic", "cutlass.cute.Tensor.mark_layout_dynamic("),
    ],
)
def test_a_method_alone(method: str, owner: str) -> None:
    assert owner in described(method)


def test_a_method_that_native_code_took_the_place_of(monkeypatch: pytest.MonkeyPatch) -> None:
    """As after a call of a function with tensors, in the same process."""
    want = described("Tensor.mark_layout_dynamic")
    monkeypatch.setattr(ExternalTensor, "mark_layout_dynamic", str.upper)
    assert described("Tensor.mark_layout_dynamic") == want
    assert want.startswith("cutlass.cute.Tensor.mark_layout_dynamic(leading_dim")


@pytest.mark.parametrize(
    ("word", "part"),
    [
        ("tma", "\n  cutlass.pipeline.PipelineTmaAsync"),
        ("im2col", "\n  cutlass.cute.nvgpu.cpasync.CopyBulkTensorIm2ColG2SOp"),
        ("wgmma", "\nEntries that speak of it:\n  cutlass.cute.nvgpu.warpgroup.MmaF16BF16Op"),
        ("smem", "\n  cutlass.utils.SmemAllocator"),
        ("swiglu", "Entries that speak of it:\n  opencute.kernels.grouped_gemm.moe_gemm\n"),
    ],
)
def test_a_word_of_names(word: str, part: str) -> None:
    assert part in described(word)


def test_codes_of_errors() -> None:
    run = CliRunner().invoke
    assert run(main, ["help", "OC2541"]).output == run(main, ["error", "2541"]).output
    wrong = run(main, ["help", "OC0000"])
    assert wrong.exit_code == 2 and "no error has the code 'OC0000'" in wrong.output


def test_python_m_opencute() -> None:
    import subprocess
    import sys

    done = subprocess.run(
        [sys.executable, "-m", "opencute", "--help"], capture_output=True, text=True, check=False
    )
    assert done.returncode == 0 and done.stdout.startswith("Usage: opencute [OPTIONS] COMMAND")


def test_the_command() -> None:
    run = CliRunner().invoke
    done = run(main, ["help", "cute.copy"])
    assert done.exit_code == 0 and done.output.startswith("cutlass.cute.copy(atom, src, dst, ")
    assert "cutlass.cute.arch" in run(main, ["help"]).output
    wrong = run(main, ["help", "cute.copi"])
    assert wrong.exit_code == 2 and "did you mean cute.copy" in wrong.output


def test_commands_of_the_program() -> None:
    done = CliRunner().invoke(main, ["help", "verify"])
    assert done.exit_code == 0 and "verify [OPTIONS] FILE..." in done.output
    assert "another thing" not in done.output
    both = CliRunner().invoke(main, ["help", "tune"])
    assert "tune [OPTIONS]" in both.output
    assert "\ncutlass.cute.testing.tune is another thing: opencute help" in both.output
