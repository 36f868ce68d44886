# SPDX-FileCopyrightText: 2026 The OpenCuTe authors
# SPDX-License-Identifier: Apache-2.0
"""The `opencute` command.

In: the command line. Out: for `verify` and `benchmark` one JSON object on standard output, for the
rest text; exit status 0 right, 1 wrong, 2 usage. Only click is imported before a command runs::

    opencute verify kernel.py --rtol 1e-3 --atol 1e-3
"""

from __future__ import annotations

import math
from difflib import get_close_matches
from pathlib import Path
from typing import Any

import click

__all__ = ["main"]

_FILE = click.Path(exists=True, dir_okay=False, path_type=Path)


class _Number(click.ParamType):  # pyright: ignore[reportMissingTypeArgument]
    """A finite number with a lower bound."""

    name = "number"

    def __init__(self, *, above: float | None = None) -> None:
        self.above = above

    def convert(self, value: Any, param: Any, ctx: Any) -> float:
        try:
            number = float(value)
        except ValueError:
            self.fail(f"{value!r} is not a number", param, ctx)
        if not math.isfinite(number) or number < 0 or (self.above is not None and number <= 0):
            self.fail(f"{value} is out of range", param, ctx)
        return number


def _print(report: dict[str, Any]) -> None:
    from opencute.lab.strict_json import dumps

    click.echo(dumps(report))


def _finish(report: dict[str, Any], status: int) -> None:
    _print(report)
    raise SystemExit(status)


def _no_option(word: str) -> None:
    """Refuse an option of the command's that there is not, which stands where another word should.
    What follows a file is the file's own, so that click lets such words pass."""
    if word.startswith("-"):
        own = [o for p in click.get_current_context().command.params for o in p.opts]
        raise click.NoSuchOption(word, possibilities=get_close_matches(word, own))


def _must_exist(file: Path) -> None:
    if not file.exists():
        _no_option(str(file))
    if file.is_dir():
        raise click.UsageError(f"{str(file)!r} is a folder; name a file in it, as in {file}/*.py")
    if not file.is_file():
        raise click.UsageError(f"there is no file {str(file)!r}")


_TOLERANCE = _Number()
_SECONDS = _Number(above=0)
_mock = click.option("--mock", is_flag=True, help="Run nothing; print a canned result.")


@click.group(context_settings={"help_option_names": ["-h", "--help"]})
@click.version_option(package_name="opencute", prog_name="opencute")
def main() -> None:
    """OpenCuTe: GPU kernels in Python, on a GPU or in a checking simulator."""


@main.command()
@click.argument(
    "files", metavar="FILE...", nargs=-1, required=True, type=click.Path(path_type=Path)
)
@click.option("--rtol", type=_TOLERANCE, default=1e-3, show_default=True, help="Relative part.")
@click.option("--atol", type=_TOLERANCE, default=1e-3, show_default=True, help="Absolute part.")
@click.option("--timeout", type=_SECONDS, default=60.0, show_default=True, help="Seconds.")
@click.option("--seeds", type=click.IntRange(1), default=3, show_default=True, help="How many.")
@click.option("--equal-nan", is_flag=True, help="NaN equals NaN in the same place.")
@_mock
def verify(
    files: tuple[Path, ...],
    rtol: float,
    atol: float,
    timeout: float,
    seeds: int,
    equal_nan: bool,
    mock: bool,
) -> None:
    """Check kernel_fn(*inputs) of each FILE against its reference_fn(*inputs).

    The inputs come from its get_inputs(). An element is right when
    |kernel - reference| <= atol + rtol * |reference|. One JSON object a line for each file; the
    exit status is 0 if all are right.
    """
    from opencute.lab import report

    for file in files:
        if not mock:
            _must_exist(file)
    worst = 0
    for file in files:
        if mock:
            facts, status = report.mock_verify(file), 0
        else:
            facts, status = report.verify(
                file, rtol=rtol, atol=atol, timeout=timeout, seeds=seeds, equal_nan=equal_nan
            )
        _print(facts)
        worst = max(worst, status)
    raise SystemExit(worst)


