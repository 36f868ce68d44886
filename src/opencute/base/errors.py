# SPDX-FileCopyrightText: 2026 The OpenCuTe authors
# SPDX-License-Identifier: Apache-2.0
"""Every exception that OpenCuTe raises on purpose.

    OpenCuTeError
    ├── CompileError              the user's source cannot be compiled
    │   ├── LanguageError         a Python construct that cannot mean anything here
    │   │   └── UnknownNameError  (also AttributeError) there is no such attribute; names near ones
    │   ├── TypeMismatchError     (also TypeError) operand or argument types do not fit
    │   ├── LayoutError           (also ValueError) shapes, strides or tilers do not fit
    │   ├── VerificationError     an operation breaks a rule of its dialect
    │   └── ToolchainError        LLVM or ptxas refused what we gave them
    ├── ArgumentError             (also ValueError) a call's arguments do not fit what was compiled
    │   └── ArgumentTypeError     (also TypeError) an argument is of another type
    ├── SimulationError           the simulator found a fault while running a kernel
    │   ├── OutOfBoundsError
    │   ├── MisalignedError
    │   ├── UninitializedError
    │   ├── RaceError
    │   ├── DeadlockError
    │   └── FailedAssertionError  (also AssertionError) a condition that a program asserts is false
    ├── DeviceError               the CUDA driver reported an error
    └── MissingPieceError         something that is not installed; says what to install

User mistakes raise one of these; ``assert`` is for our own bugs.
"""

from __future__ import annotations

from opencute.base.location import Location
from opencute.base.words import singular

__all__ = [
    "ArgumentError",
    "ArgumentTypeError",
    "CompileError",
    "DeadlockError",
    "DeviceError",
    "FailedAssertionError",
    "LanguageError",
    "LayoutError",
    "MisalignedError",
    "MissingPieceError",
    "OpenCuTeError",
    "OutOfBoundsError",
    "RaceError",
    "SimulationError",
    "ToolchainError",
    "TypeMismatchError",
    "UninitializedError",
    "UnknownNameError",
    "VerificationError",
]


class OpenCuTeError(Exception):
    """Base of all errors.

    Args:
        message: what is wrong, in one sentence.
        code: stable identifier such as ``"OC2003"``; the class's default when omitted.
        loc: the user's source position, rendered with a caret.
        expected: what would have been right (a layout, a type, an alignment).
        found: what was there instead.
        hint: what to change.
    """

    default_code = "OC0000"

    def __init__(
        self,
        message: str,
        *,
        code: str | None = None,
        loc: Location | None = None,
        expected: object = None,
        found: object = None,
        hint: str | None = None,
    ) -> None:
        self.message = message = singular(message)
        self.code = code or self.default_code
        self.loc = loc
        self.expected = expected
        self.found = found
        self.hint = hint
        super().__init__(message)

    def at(self, loc: Location | None) -> OpenCuTeError:
        """The same error, placed at `loc` unless it already has a position."""
        if self.loc is None:
            self.loc = loc
        return self

    def _render_traceback_(self) -> list[str]:
        """What IPython shows: the user's frames and the message."""
        from opencute.base.tracebacks import rendered

        return rendered(self)

    def __str__(self) -> str:
        lines = [f"[{self.code}] {self.message}"]
        if self.expected is not None:
            lines.append(f"  expected: {self.expected}")
        if self.found is not None:
            lines.append(f"  found:    {self.found}")
        if self.hint:
            lines.append(f"  hint: {self.hint}")
        text = singular("\n".join(lines))
        return text if self.loc is None else f"{text}\n{self.loc.render()}"


class CompileError(OpenCuTeError):
    """The user's source cannot be compiled."""

    default_code = "OC1000"


class LanguageError(CompileError):
    """A Python construct that has no meaning in compiled code."""

    default_code = "OC1100"


class UnknownNameError(LanguageError, AttributeError):
    """A module, class or object of OpenCuTe has no attribute of that name.

    Args:
        message: what has no such attribute, with the names that are close.
        name: the attribute.
        loc: the user's source position.
        hint: what to write instead.
    """

    default_code = "OC1143"

    def __init__(
        self,
        message: str,
        name: str,
        *,
        code: str | None = None,
        loc: Location | None = None,
        hint: str | None = None,
    ) -> None:
        super().__init__(message, code=code, loc=loc, hint=hint)
        self.name = name
        self.obj = None  # else Python adds a guess of its own to the one of the message


class TypeMismatchError(CompileError, TypeError):
    """Operand or argument types do not fit together."""

    default_code = "OC1200"


class LayoutError(CompileError, ValueError):
    """Shapes, strides, coordinates or tilers do not fit together."""

    default_code = "OC1300"


class VerificationError(CompileError):
    """An operation breaks a rule of its dialect."""

    default_code = "OC1400"


class ToolchainError(CompileError):
    """LLVM or ptxas refused the code that was handed to them."""

    default_code = "OC1500"


class ArgumentError(OpenCuTeError, ValueError):
    """The arguments of a call do not fit what was compiled."""

    default_code = "OC2000"


class ArgumentTypeError(ArgumentError, TypeError):
    """An argument of a call is of another type than what was compiled for."""


class SimulationError(OpenCuTeError):
    """The simulator found a fault while it ran a kernel."""

    default_code = "OC3000"


class OutOfBoundsError(SimulationError):
    """An access outside the array that the pointer belongs to."""

    default_code = "OC3100"


class MisalignedError(SimulationError):
    """A vector access at an address that its width does not divide."""

    default_code = "OC3200"


class UninitializedError(SimulationError):
    """Bytes that nothing wrote reached a branch, an address, a global store or a print."""

    default_code = "OC3300"


class RaceError(SimulationError):
    """Two accesses to the same bytes with no order between them."""

    default_code = "OC3400"


class DeadlockError(SimulationError):
    """No thread can make progress."""

    default_code = "OC3500"


class FailedAssertionError(SimulationError, AssertionError):
    """A condition that the program asserts does not hold."""

    default_code = "OC3013"


class DeviceError(OpenCuTeError):
    """The CUDA driver reported an error, or the simulator one that the driver would report."""

    default_code = "OC4000"

    @property
    def error_code(self) -> int:
        """CUDA's number of the error, 0 if it has none."""
        return int(self.code[3:])


class MissingPieceError(OpenCuTeError):
    """Something that this call needs is not installed."""

    default_code = "OC5000"
