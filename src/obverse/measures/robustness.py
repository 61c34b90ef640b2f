"""Robustness@k: the worst instruction of each query, and the rules by which queries are grouped."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from obverse.errors import InputError, SettingError
from obverse.measures.judged import Missing
from obverse.measures.measured import Measured, over_topics
from obverse.measures.ndcg import ndcg
from obverse.records import Qrels, Run

Groups = Mapping[str, Sequence[str]]
"""The ids of the instructed queries by group: one group is one query under several instructions."""


def robustness(
    run: Run,
    qrels: Qrels,
    groups: Groups,
    k: int = 10,
    *,
    missing: Missing = "count",
    same_ids: bool = True,
    seed: int = 0,
) -> Measured:
    """Returns the mean over queries of the worst nDCG@k that any of the query's instructions gets, in [0, 1].

    Higher is better. Grades, ties and cutoff as in :func:`~obverse.measures.ndcg.ndcg`.

    After Oh et al. (2024), *InstructIR: A Benchmark for Instruction Following of Information Retrieval Models*,
    https://arxiv.org/abs/2402.14334. An instructed query without results counts as 0 here; in the authors' code it
    vanishes and in mteb it raises.

    Args:
        run: Scores by instructed query and document.
        qrels: Grades by instructed query and document.
        groups: Which instructed queries belong together: declared, or by :func:`groups_by_text`,
            :func:`groups_by_authors_rule` or :func:`groups_by_prefix`.
        k: The cutoff of nDCG.
        missing: What becomes of a judged query that the run lacks.
        same_ids: Whether a document whose id equals the query's stays.
        seed: Seed of the interval.

    Raises:
        InputError: If a query stands in two groups, or a judged query in none.
    """
    _check_groups(groups, qrels)
    each = ndcg(run, qrels, k, missing=missing, same_ids=same_ids, seed=seed)
    worst = worst_of_groups(each.counted, groups)
    sizes = {
        name: sum(member in each.counted for member in members) for name, members in groups.items()
    }
    notes: dict[str, Any] = {
        key: note for key, note in each.notes.items() if key != "without_judgements"
    }
    unjudged = [member for members in groups.values() for member in members if member not in qrels]
    return over_topics(
        f"Robustness@{k}",
        worst,
        notes=notes
        | {
            "groups": len(groups),
            "groups_of_one": [name for name, size in sizes.items() if size == 1],
            "groups_without_judged_queries": [name for name, size in sizes.items() if not size],
            "without_judgements": unjudged,
        },
        reason="no group has a judged query",
        seed=seed,
    )


def worst_of_groups(values: Mapping[str, float], groups: Groups) -> dict[str, float | None]:
    """Returns the lowest value of each group's members that have one."""
    return {
        name: min((values[member] for member in members if member in values), default=None)
        for name, members in groups.items()
    }


def groups_by_text(queries: Mapping[str, str]) -> dict[str, list[str]]:
    """Returns groups of the queries whose text, without the instruction, is the same; named by that text."""
    groups: dict[str, list[str]] = {}
    for query_id, text in queries.items():
        groups.setdefault(text.strip(), []).append(query_id)
    return groups


def groups_by_authors_rule(inputs: Mapping[str, str]) -> dict[str, list[str]]:
    """Returns InstructIR's groups as its authors build them: by what follows ``[SEP]`` in the input string.

    Raises:
        InputError: If a string has no ``[SEP]`` or more than one.
    """
    texts = {}
    for query_id, text in inputs.items():
        parts = text.split("[SEP]")
        if len(parts) != 2:
            raise InputError(
                f"the input string of query {query_id!r} has {len(parts) - 1} [SEP], not one",
                fix="Group by text or by a file of groups",
            )
        texts[query_id] = parts[1]
    return groups_by_text(texts)


def groups_by_prefix(query_ids: Iterable[str]) -> dict[str, list[str]]:
    """Returns groups as mteb builds them: by what stands before the first ``_`` of the id.

    Ids whose own name holds a ``_`` fall together under this rule; declared groups have no such fault.
    """
    groups: dict[str, list[str]] = {}
    for query_id in query_ids:
        groups.setdefault(query_id.split("_")[0], []).append(query_id)
    return groups


def groups_from_json(value: Any, where: str) -> dict[str, list[str]]:
    """Returns declared groups: ``{group: [query_id, ...]}`` or ``{query_id: group}``.

    Raises:
        InputError: If the value is neither.
    """
    if isinstance(value, dict) and value:
        if all(
            isinstance(members, list) and all(isinstance(member, str) for member in members)
            for members in value.values()
        ):
            return {name: list(members) for name, members in value.items()}
        if all(isinstance(name, str) for name in value.values()):
            groups: dict[str, list[str]] = {}
            for query_id, name in value.items():
                groups.setdefault(name, []).append(query_id)
            return groups
    raise InputError(
        "holds no groups",
        where=where,
        fix='Write {"group": ["query_id", ...]} or {"query_id": "group"}',
    )


def _check_groups(groups: Groups, qrels: Qrels) -> None:
    if not groups:
        raise SettingError("there are no groups", fix="Say which queries belong together")
    home: dict[str, str] = {}
    for name, members in groups.items():
        for member in members:
            if home.setdefault(member, name) != name:
                raise InputError(
                    f"query {member!r} stands in the groups {home[member]!r} and {name!r}",
                    fix="Keep it in one",
                )
    stray = [query_id for query_id in qrels if query_id not in home]
    if stray:
        raise InputError(
            f"{len(stray)} judged {'query stands' if len(stray) == 1 else 'queries stand'} in no group, first "
            f"{stray[0]!r}",
            fix="Add them to a group",
        )