@main.command()
@click.argument("file", type=click.Path(path_type=Path))
@click.option("--warmup", type=click.IntRange(0), default=10, show_default=True, help="Calls.")
@click.option("--iters", type=click.IntRange(1), default=40, show_default=True, help="Calls.")
@click.option("--timeout", type=_SECONDS, default=120.0, show_default=True, help="Seconds.")
@click.option("--flush-l2/--no-flush-l2", default=True, help="Empty the L2 cache before a call.")
@click.option("--graph", is_flag=True, help="Time the replay of a CUDA graph.")
@_mock
def benchmark(
    file: Path, warmup: int, iters: int, timeout: float, flush_l2: bool, graph: bool, mock: bool
) -> None:
    """Time kernel_fn(*inputs) of FILE and its reference_fn(*inputs)."""
    from opencute.lab import report

    if mock:
        _finish(report.mock_benchmark(file, warmup=warmup, iters=iters), 0)
    _must_exist(file)
    _finish(
        *report.benchmark(
            file, warmup=warmup, iters=iters, timeout=timeout, flush_l2=flush_l2, graph=graph
        )
    )


def _its_own(args: tuple[str, ...]) -> list[str]:
    """The arguments of a script; a `--` between its name and them is not one of them.

    Where there is none, options that the command has too may be meant for it: say whose they are.
    """
    if args[:1] == ("--",):
        return list(args[1:])
    command = click.get_current_context().command
    own = {o for p in command.params for o in p.opts if o.startswith("--")}
    for word in dict.fromkeys(a.partition("=")[0] for a in args):
        if word in own:
            click.echo(
                f"opencute: {word} stands after the file and is its own; before the file, it is "
                f"an option of {command.name}", err=True,
            )  # fmt: skip
    return list(args)


@main.command(context_settings={"ignore_unknown_options": True, "allow_interspersed_args": False})
@click.option("-m", "module", metavar="MODULE", help="Run a module, as `python -m` does.")
@click.argument("words", metavar="FILE [ARGS]...", nargs=-1, type=click.UNPROCESSED)
def run(module: str | None, words: tuple[str, ...]) -> None:
    """Run a script or a notebook; with no GPU, in the simulator.

    What follows FILE is its own; a -- between them may be there and is left out.
    A kernel file, which only defines kernel_fn and get_inputs, is run by `verify` and `check`.
    """
    from opencute.tools.run import run_file, run_module

    if module is not None:
        raise SystemExit(run_module(module, list(words)))
    if not words:
        raise click.UsageError("name the file to run, or a module after -m")
    _must_exist(Path(words[0]))
    raise SystemExit(run_file(Path(words[0]), _its_own(words[1:])))


_FORWARDED = {"ignore_unknown_options": True, "allow_interspersed_args": False}


@main.command(context_settings=_FORWARDED)
@click.option("--seeds", type=click.IntRange(1), default=3, show_default=True, help="Orders.")
@click.option("--counters", is_flag=True, help="Show what each line asks of memory.")
@click.option("--strict", is_flag=True, help="Let warnings of the checks be errors.")
@click.argument("file", type=click.Path(path_type=Path))
@click.argument("args", nargs=-1, type=click.UNPROCESSED)
def check(seeds: int, counters: bool, strict: bool, file: Path, args: tuple[str, ...]) -> None:
    """Run FILE in the simulator and look for races, early reads and barriers that not all reach.

    FILE is a script, a notebook, or a kernel file, whose kernel_fn(*get_inputs()) is called; what
    follows it, or a -- after it, are arguments of its own. It runs once for each of several orders
    of its threads; a fault is an error on its line. What is found does not depend on the order in
    which the simulator happens to run threads.
    """
    from opencute.tools import check as tool

    _must_exist(file)
    found = tool.check(file, _its_own(args), seeds=seeds, show=counters, strict=strict)
    raise SystemExit(found)


