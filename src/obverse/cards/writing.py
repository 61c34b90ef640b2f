"""Cards written beside what they describe."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from obverse.cards.data_card import data_card, data_facts
from obverse.cards.model_card import Measured, model_card
from obverse.cards.sections import MARK
from obverse.errors import InputError, SettingError
from obverse.files import read_json, whole_file
from obverse.inputs import FILE_NAME, saved_template

NAME = "README.md"
MADE = "training.made.json"
_MARK = re.compile(re.escape(MARK).replace(r"\{title\}", "(.*)"))


def write_model_card(
    folder: str | Path,
    *,
    data: Sequence[str | Path] = (),
    scores: Sequence[Measured] = (),
    license: str | None = None,
    sources: Mapping[str, str] | None = None,
    language: Sequence[str] = (),
    leaks: Sequence[Mapping[str, Any]] = (),
    name: str | None = None,
    out: str | Path | None = None,
) -> Path:
    """Writes the README.md of a model folder and returns its path.

    Args:
        folder: A folder that ``obverse train`` wrote.
        data: The topics files that it was trained on.
        scores: What it reached; the model's own first.
        license: The licence of the model.
        sources: The licence of each source, by its name.
        language: Codes of the languages.
        leaks: Checks of the data against test sets.
        name: What the model is called; by default as its folder.
        out: Where the card goes instead; ``-`` is standard output.

    Raises:
        InputError: If the folder holds no model that was trained here, or was trained on other data.
        SettingError: If a card that was written by hand stands there.
    """
    home = Path(folder)
    if not (home / MADE).is_file() or not (home / FILE_NAME).is_file():
        raise InputError(
            f"holds no {MADE}, so it is no model that obverse has trained",
            where=str(home),
            fix="Name the folder of obverse train --out",
        )
    made, template = read_json(home / MADE), saved_template(home)
    assert template is not None  # the file is there, and a bad one is refused
    facts = data_facts([Path(file) for file in data]) if data else None
    if facts is not None:
        _refuse_other_data(home, made, [book.digest for book in facts.ledgers.values()])
    title = name or home.resolve().name
    text = model_card(
        title,
        made,
        template,
        int(read_json(home / FILE_NAME).get("max_tokens", 0)),
        data=facts,
        scores=scores,
        license=license,
        sources=sources,
        language=language,
        leaks=leaks,
    )
    return _write(text, out or home / NAME, None)


def write_data_card(
    files: Sequence[str | Path],
    *,
    license: str | None = None,
    sources: Mapping[str, str] | None = None,
    language: Sequence[str] = (),
    leaks: Sequence[Mapping[str, Any]] = (),
    name: str | None = None,
    out: str | Path | None = None,
) -> Path:
    """Writes the README.md beside topics files, which are the splits of one set, and returns its path.

    Raises:
        InputError: If a file holds no topics.
        SettingError: If the card of another set, or one that was written by hand, stands there.
    """
    paths = [Path(file) for file in files]
    title = name or _stem(paths)
    text = data_card(
        title,
        data_facts(paths),
        license=license,
        sources=sources,
        language=language,
        leaks=leaks,
    )
    return _write(text, out or paths[0].parent / NAME, title)


def _stem(paths: Sequence[Path]) -> str:
    if len(paths) > 1:
        return paths[0].resolve().parent.name
    return paths[0].name.split(".")[0] or paths[0].name


def _refuse_other_data(home: Path, made: Mapping[str, Any], digests: Sequence[str]) -> None:
    trained = (made.get("trained_on") or {}).get("digest")
    if trained is not None and len(digests) == 1 and trained != digests[0]:
        raise InputError(
            f"was trained on other data: digest {trained[:12]}, and the file's is {digests[0][:12]}",
            where=str(home),
            fix="Name the file that it was trained on (obverse ledger show says a file's digest)",
        )


def _write(text: str, out: str | Path, title: str | None) -> Path:
    """Writes over a card of the same title, or, where a folder has one card only, of any."""
    path = Path(out)
    if str(out) != "-" and path.exists():
        found = _MARK.search(path.read_text(encoding="utf-8")) if path.is_file() else None
        if found is None or title not in (None, found[1]):
            of = f"is the card of {found[1]}" if found else "was not written by obverse"
            raise SettingError(of, where=str(path), fix="Give another place with --out")
    with whole_file(path) as stream:
        stream.write(text.encode("utf-8", "surrogatepass"))
    return path
