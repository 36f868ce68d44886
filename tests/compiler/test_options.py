# SPDX-FileCopyrightText: 2026 The OpenCuTe authors
# SPDX-License-Identifier: Apache-2.0
"""Compile options: every documented spelling, their defaults from the environment, and mistakes."""

from __future__ import annotations

import warnings
from typing import Any

import pytest

from opencute import cute
from opencute.base import log
from opencute.base.errors import ArgumentError
from opencute.base.knobs import KNOBS, unknown_aliases
from opencute.compiler.options import Options, default_options, parse_options

pytestmark = pytest.mark.t0


@pytest.mark.parametrize(
    ("text", "field", "value"),
    [
        ("--opt-level 2", "opt_level", 2),
        ("--opt-level=0", "opt_level", 0),
        ("--enable-assertions", "assertions", True),
        ("--enable-assertions=false", "assertions", False),
        ("--keep-cubin", "keep_cubin", True),
        ("--keep-ptx", "keep_ptx", True),
        ("--keep-sass", "keep_sass", True),
        ("--keep-sass --nvdisasm-options '-c'", "nvdisasm_options", "-c"),
        ("--ptxas-options '--opt-level=2'", "ptxas_options", "--opt-level=2"),
        ("--ptxas-options='-v --warn-on-spills'", "ptxas_options", "-v --warn-on-spills"),
        ("--generate-line-info", "line_info", True),
        ("--gpu-arch sm_90a", "gpu_arch", "sm_90a"),
        ("--host-target linux-aarch64", "host_target", "linux-aarch64"),
        ("--enable-tvm-ffi", "enable_tvm_ffi", True),
        ("--dump-dir /tmp/x", "dump_dir", "/tmp/x"),
        ("iket", "iket", True),
        ("", "nvdisasm_options", "-g -c"),
    ],
)
def test_option_strings(text: str, field: str, value: Any) -> None:
    assert getattr(parse_options(text), field) == value


@pytest.mark.parametrize(
    ("text", "complaint"),
    [
        ("--opt-levle 2", "did you mean --opt-level?"),
        ("--keep_ptxx", "did you mean --keep-ptx?"),
        ("--opt-level 7", "opt level is 0 to 3"),
        ("--opt-level two", "takes int"),
        ("--opt-level", "takes a value"),
        ("keep-ptx", "there is no option 'keep-ptx'"),
        ("--gpu-arch sm_1", "compile option --gpu-arch"),
        ("--keep-ptx=maybe", "takes a flag"),
        ('--ptxas-options "\'"', "ptxas-options"),
        ("--opt-level '", "compile options"),
        ("-O3", "there is no option '-O3'"),
    ],
)
def test_mistakes_in_strings(text: str, complaint: str) -> None:
    with pytest.raises(ArgumentError) as e:
        parse_options(text)
    assert complaint in str(e.value) and e.value.code == "OC2120"


def test_typed_options() -> None:
    debugging = (cute.OptLevel(1), cute.EnableAssertions, cute.GenerateLineInfo(True), cute.KeepPTX)
    out = parse_options("--opt-level 3", (debugging, cute.KeepSASS(), cute.NvdisasmOptions("-c")))
    assert (out.opt_level, out.assertions, out.line_info) == (1, True, True)
    assert (out.keep_ptx, out.keep_sass, out.keep_cubin) == (True, True, False)
    assert out.nvdisasm_options == "-c"
    assert parse_options("", cute.PtxasOptions("-v -O2")).ptxas_arguments == ("-v", "-O2")
    assert cute.OptLevel(2) == cute.OptLevel(2) != cute.OptLevel(1)
    assert repr(cute.KeepPTX()) == "KeepPTX(True)"


def test_compile_by_subscription_checks_at_once() -> None:
    base = cute.compile[cute.OptLevel(2), cute.KeepPTX]
    assert len(base.typed) == 2
    assert len(base[(cute.KeepCUBIN,)].typed) == 3
    with pytest.raises(ArgumentError, match="not a compile option"):
        cute.compile["--opt-level 2"]
    with pytest.raises(ArgumentError, match="opt level is 0 to 3"):
        cute.OptLevel(4)
    with pytest.raises(ArgumentError, match="takes a flag"):
        cute.KeepPTX("yes please")
    with pytest.raises(ArgumentError, match="takes int"):
        cute.OptLevel(True)


