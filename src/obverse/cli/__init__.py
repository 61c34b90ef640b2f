"""The command line: stage functions with their parameters as flags."""

from __future__ import annotations

import sys
import traceback

import typer

from obverse import __version__
from obverse.errors import ObverseError

app = typer.Typer(
    name="obverse",
    help="Search that obeys what the user adds to a query: make the data, train the encoder, prove it.",
    no_args_is_help=True,
    add_completion=False,
    pretty_exceptions_enable=False,
    rich_markup_mode=None,
)


@app.callback(invoke_without_command=True)
def _root(
    version: bool = typer.Option(False, "--version", help="Print the version and stop."),
) -> None:
    if version:
        print(__version__)
        raise typer.Exit()


def _register() -> None:
    """Each file of this package adds its commands to :data:`app` when it is imported."""
    from obverse.cli import (  # noqa: F401
        auditing,
        cards,
        checkable,
        comparing,
        data,
        demo,
        evaluating,
        filtering,
        measuring,
        mixing,
        probing,
        recipes,
        synthesis,
        training,
    )


def main() -> None:
    """Runs the command line. A user's mistake is one line on stderr and exit status 2."""
    _register()
    try:
        # Not standalone: a wrong flag would print a block of usage lines instead of one.
        status = app(standalone_mode=False)
        if status == 130:
            raise KeyboardInterrupt
        sys.exit(status if isinstance(status, int) else 0)
    except ObverseError as error:
        print(f"obverse: {error}", file=sys.stderr)
        sys.exit(error.exit_status)
    except KeyboardInterrupt:
        print("obverse: stopped; the old output, if any, is untouched", file=sys.stderr)
        sys.exit(130)
    except BrokenPipeError:
        sys.stderr.close()
        sys.exit(0)
    except Exception as error:
        if (line := _usage(error)) is not None:
            print(line, file=sys.stderr)
            sys.exit(2)
        traceback.print_exc()
        print(
            "obverse: this is a fault of obverse, please report it with the lines above",
            file=sys.stderr,
        )
        sys.exit(1)


def _usage(error: Exception) -> str | None:
    """Returns what to print for a wrong command line, or None for any other error.

    Newer versions of typer bring their own copy of click, so the errors are known by what they can do.
    """
    message = getattr(error, "format_message", None)
    if message is None:
        return None
    if type(error).__name__ == "NoArgsIsHelpError":
        return str(message())
    context = getattr(error, "ctx", None)
    more = f" See {context.command_path} --help" if context is not None else ""
    return f"obverse: {' '.join(str(message()).split()).rstrip('.')}.{more}"
