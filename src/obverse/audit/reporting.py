"""The report: what share of views is fully valid, by method and lever, and how far people and judge agree."""

from __future__ import annotations

import os
from collections import Counter, defaultdict
from collections.abc import Iterable, Mapping, Sequence
from itertools import combinations
from pathlib import Path
from typing import Any

import orjson

from obverse.audit.agreement import kappa, wilson
from obverse.audit.drawing import Key, read_keys
from obverse.audit.judgements import Judgement, read_judgements
from obverse.errors import InputError
from obverse.files import digest, write_json
from obverse.text_table import text_table

CRITERIA: dict[str, str] = {
    "keeps_meaning": "the instruction keeps the query's meaning",
    "positive_fits": "the positive satisfies it, and no instruction negative does",
    "negative_is_hard": "every instruction negative is on topic and breaks it",
    "nothing_invented": "no invented condition, no leaked answer",
}
_JUDGE_ROLES = {"off_topic": 1, "breaks": 2, "satisfies": 3}


def verdicts(key: Key, judgement: Judgement) -> dict[str, bool]:
    """Returns for each of the four criteria whether a person found it met; "can't tell" is not met.

    The four criteria are those of *Natural Hard-Negative Mining from Positives for Instruction-Following Retrieval*:
    the query's meaning is kept, the new positive really fits better, the original positive is a valid hard negative,
    nothing is invented and no answer given away. The second and third follow from the documents' roles, which people
    give without knowing the labels.

    Raises:
        InputError: If a shown document has no role.
    """
    roles: dict[str, list[int | None]] = defaultdict(list)
    for number, label in enumerate(key.labels, start=1):
        if number not in judgement.documents:
            raise InputError(
                f"document {number} of {key.sample_id} has no role",
                where=f"labels of {judgement.who}",
                fix="Give every document a role, or ?",
            )
        roles[label].append(judgement.documents[number])
    right, hard = roles["positive"], roles["instruction_negative"]
    return {
        "keeps_meaning": judgement.answers.get("keeps_meaning") is True,
        "positive_fits": all(r == 3 for r in right) and all(r in (1, 2) for r in hard),
        "negative_is_hard": all(r == 2 for r in hard),
        "nothing_invented": judgement.answers.get("nothing_invented") is True,
    }


def audit_report(keys: Mapping[str, Key], judgements: Sequence[Judgement]) -> dict[str, Any]:
    """Returns the report.

    An item is fully valid where every person who judged it finds all four criteria met.

    Raises:
        InputError: If there is no judgement, or one of an item that is not in the sample.
    """
    if not judgements:
        raise InputError(
            "there is no judgement yet", fix="Fill in the sheet or run obverse audit label"
        )
    by_item: dict[str, dict[str, dict[str, bool]]] = defaultdict(dict)
    for judgement in judgements:
        if judgement.sample_id not in keys:
            raise InputError(
                f"{judgement.sample_id!r} is not in the sample",
                where=f"labels of {judgement.who}",
                fix="Judge the sample that is named",
            )
        by_item[judgement.sample_id][judgement.who] = verdicts(keys[judgement.sample_id], judgement)
    met = {
        item: {name: all(found[name] for found in people.values()) for name in CRITERIA}
        for item, people in by_item.items()
    }
    valid = {item: all(found.values()) for item, found in met.items()}
    methods: dict[str, list[bool]] = defaultdict(list)
    levers: dict[str, list[bool]] = defaultdict(list)
    for item, good in valid.items():
        key = keys[item]
        methods[key.method].append(good)
        levers[f"{key.method} / {key.lever}"].append(good)
    return {
        "sampled": len(keys),
        "judged": len(valid),
        "people": sorted({judgement.who for judgement in judgements}),
        "fully_valid": _share(valid.values()),
        "criteria": {name: _share(found[name] for found in met.values()) for name in CRITERIA},
        "by_method": {name: _share(values) for name, values in sorted(methods.items())},
        "by_lever": {name: _share(values) for name, values in sorted(levers.items())},
        "agreement": _agreement(keys, judgements, by_item),
        "judge_against_people": _confusion(keys, judgements),
        "invalid": sorted(item for item, good in valid.items() if not good),
    }


def _share(values: Iterable[bool]) -> dict[str, Any]:
    found = list(values)
    low, high = wilson(sum(found), len(found))
    return {
        "value": round(sum(found) / len(found), 4),
        "low": round(low, 4),
        "high": round(high, 4),
        "hits": sum(found),
        "n": len(found),
    }


