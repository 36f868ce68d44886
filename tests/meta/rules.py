# SPDX-FileCopyrightText: 2026 The OpenCuTe authors
# SPDX-License-Identifier: Apache-2.0
"""The rules of this project about its own text, each a function from a file to its violations.

Goes in: a path (and the project's root, so that tests can plant a bad file elsewhere).
Comes out: a list of sentences, empty if all is well::

    >>> spdx_violations(Path("src/opencute/base/errors.py"))
    []
"""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cache
from pathlib import Path

from meta.project import LOCAL_TO, NUMPY_AT_TOP, RANK, ROOT, SAME_PACKAGE, package_of

__all__ = [
    "all_violations",
    "environment_violations",
    "function_lengths",
    "heavy_import_violations",
    "import_violations",
    "path_violations",
    "spdx_violations",
    "star_violations",
]


# ── imports ─────────────────────────────────────────────────────────────────────────────────────


def _module_name(path: Path, root: Path) -> list[str]:
    parts = list(path.relative_to(root / "src").with_suffix("").parts)
    return parts[:-1] if parts[-1] == "__init__" else parts


@dataclass(frozen=True)
class _Import:
    """A name that a file imports, and where; `early`: when the file itself is."""

    line: int
    name: str
    star: bool
    early: bool


def _imports(path: Path, root: Path) -> list[_Import]:
    """What a file imports; several rules ask, and a tree takes long to make and much to keep."""
    return _known_imports(path, root, path.read_text(encoding="utf-8"))


@cache
def _known_imports(path: Path, root: Path, text: str) -> list[_Import]:
    tree = ast.parse(text, str(path))
    early = set(_module_level_imports(tree))
    return [
        _Import(_line(node), name, isinstance(node, ast.ImportFrom) and name.endswith(".*"),
                _line(node) in early)
        for node, name in _imported_modules(tree, path, root)
    ]  # fmt: skip


def _imported_modules(tree: ast.Module, path: Path, root: Path) -> Iterator[tuple[ast.AST, str]]:
    """Each (node, absolute dotted name) that a file imports, wherever the import stands.

    ``from a import b`` gives ``a.b``: b may be a module, and if it is a name, ``a`` decides anyway.
    ``importlib.import_module("a.b")`` and ``__import__("a.b")`` count if the name is written out.
    """
    here = _module_name(path, root)
    package = here if path.name == "__init__.py" else here[:-1]
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            yield from ((node, alias.name) for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            base = package[: len(package) - node.level + 1] if node.level else []
            base = [*base, *(node.module.split(".") if node.module else [])]
            yield from ((node, ".".join([*base, alias.name])) for alias in node.names)
        elif isinstance(node, ast.Call):
            called = node.func.attr if isinstance(node.func, ast.Attribute) else None
            called = node.func.id if isinstance(node.func, ast.Name) else called
            if called in ("import_module", "__import__") and node.args:
                name = node.args[0]
                if isinstance(name, ast.Constant) and isinstance(name.value, str):
                    yield node, name.value


def _target_package(name: str, root: Path) -> str | None:
    """The package that an absolute name lies in; None if it is not ours."""
    parts = name.split(".")
    if parts[0] not in ("opencute", "cutlass"):
        return None
    if len(parts) == 1:
        return "" if parts[0] == "opencute" else "cutlass"
    # cutlass.x is opencute.x by another name.
    base = root / "src" / "opencute" / parts[1]
    is_module = base.is_dir() or base.with_suffix(".py").is_file() or parts[1] in RANK
    return parts[1] if is_module else ""


def import_violations(path: Path, root: Path = ROOT) -> list[str]:
    """Imports of packages whose rank is not lower than the file's own, also inside functions."""
    here = package_of(path, root)
    if here not in RANK:
        return [f"{path}: package {here!r} has no rank; add it to tests/meta/project.py"]
    bad: list[str] = []
    for each in _imports(path, root):
        name = each.name
        there = _target_package(name, root)
        if there is None or there == here or {here, there} in SAME_PACKAGE:
            bad += _generation_violations(path, each) if there is not None else []
        elif here == "cutlass" and name.split(".")[0] == "cutlass":
            continue
        elif there not in RANK:
            bad.append(f"{path}:{each.line}: {name}: package {there!r} has no rank")
        elif RANK[there] >= RANK[here]:
            bad.append(
                f"{path}:{each.line}: {here or 'opencute'} (rank {RANK[here]}) imports {name} "
                f"(rank {RANK[there]})"
            )
    return bad


def _generation_violations(path: Path, each: _Import) -> list[str]:
    """Inside a package, code of an older architecture must not import that of a newer one."""
    own = _generations(path.with_suffix("").parts)
    other = _generations(tuple(each.name.split(".")))
    if own and other and max(other) > min(own):
        what = f"sm_{min(own)} code imports sm_{max(other)} code ({each.name})"
        return [f"{path}:{each.line}: {what}"]
    return []


def _generations(parts: tuple[str, ...]) -> list[int]:
    return [int(m.group(1)) for p in parts if (m := re.fullmatch(r"sm_?(\d+)[a-z]?", p))]


def _line(node: ast.AST) -> int:
    return getattr(node, "lineno", 0)


def heavy_import_violations(path: Path, root: Path = ROOT) -> list[str]:
    """Heavy third-party imports at module level, or outside the modules that are named for them.

    NumPy and ml_dtypes are lighter: they may be imported anywhere inside functions, and at module
    level in the packages that compute with arrays.
    """
    package = package_of(path, root)
    parts = path.relative_to(root / "src").with_suffix("").parts
    bad: list[str] = []
    for each in _imports(path, root):
        third = each.name.split(".")[0]
        where = f"{path}:{each.line}"
        if third in ("numpy", "ml_dtypes") and each.early and package not in NUMPY_AT_TOP:
            bad.append(f"{where}: {third} is imported at module level of {package or 'opencute'}")
        if third in LOCAL_TO:
            if each.early:
                bad.append(f"{where}: {third} must be imported inside a function")
            words = {word for part in parts for word in (part, *part.split("_"))}
            if not words & set(LOCAL_TO[third]):
                bad.append(f"{where}: {third} may only be imported by: {LOCAL_TO[third]}")
    return bad


def _module_level_imports(tree: ast.Module) -> Iterator[int]:
    """Lines of imports that run when the module does; ``if TYPE_CHECKING`` does not run."""
    pending: list[ast.AST] = list(tree.body)
    while pending:
        node = pending.pop()
        if isinstance(node, ast.Import | ast.ImportFrom):
            yield node.lineno
        elif isinstance(node, ast.If) and "TYPE_CHECKING" in ast.unparse(node.test):
            pending += node.orelse
        elif not isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef | ast.expr):
            pending += list(ast.iter_child_nodes(node))