def test_the_environment_sets_defaults(monkeypatch: pytest.MonkeyPatch) -> None:
    assert default_options() == Options()
    monkeypatch.setenv("CUTE_DSL_LINEINFO", "1")
    monkeypatch.setenv("CUTE_DSL_KEEP", "ptx, cubin")
    monkeypatch.setenv("CUTE_DSL_DUMP_DIR", "/tmp/kept")
    monkeypatch.setenv("CUTE_DSL_COMPILER_OPT", "iket")
    out = default_options()
    assert (out.line_info, out.keep_ptx, out.keep_cubin, out.keep_sass) == (True, True, True, False)
    assert (out.dump_dir, out.iket) == ("/tmp/kept", True)
    assert parse_options("--generate-line-info=false").line_info is False
    monkeypatch.setenv("OPENCUTE_LINE_INFO", "0")  # our own name wins
    assert default_options().line_info is False
    monkeypatch.setenv("CUTE_DSL_KEEP", "everything")
    with pytest.raises(ArgumentError, match="CUTE_DSL_KEEP"):
        default_options()


@pytest.mark.parametrize(
    ("variable", "text", "knob", "value"),
    [
        ("CUTE_DSL_CACHE_DIR", "/tmp/c", "cache_dir", "/tmp/c"),
        ("CUTE_DSL_DISABLE_FILE_CACHING", "1", "cache_enabled", False),
        ("CUTE_DSL_DISABLE_FILE_CACHING", "0", "cache_enabled", True),
        ("CUTE_DSL_LOG_LEVEL", "20", "log_level", 20),
        ("CUTE_DSL_LOG_TO_CONSOLE", "1", "log_to_console", True),
        ("CUTE_DSL_LOG_TO_FILE", "1", "log_to_file", True),
        ("CUTE_DSL_LOG_AUTOTUNE", "1", "log_autotune", True),
        ("CUTE_DSL_PRINT_IR", "1", "print_ir", True),
        ("CUTE_DSL_KEEP_PTX", "1", "keep_ptx", True),
        ("CUTE_DSL_ENABLE_TVM_FFI", "1", "enable_tvm_ffi", True),
        ("CUTE_DSL_LIB_PATH", "/x", "lib_path", "/x"),
        ("CUTE_DSL_INCLUDE_PATH", "/y", "include_path", "/y"),
        ("CUTE_DSL_EFC_LOG_LEVEL", "10", "efc_log_level", 10),
        ("CUTE_DSL_KEEP", "all", "keep", "('ir', 'ir-debug', 'ptx', 'cubin', 'sass')"),
    ],
)
def test_every_documented_variable(
    monkeypatch: pytest.MonkeyPatch, variable: str, text: str, knob: str, value: Any
) -> None:
    monkeypatch.delenv("OPENCUTE_CACHE_DIR", raising=False)
    monkeypatch.delenv("OPENCUTE_CACHE_ENABLED", raising=False)
    monkeypatch.setenv(variable, text)
    assert str(getattr(KNOBS, knob)) == str(value)
    assert not unknown_aliases()


def test_debug_mode_raises_defaults(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("OPENCUTE_LINE_INFO", "OPENCUTE_VERIFY_PASSES", "OPENCUTE_DIAG_FULL_TRACEBACK"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("CUTE_DSL_DEBUG", "1")
    assert KNOBS.line_info and KNOBS.verify_passes and KNOBS.full_traceback
    monkeypatch.setenv("CUTE_DSL_LINEINFO", "0")
    assert not KNOBS.line_info and KNOBS.verify_passes


def test_unknown_variables_are_warned_about_once(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("CUTE_DSL_LINE_INFO", "1")
    with pytest.warns(UserWarning, match="did you mean CUTE_DSL_LINEINFO"):
        log.configure()
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        log.configure()


def test_the_log_goes_where_it_is_asked_to(monkeypatch: pytest.MonkeyPatch, tmp_path: Any) -> None:
    import logging

    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("CUTE_DSL_LOG_TO_FILE", "1")
    log.configure()
    logging.getLogger("opencute.test").info("a line")
    monkeypatch.delenv("CUTE_DSL_LOG_TO_FILE")
    log.configure()
    logging.getLogger("opencute.test").info("another")
    (file,) = tmp_path.glob("opencute-*.log")
    assert "a line" in file.read_text() and "another" not in file.read_text()