@main.command(context_settings=_FORWARDED)
@click.option("--simulate", is_flag=True, required=True, help="Count in the simulator.")
@click.argument("file", type=click.Path(path_type=Path))
@click.argument("args", nargs=-1, type=click.UNPROCESSED)
def profile(simulate: bool, file: Path, args: tuple[str, ...]) -> None:
    """Run FILE and show what each line asks of memory: sectors, bank conflicts, waits.

    A wait is counted when threads that run together come to a barrier or wait that is not over
    yet; docs/reference/checks.md says what the other counts are.

    FILE is a script, a notebook, or a kernel file, whose kernel_fn(*get_inputs()) is called; what
    follows it, or a -- after it, are arguments of its own.
    """
    from opencute.tools import check as tool

    assert simulate
    _must_exist(file)
    raise SystemExit(tool.profile(file, _its_own(args)))


_arch = click.option(
    "--sm", "--arch", "arch", metavar="ARCH",
    help="Architecture, such as sm_100a; that of OPENCUTE_TARGET=sim:ARCH when omitted, or sm_90a.",
)  # fmt: skip


def _compiled(file: Path, args: tuple[str, ...], asked: str | None) -> Any:
    """What FILE compiles for an architecture; a wrong one is a usage error."""
    from opencute.base.errors import ArgumentError
    from opencute.tools import show as tool

    try:
        arch = tool.architecture(asked)
    except ArgumentError as e:
        raise click.UsageError(str(e)) from None
    try:
        return tool.compiled(file, list(args), arch)
    except ArgumentError as e:
        raise click.ClickException(str(e)) from None


@main.command()
@click.argument("file", type=_FILE)
@click.argument("args", nargs=-1)
@click.option(
    "--stage", "stages", multiple=True, help="cute, lowered, llvm, ptx or sass; all when omitted.",
    type=click.Choice(["cute", "lowered", "llvm", "ptx", "sass"]),
)  # fmt: skip
@_arch
def show(file: Path, args: tuple[str, ...], stages: tuple[str, ...], arch: str | None) -> None:
    """Show what FILE compiles to, at every stage; needs no GPU.

    FILE is a kernel file or any script that launches kernels; it runs in the simulator. Options of
    its own follow after --.
    """
    from opencute.base.errors import OpenCuTeError
    from opencute.tools import show as tool

    found = _compiled(file, args, arch)
    try:
        for text in tool.show(found.artefacts, list(stages)):
            click.echo(text, nl=False)
    except OpenCuTeError as e:
        raise click.ClickException(str(e)) from None
    raise SystemExit(found.status)


@main.command()
@click.argument("file", type=_FILE)
@click.argument("args", nargs=-1)
@_arch
def explain(file: Path, args: tuple[str, ...], arch: str | None) -> None:
    """Say what the kernels of FILE cost: registers, spills, memory accesses with source lines.

    FILE is a kernel file or any script that launches kernels; it runs in the simulator. Options of
    its own follow after --.
    """
    from opencute.base.errors import OpenCuTeError
    from opencute.tools import show as tool

    found = _compiled(file, args, arch)
    try:
        for text in tool.explain(found.artefacts):
            click.echo(text)
    except OpenCuTeError as e:
        raise click.ClickException(str(e)) from None
    raise SystemExit(found.status)


@main.command("tune", context_settings={"ignore_unknown_options": True})
@click.argument("operator", required=False)
@click.argument("extents", metavar="[--EXTENT N | --FLAG]...", nargs=-1, type=click.UNPROCESSED)
@click.option("--dtype", help="Type of the operands, such as f16; the usual one when omitted.")
@click.option("--arch", "--sm", metavar="ARCH", help="Compile for it, such as sm_80; time nothing.")
@click.option("--limit", type=click.IntRange(1), help="Try so many, the most promising.")
@click.option("--processes", type=click.IntRange(1), help="Compile so many at once.")
@click.option("--cluster", metavar="ADDRESS", help="A ray cluster that compiles.")
@click.option("--time/--no-time", default=True, help="Time on the GPU, if there is one.")
@click.option("--list", "as_list", is_flag=True, help="Say what can be tuned, and what is kept.")
@click.option("--forget", is_flag=True, help="Remove what is kept.")
def tune_(
    operator: str | None, extents: tuple[str, ...], as_list: bool, forget: bool, **options: Any
) -> None:
    """Find good configurations of OPERATOR for a problem, such as gemm --m 4096 --n 512 --k 4096.

    All candidates are compiled at once; what spills registers or fits nowhere is left out, the rest
    is timed with a cold L2. Calls of the operator with such extents then use the best. Without a
    GPU everything is compiled and nothing is timed or kept.
    """
    from opencute.base.errors import ArgumentError
    from opencute.tools import tune_command as tool

    _no_option(operator or "")
    if forget:
        click.echo(tool.forgotten())
        return
    if as_list or operator is None:
        for line in tool.listed():
            click.echo(line)
        return
    try:
        text, status = tool.tune(operator, extents, **options)
    except ArgumentError as e:
        raise click.UsageError(str(e)) from None
    click.echo(text)
    raise SystemExit(status)


