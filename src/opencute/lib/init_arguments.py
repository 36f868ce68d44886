# SPDX-FileCopyrightText: 2026 The OpenCuTe authors
# SPDX-License-Identifier: Apache-2.0
"""Options of command lines that say what tensors of an example hold.

In: a parser. Out: its options ``--init_normal``, ``--normal_mean`` and ``--normal_std``::

    add_tensor_init_args(parser)
    args = parser.parse_args()
    validate_tensor_init_args(args, parser)
"""

from __future__ import annotations

import argparse

__all__ = ["add_tensor_init_args", "validate_tensor_init_args"]


def add_tensor_init_args(
    parser: argparse.ArgumentParser, *, supports_int_dtypes: bool = False
) -> None:
    """Add the options.

    Args:
        parser: gets them.
        supports_int_dtypes: whether the example also has integers, which stay whole numbers.
    """
    rest = "; integers stay whole numbers of equal chance" if supports_int_dtypes else ""
    parser.add_argument(
        "--init_normal", action="store_true",
        help=f"fill tensors with normally distributed numbers{rest}",
    )  # fmt: skip
    for name, default, what in (("mean", 0.0, "mean"), ("std", 1.0, "standard deviation")):
        parser.add_argument(
            f"--normal_{name}", type=float, default=default,
            help=f"their {what}, with --init_normal",
        )  # fmt: skip


def validate_tensor_init_args(args: argparse.Namespace, parser: argparse.ArgumentParser) -> None:
    """End the program, as parsers do, where the options contradict each other.

    Args:
        args: what has been parsed.
        parser: says what is wrong.
    """
    if not args.normal_std > 0:
        parser.error("--normal_std is positive")
    for name in ("normal_mean", "normal_std"):
        if not args.init_normal and getattr(args, name) != parser.get_default(name):
            parser.error(f"--{name} goes with --init_normal")