# ── names ───────────────────────────────────────────────────────────────────────────────────────


def _bound_names(tree: ast.Module) -> set[str]:
    """Names that a module binds at its top level, also under if, try, with and for."""
    names: set[str] = set()
    pending: list[ast.AST] = list(tree.body)
    while pending:
        node = pending.pop()
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef):
            names.add(node.name)
        elif isinstance(node, ast.Import | ast.ImportFrom):
            names |= {(a.asname or a.name.split(".")[0]) for a in node.names}
        elif isinstance(node, ast.Name) and isinstance(node.ctx, ast.Store):
            names.add(node.id)
        else:
            pending += list(ast.iter_child_nodes(node))
    return names


def _sort_key(name: str) -> tuple[int, list[tuple[int, str]]]:
    """The order that ruff's RUF022 keeps: CONSTANTS, Classes, others; numbers by value."""
    bare = name.replace("_", "")
    group = 0 if bare.isupper() and len(bare) > 1 else 1 if bare[:1].isupper() else 2
    chunks = re.findall(r"\d+|\D+", name)
    return group, [(int(c), "") if c.isdigit() else (-1, c) for c in chunks]


def all_violations(path: Path) -> list[str]:
    """A module with public names must list them: a literal, sorted ``__all__`` of bound names."""
    tree = ast.parse(path.read_text(encoding="utf-8"), str(path))
    public = {n for n in _bound_names(tree) if not n.startswith("_")}
    imported = {
        a.asname or a.name.split(".")[0]
        for n in ast.walk(tree)
        if isinstance(n, ast.Import | ast.ImportFrom)
        for a in n.names
    }
    listed = [
        n.value
        for n in tree.body
        if isinstance(n, ast.Assign | ast.AnnAssign)
        and any(
            isinstance(t, ast.Name) and t.id == "__all__"
            for t in (n.targets if isinstance(n, ast.Assign) else [n.target])
        )
    ]
    if not listed and _has_lazy_names(tree):
        return []  # lazy_names makes __all__ from its table, sorted
    if not listed:
        own = public - imported
        return [f"{path}: no __all__, but it defines {', '.join(sorted(own))}"] if own else []
    try:
        names: list[str] = list(ast.literal_eval(listed[-1]))  # type: ignore[arg-type]
    except ValueError:
        return [f"{path}: __all__ is not a literal list of names"]
    bad: list[str] = []
    if names != sorted(set(names), key=_sort_key):
        bad.append(f"{path}: __all__ is not sorted: expected {sorted(set(names), key=_sort_key)}")
    bound = _bound_names(tree)
    if "__getattr__" not in bound:  # lazily loaded names are checked where they are loaded
        bad += [f"{path}: __all__ lists {n!r}, which is not bound" for n in names if n not in bound]
    return bad