@main.command()
@click.option("--json", "as_json", is_flag=True, help="Print JSON.")
def doctor(as_json: bool) -> None:
    """Say what is installed, what is missing, and what to do."""
    from opencute.tools import doctor as tool

    facts = tool.examine()
    if as_json:
        _finish(facts, 0)
    tool.show(facts)


@main.command()
@click.argument("code", metavar="CODE")
def error(code: str) -> None:
    """Say what an error code means and what to change, with a program that causes it.

    CODE is what stands in brackets, such as OC1221, or its number alone.
    """
    from opencute.base.errors import ArgumentError
    from opencute.tools import error_command

    try:
        text = error_command.explained(code)
    except ArgumentError as e:
        raise click.UsageError(". ".join(filter(None, (e.message, e.hint)))) from None
    click.echo(text, nl=False)


@main.command("help")
@click.argument("name", required=False)
def help_(name: str | None) -> None:
    """Show the entry of a public NAME: its call, arguments, errors and methods.

    NAME is such as cute.make_layout, make_layout, Tensor.load, cute.arch or an operator, such as
    attention; a method alone, get_slice, lists its classes, a word, such as tma, the names with it.
    Of a command of opencute its options are shown, of an error's code what it means. Without NAME,
    the namespaces are listed.
    """
    from opencute.base.errors import ArgumentError
    from opencute.tools import error_command
    from opencute.tools.reference import lookup

    context = click.get_current_context()
    command = main.commands.get(name or "")
    if command is not None:
        assert context.parent is not None
        with click.Context(command, info_name=name, parent=context.parent) as inner:
            click.echo(command.get_help(inner))
        for other in lookup.found(f".{name}"):
            click.echo(f"\n{other.full} is another thing: opencute help {other.full}")
        return
    try:
        if name and error_command.is_code(name):
            text = error_command.explained(name)
        else:
            text = lookup.described(name) if name else lookup.overview()
    except ArgumentError as e:
        raise click.UsageError(". ".join(filter(None, (e.message, e.hint)))) from None
    click.echo(text, nl=False)


@main.group()
def cache() -> None:
    """The disk cache of compiled kernels."""


@cache.command("ls")
def cache_ls() -> None:
    """List the entries, newest first."""
    from opencute.tools import cache_commands

    cache_commands.show_entries()


@cache.command("stat")
def cache_stat() -> None:
    """Show where the cache is and how full."""
    from opencute.tools import cache_commands

    cache_commands.show_statistics()


@cache.command("clear")
def cache_clear() -> None:
    """Remove all entries."""
    from opencute.tools import cache_commands

    cache_commands.clear()


@main.command()
@click.option(
    "--output", type=click.Path(file_okay=False, path_type=Path), help="Folder of page and record."
)
@click.option("--commit", default="", help="Commit of the upstream copy, where git cannot tell.")
@click.option("--timeout", type=_SECONDS, default=300.0, show_default=True, help="Per example.")
@click.option("--only", default="*", show_default=True, help="Glob on the file's name.")
def compat(output: Path | None, commit: str, timeout: float, only: str) -> None:
    """Run published CUTLASS examples and write docs/compatibility.md."""
    from opencute.tools import compat as tool

    raise SystemExit(tool.main(output, commit=commit, timeout=timeout, only=only))