def _agreement(
    keys: Mapping[str, Key],
    judgements: Sequence[Judgement],
    by_item: Mapping[str, Mapping[str, Mapping[str, bool]]],
) -> list[dict[str, Any]]:
    """Returns kappa of each two people, on documents' roles and on full validity of the items both judged."""
    by_person: dict[str, dict[str, Judgement]] = defaultdict(dict)
    for judgement in judgements:
        by_person[judgement.who][judgement.sample_id] = judgement
    rows = []
    for a, b in combinations(sorted(by_person), 2):
        shared = sorted(by_person[a].keys() & by_person[b].keys())
        roles = [
            (by_person[a][item].documents[n], by_person[b][item].documents[n])
            for item in shared
            for n in range(1, len(keys[item].labels) + 1)
        ]
        full = [(all(by_item[i][a].values()), all(by_item[i][b].values())) for i in shared]
        rows.append(
            {
                "people": [a, b],
                "items": len(shared),
                "kappa_roles": _rounded(kappa(roles)),
                "kappa_valid": _rounded(kappa(full)),
                "disagreements": [i for i, (x, y) in zip(shared, full, strict=True) if x != y],
            }
        )
    return rows


def _rounded(value: float | None) -> float | None:
    return None if value is None else round(value, 4)


def _confusion(keys: Mapping[str, Key], judgements: Sequence[Judgement]) -> dict[str, Any] | None:
    """Returns how often people gave each role to documents of each verdict of the LLM judge; None without one."""
    table: Counter[tuple[str, str]] = Counter()
    pairs = []
    for judgement in judgements:
        for number, verdict in enumerate(keys[judgement.sample_id].judge, start=1):
            role = judgement.documents.get(number)
            if verdict is not None and role is not None:
                table[verdict, str(role)] += 1
                pairs.append((_JUDGE_ROLES[verdict], role))
    if not pairs:
        return None
    rows = {
        verdict: {f"people_{role}": table[verdict, str(role)] for role in (1, 2, 3)}
        for verdict in _JUDGE_ROLES
    }
    agree = sum(a == b for a, b in pairs) / len(pairs)
    return {
        "n": len(pairs),
        "agree": round(agree, 4),
        "kappa": _rounded(kappa(pairs)),
        "table": rows,
    }


def report_on_files(
    sample: str | os.PathLike[str],
    labels: Sequence[str | os.PathLike[str]],
    topics: str | os.PathLike[str] | None = None,
) -> dict[str, Any]:
    """Returns the report on a sample's labels files; where topics are named, their made-file gets it too."""
    report = audit_report(read_keys(sample), read_judgements(labels))
    report = {"sample": Path(sample).name, "sample_sha256": digest(sample), **report}
    if topics is not None:
        note_in_made_file(topics, report)
    return report


def note_in_made_file(topics: str | os.PathLike[str], report: Mapping[str, Any]) -> None:
    """Puts the report into ``<topics>.made.json`` under the key ``audit``; what stands there stays.

    Raises:
        InputError: If there are no such topics, or their made-file is no JSON object.
    """
    if not Path(topics).exists():
        raise InputError("no such file", where=os.fspath(topics), fix="Name the audited topics")
    path = Path(f"{os.fspath(topics)}.made.json")
    try:
        made = orjson.loads(path.read_bytes()) if path.is_file() else {}
        made["audit"] = dict(report)
    except (orjson.JSONDecodeError, TypeError):
        raise InputError(
            "is no JSON object", where=str(path), fix="Make the topics again"
        ) from None
    write_json(path, made)


def report_text(report: Mapping[str, Any]) -> str:
    """Returns the report as plain text."""
    lines = [
        f"{report['judged']} of {report['sampled']} items judged by {', '.join(report['people'])}",
        f"fully valid: {_said(report['fully_valid'])}",
        "",
        *(f"{_said(report['criteria'][name])}  {text}" for name, text in CRITERIA.items()),
    ]
    for title, name in (("method", "by_method"), ("method / lever", "by_lever")):
        rows = [
            {title: label, "valid": share["hits"], "n": share["n"], "share": share["value"]}
            | {"low": share["low"], "high": share["high"]}
            for label, share in report[name].items()
        ]
        lines += ["", text_table(rows, percent=("share", "low", "high"))]
    for row in report["agreement"]:
        lines += [
            "",
            f"{' and '.join(row['people'])}, {row['items']} items: kappa {_or_dash(row['kappa_roles'])} on roles, "
            f"{_or_dash(row['kappa_valid'])} on validity",
            f"they disagree on: {', '.join(row['disagreements']) or 'none'}",
        ]
    if (confusion := report["judge_against_people"]) is not None:
        table = [{"judge": v, **counts} for v, counts in confusion["table"].items()]
        lines += [
            "",
            f"LLM judge against people: {100 * confusion['agree']:.1f} % of {confusion['n']} the same",
        ]
        lines += [text_table(table)]
    lines += ["", f"not fully valid: {', '.join(report['invalid']) or 'none'}"]
    return "\n".join(lines)


def _said(share: Mapping[str, Any]) -> str:
    return (
        f"{100 * share['value']:5.1f} % ({share['hits']} of {share['n']}; "
        f"95 %: {100 * share['low']:.1f} to {100 * share['high']:.1f})"
    )


def _or_dash(value: float | None) -> str:
    return "-" if value is None else f"{value:.2f}"