def _has_lazy_names(tree: ast.Module) -> bool:
    """Whether a module says ``__getattr__, __dir__, __all__ = lazy_names(...)``."""
    return any(
        isinstance(n, ast.Assign)
        and isinstance(n.targets[0], ast.Tuple)
        and ast.unparse(n.targets[0]) == "(__getattr__, __dir__, __all__)"
        and isinstance(n.value, ast.Call)
        and ast.unparse(n.value.func) == "lazy_names"
        for n in tree.body
    )


def star_violations(path: Path, root: Path = ROOT) -> list[str]:
    """``from x import *``."""
    return [
        f"{path}:{each.line}: import * hides where names come from"
        for each in _imports(path, root)
        if each.star
    ]


_READS_ENVIRONMENT = re.compile(r"\b(environb?|getenv)(\.get|\.pop)?$")
_MAY_READ_ENVIRONMENT = re.compile(r"environ|getenv")  # most files need not be looked at closely


def environment_violations(path: Path, root: Path = ROOT) -> list[str]:
    """Environment variables read by name anywhere but in the one file that declares them all.

    Passing the environment on, or setting a variable for a child, is no reading.
    """
    if path == root / "src" / "opencute" / "base" / "knobs.py":
        return []
    text = path.read_text(encoding="utf-8")
    if not _MAY_READ_ENVIRONMENT.search(text):
        return []
    bad: list[str] = []
    for node in ast.walk(ast.parse(text, str(path))):
        if isinstance(node, ast.Subscript) and isinstance(node.ctx, ast.Load):
            source, name = node.value, node.slice
        elif isinstance(node, ast.Call) and node.args:
            source, name = node.func, node.args[0]
        elif isinstance(node, ast.Compare):
            source, name = node.comparators[0], node.left
        else:
            continue
        if isinstance(name, ast.Constant) and _READS_ENVIRONMENT.search(ast.unparse(source)):
            bad.append(f"{path}:{_line(node)}: {name.value} is not read through base.knobs")
    return bad


# ── sizes ───────────────────────────────────────────────────────────────────────────────────────


def function_lengths(path: Path) -> list[tuple[str, int]]:
    """(qualified name, lines) of each function, from ``def`` on, its docstring not counted."""
    return _known_lengths(path.read_text(encoding="utf-8"))


@cache
def _known_lengths(text: str) -> list[tuple[str, int]]:

    def visit(node: ast.AST, prefix: str) -> Iterator[tuple[str, int]]:
        for child in ast.iter_child_nodes(node):
            if isinstance(child, ast.expr):  # in which no function is defined
                continue
            if isinstance(child, ast.FunctionDef | ast.AsyncFunctionDef):
                lines = (child.end_lineno or child.lineno) - child.lineno + 1
                first = child.body[0]
                if ast.get_docstring(child, clean=False) is not None:
                    lines -= (first.end_lineno or first.lineno) - first.lineno + 1
                yield f"{prefix}{child.name}", lines
            named = isinstance(child, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef)
            yield from visit(child, f"{prefix}{child.name}." if named else prefix)

    return list(visit(ast.parse(text), ""))


# ── text ────────────────────────────────────────────────────────────────────────────────────────

_SPDX = (
    "# SPDX-FileCopyrightText: 2026 The OpenCuTe authors",
    "# SPDX-License-Identifier: Apache-2.0",
)
# A path on somebody's machine: one of these folders of the root and something in it.
_MACHINE_PATH = re.compile(r"(?<![\w.~/-])/(?:work|home|root|Users|mnt)/\w|[A-Z]:\\Users", re.ASCII)


def spdx_violations(path: Path) -> list[str]:
    """A Python file without the two licence lines at its top (after a ``#!`` line, if any)."""
    lines = path.read_text(encoding="utf-8").splitlines()
    if lines and lines[0].startswith("#!"):
        lines = lines[1:]
    return [] if tuple(lines[:2]) == _SPDX else [f"{path}: the two SPDX lines are not at its top"]


def path_violations(path: Path) -> list[str]:
    """Absolute paths of somebody's machine in any text file; files that are not text have none."""
    try:
        text = path.read_text(encoding="utf-8")
    except UnicodeDecodeError:
        return []
    return [
        f"{path}:{number}: mentions a path of some machine: {line.strip()[:80]}"
        for number, line in enumerate(text.splitlines(), 1)
        if _MACHINE_PATH.search(line)
    ]
