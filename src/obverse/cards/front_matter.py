"""The head of a card, as model and data hubs read it: YAML between two lines of dashes."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping, Sequence
from typing import Any

from obverse.errors import SettingError

_LICENCES = set(
    """unknown other apache-2.0 mit openrail bsd bsd-2-clause bsd-3-clause cc cc0-1.0 cc-by-2.0 cc-by-2.5 cc-by-3.0
    cc-by-4.0 cc-by-sa-3.0 cc-by-sa-4.0 cc-by-nc-2.0 cc-by-nc-3.0 cc-by-nc-4.0 cc-by-nd-4.0 cc-by-nc-nd-3.0
    cc-by-nc-nd-4.0 cc-by-nc-sa-2.0 cc-by-nc-sa-3.0 cc-by-nc-sa-4.0 cdla-sharing-1.0 cdla-permissive-1.0
    cdla-permissive-2.0 odc-by odbl pddl gpl gpl-2.0 gpl-3.0 lgpl lgpl-2.1 lgpl-3.0 agpl-3.0 mpl-2.0 epl-2.0
    gemma llama3 llama3.1 llama3.2 llama3.3 unlicense wtfpl zlib""".split()  # noqa: SIM905
)
_BARE = re.compile(r"[A-Za-z][\w.-]*(/[\w.-]+)?")
_WORDS_OF_YAML = {"y", "n", "yes", "no", "on", "off", "true", "false", "null"}
_LANGUAGE = re.compile(r"[a-z]{2,3}|multilingual|code")
_SIZES = [
    (1_000, "n<1K"),
    (10_000, "1K<n<10K"),
    (100_000, "10K<n<100K"),
    (1_000_000, "100K<n<1M"),
    (10_000_000, "1M<n<10M"),
    (100_000_000, "10M<n<100M"),
]


def front_matter(facts: Mapping[str, Any]) -> str:
    """Returns the head of a card; what is None or empty is left out."""
    lines = ["---"]
    for key, value in facts.items():
        if value in (None, "", [], {}):
            continue
        if isinstance(value, list) and all(isinstance(item, str) for item in value):
            lines += [f"{key}:", *(f"- {_scalar(item)}" for item in value)]
        elif isinstance(value, str):
            lines.append(f"{key}: {_scalar(value)}")
        else:  # JSON is YAML
            lines.append(f"{key}: {json.dumps(value, ensure_ascii=False)}")
    return "\n".join([*lines, "---"])


def licence_facts(licence: str | None) -> dict[str, str]:
    """Returns the keys of a licence; one that hubs have no name for is ``other`` with its name beside."""
    if licence is None:
        return {"license": "unknown"}
    known = licence.strip().lower()
    if known in _LICENCES:
        return {"license": known}
    name = re.sub(r"[^a-z0-9.]+", "-", known).strip("-")
    if not name:
        raise SettingError(f"the licence {licence!r} has no name", fix="Give one such as cc-by-4.0")
    return {"license": "other", "license_name": name}


def languages_of(languages: Sequence[str]) -> list[str]:
    """Returns the languages as codes.

    Raises:
        SettingError: If one is no code of ISO 639.
    """
    for language in languages:
        if not _LANGUAGE.fullmatch(language):
            raise SettingError(
                f"the language {language!r} is no code", fix="Give one of ISO 639, such as en"
            )
    return list(dict.fromkeys(languages))


def size_category(rows: int) -> str:
    """Returns the hub's name for a number of rows."""
    return next((name for most, name in _SIZES if rows < most), "n>100M")


def _scalar(text: str) -> str:
    bare = _BARE.fullmatch(text) and text.lower() not in _WORDS_OF_YAML
    return text if bare else json.dumps(text, ensure_ascii=False)
