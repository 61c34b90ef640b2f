"""A plain terminal dialogue: one key a judgement, stopped and continued at will."""

from __future__ import annotations

import contextlib
import os
import sys
import textwrap
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import TextIO

from obverse.audit.drawing import QUESTIONS, ROLES, Item
from obverse.audit.judgements import Judgement, read_judgements
from obverse.errors import SettingError
from obverse.files import to_json

_WIDTH = 100
_EXCERPT = 1_500
_KEYS = "1 off topic   2 breaks the instruction   3 satisfies   ? can't tell   u back   q stop"
_YES_NO_KEYS = "y yes   n no   ? can't tell   u back   q stop"

Answer = int | bool | None


class _Stop(Exception):
    """The person wants to go on another time."""


def judge_in_terminal(
    items: Sequence[Item],
    labels: str | os.PathLike[str],
    who: str,
    read_key: Callable[[], str],
    screen: TextIO = sys.stderr,
) -> int:
    """Asks a person about every item that they have not judged yet; each judged item is on the disk at once.

    Args:
        items: The sample.
        labels: Where judgements are appended, JSON Lines.
        who: The person.
        read_key: Returns the next key pressed; an empty string ends the dialogue.
        screen: Where items and questions are shown.

    Returns:
        How many items were judged this time.

    Raises:
        SettingError: If no name is given.
    """
    if not who.strip() or set(who) & set("/\\"):
        raise SettingError(f"--who {who!r} is no name", fix="Give a name without slashes")
    done = set()
    if Path(labels).is_file() and Path(labels).stat().st_size:
        done = {j.sample_id for j in read_judgements([labels]) if j.who == who}
    left = [item for item in items if item.sample_id not in done]
    print(f"{len(done)} of {len(items)} judged, {len(left)} left", file=screen)
    count = 0
    with contextlib.suppress(_Stop):
        for item in left:
            print(f"\n{'=' * _WIDTH}\nItem {len(done) + count + 1} of {len(items)}", file=screen)
            _append(labels, _ask_item(item, who, read_key, screen))
            count += 1
    print(f"\n{count} judged now, {len(left) - count} left; run it again to go on", file=screen)
    return count


def _ask_item(item: Item, who: str, read_key: Callable[[], str], screen: TextIO) -> Judgement:
    """Asks about documents, then about the instruction; ``u`` goes back one question."""
    _show(item, screen)
    questions = [(f"Document {n}", _KEYS, dict(_role_keys())) for n in _numbers(item)]
    questions += [(text, _YES_NO_KEYS, dict(_yes_no_keys())) for text in QUESTIONS.values()]
    answers: list[Answer] = []
    while len(answers) < len(questions):
        text, keys, meanings = questions[len(answers)]
        print(f"\n{text}\n  [{keys}] ", end="", file=screen, flush=True)
        key = read_key().lower()
        print(key, file=screen)
        if key in ("", "q", "\x03", "\x04"):
            raise _Stop
        if key == "u":
            answers = answers[:-1]
        elif key in meanings:
            answers.append(meanings[key])
    roles, rest = answers[: len(item.documents)], answers[len(item.documents) :]
    return Judgement(
        item.sample_id,
        who,
        {
            n: None if role is None else int(role)
            for n, role in zip(_numbers(item), roles, strict=True)
        },
        {name: None if a is None else bool(a) for name, a in zip(QUESTIONS, rest, strict=True)},
    )


def _role_keys() -> Iterator[tuple[str, Answer]]:
    yield from ((str(role), role) for role in ROLES)
    yield "?", None


def _yes_no_keys() -> Iterator[tuple[str, Answer]]:
    yield from (("y", True), ("n", False), ("?", None))


def _numbers(item: Item) -> range:
    return range(1, len(item.documents) + 1)


def _show(item: Item, screen: TextIO) -> None:
    print(f"\nQuery:        {item.query}\nInstruction:  {item.instruction}", file=screen)
    for number, doc in enumerate(item.documents, start=1):
        text = doc.text if len(doc.text) <= _EXCERPT else f"{doc.text[:_EXCERPT]} [...]"
        print(f"\n--- Document {number}: {doc.title}", file=screen)
        print(textwrap.fill(text, _WIDTH), file=screen)


def _append(labels: str | os.PathLike[str], judgement: Judgement) -> None:
    """A line that was cut off by a crash is ended first, so that it spoils no other."""
    path = Path(labels)
    path.parent.mkdir(parents=True, exist_ok=True)
    with open(path, "ab+") as stream:
        if stream.tell():
            stream.seek(-1, os.SEEK_END)
            if stream.read(1) != b"\n":
                stream.write(b"\n")
        stream.write(to_json(judgement.row()) + b"\n")
        stream.flush()
        os.fsync(stream.fileno())


def key_reader(stream: TextIO) -> Callable[[], str]:
    """Returns what reads single keys from a terminal, or the characters of a pipe without its line ends."""
    if not stream.isatty():
        return lambda: next((c for c in iter(lambda: stream.read(1), "") if not c.isspace()), "")

    def read() -> str:
        import termios
        import tty

        before = termios.tcgetattr(stream.fileno())
        try:
            tty.setcbreak(stream.fileno())
            return stream.read(1)
        finally:
            termios.tcsetattr(stream.fileno(), termios.TCSADRAIN, before)

    return read
