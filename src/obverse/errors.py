"""The errors that a user can mend: each says what is wrong, where, and what to do."""

from __future__ import annotations


class ObverseError(Exception):
    """Something that the user can mend. The command line prints it as one line and exits with status 2.

    Args:
        what: What is wrong, in one clause.
        where: The place: ``file:line``, a topic, a field, a model folder.
        fix: What to do about it.
    """

    exit_status = 2

    def __init__(self, what: str, *, where: str | None = None, fix: str | None = None) -> None:
        self.what, self.where, self.fix = what, where, fix
        line = f"{where}: {what}" if where else what
        super().__init__(f"{line}. {fix}" if fix else line)

    def at(self, where: str) -> ObverseError:
        """Returns the same error with a place put before the one it has."""
        place = f"{where}, {self.where}" if self.where else where
        return type(self)(self.what, where=place, fix=self.fix)


class InputError(ObverseError):
    """The data are not what they should be.

    Args:
        code: The code under which ``obverse check`` lists the fault (:data:`obverse.read.faults.FAULTS`); None where
            it is not about what a file holds, as with a file that is missing.
    """

    def __init__(
        self,
        what: str,
        *,
        where: str | None = None,
        fix: str | None = None,
        code: str | None = None,
    ) -> None:
        super().__init__(what, where=where, fix=fix)
        self.code = code

    def at(self, where: str) -> InputError:
        """Returns the same error with a place put before the one it has."""
        place = f"{where}, {self.where}" if self.where else where
        return type(self)(self.what, where=place, fix=self.fix, code=self.code)


class SettingError(ObverseError):
    """A flag or parameter makes no sense, alone or beside the data."""


class ModelError(ObverseError):
    """A model cannot be loaded, or is not what it was said to be."""


class MissingExtra(ObverseError):
    """A dependency is not installed.

    Args:
        package: The package.
        extra: The extra that brings it; None where it comes with obverse itself.
        purpose: What needs it.
    """

    def __init__(self, package: str, extra: str | None, purpose: str) -> None:
        wanted = f"'obverse[{extra}]'" if extra else package
        super().__init__(
            f"{purpose} needs the package {package}", fix=f"Install it: pip install {wanted}"
        )
