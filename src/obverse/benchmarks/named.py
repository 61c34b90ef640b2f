"""Benchmarks by name, each with its place on the hub."""

from __future__ import annotations

from dataclasses import dataclass
from importlib import import_module
from pathlib import Path
from typing import Any

from obverse.benchmarks.benchmark import Benchmark
from obverse.errors import SettingError
from obverse.files import read_json_lines


@dataclass(frozen=True, slots=True)
class Entry:
    """Where a benchmark's loader is, where its data are by subset, and what it asks."""

    loader: str
    says: str
    hub: str = ""
    subsets: tuple[str, ...] = ()


BENCHMARKS: dict[str, Entry] = {
    "topics": Entry(
        "topics:topics_benchmark", "our folders: one corpus judged under several instructions"
    ),
    "constraints": Entry(
        "constraints:constraints", "a BEIR folder whose queries carry instructions"
    ),
    "followir": Entry(
        "followir:followir",
        "changed instructions, thousand candidates",
        "mteb/{}InstructionRetrieval",
        ("robust04", "core17", "news21"),
    ),
    "mfollowir": Entry(
        "mfollowir:mfollowir",
        "the same in three more languages",
        "jhu-clsp/mFollowIR-parquet-mteb",
        ("rus", "fas", "zho", "eng-rus", "eng-fas", "eng-zho"),
    ),
    "instructir": Entry(
        "instructir:instructir", "one query, many users' instructions", "mteb/InstructIR-mteb"
    ),
    "infosearch": Entry(
        "infosearch:infosearch",
        "six dimensions of documents, three modes",
        "jianqunZ/{}-v1",
        ("audience", "keyword", "format", "language", "length", "source"),
    ),
    "mair": Entry("mair:mair", "126 instructed tasks", "", ("IFEval", "InstructIR")),
    "nevir": Entry("nevir:nevir", "pairs that differ by a negation", "orionweller/NevIR"),
    "excluir": Entry("excluir:excluir", "queries that exclude something"),
    "negconstraint": Entry("beir:negconstraint", "negative constraints, BEIR layout"),
    "msmarco": Entry("msmarco:msmarco", "MS MARCO dev small, MRR@10"),
    "beir": Entry("beir:beir", "plain retrieval: a BEIR or NanoBEIR set"),
}


_CROSS_LINGUAL = "jhu-clsp/mFollowIR-cross-lingual-parquet-mteb"
_ON_THE_HUB = {"keyword": "Clarity"}
"""Subsets that their publishers call otherwise."""


def load_benchmark(
    spec: str, *, scope: str = "pool", guard: str = "corpus", partial: bool = False
) -> Benchmark:
    """Loads what ``--on`` says: a folder, ``NAME=PLACE``, ``NAME:SUBSET=PLACE``, or ``NAME:SUBSET`` from the hub.

    A bare folder is a topics benchmark if it holds topics.jsonl, ``constraints`` if its queries carry instructions,
    else a BEIR set.

    Args:
        spec: What to load.
        scope: For topics: what the views are searched over.
        guard: For topics: what the plain test queries are searched over.
        partial: Whether half-present data are computed on.

    Raises:
        SettingError: If there is no such benchmark.
        InputError: If the data are missing, wrong or half present.
    """
    name, place = _split(spec)
    name, _, subset = name.partition(":")
    if name not in BENCHMARKS:
        raise SettingError(
            f"{spec!r} is neither a folder nor a benchmark",
            fix=f"Name a folder, or NAME[:SUBSET]=PLACE with NAME one of {', '.join(BENCHMARKS)}",
        )
    entry = BENCHMARKS[name]
    options: dict[str, Any] = {"partial": partial}
    if subset:
        options["subset"] = subset
    if name == "topics":
        options |= {"scope": scope, "guard": guard}
    module, _, function = entry.loader.partition(":")
    load = getattr(import_module(f"obverse.benchmarks.{module}"), function)
    found: Benchmark = load(
        place or _hub_place(name, subset or next(iter(entry.subsets), "")), **options
    )
    return found


def _split(spec: str) -> tuple[str, str]:
    if Path(spec).is_dir():
        return _kind_of(Path(spec)), spec
    name, _, place = spec.partition("=")
    if name in BENCHMARKS or name.partition(":")[0] in BENCHMARKS:
        return name, place
    head, _, rest = spec.partition(":")
    return (head, rest) if head in BENCHMARKS else (spec, "")


def _kind_of(folder: Path) -> str:
    def has(stem: str) -> Path | None:
        return next(
            (p for s in ("", ".gz", ".zst") if (p := folder / f"{stem}{s}").is_file()), None
        )

    if has("topics.jsonl"):
        return "topics"
    _refuse_other_layout(folder)
    queries = has("queries.jsonl")
    if (folder / "violations.json").is_file():
        return "constraints"
    if queries is not None:
        _, first = next(read_json_lines(queries), (0, {}))
        if isinstance(first, dict) and first.get("instruction"):
            return "constraints"
        return "beir"
    return "topics"


def _refuse_other_layout(folder: Path) -> None:
    """A folder of FollowIR or InstructIR is easily taken for a BEIR set, and measured as none of them is."""
    tables = {path.name.split(".")[0].partition("-")[0] for path in folder.iterdir()}
    for table, meant in (
        ("top_ranked", "followir:core17"),
        ("qrel_diff", "followir:core17"),
        ("qrels_reversed", "infosearch:audience"),
        ("instruction", "instructir"),
    ):
        if table in tables:
            raise SettingError(
                f"{folder} holds a table {table}, so it is no plain BEIR set",
                fix=f"Say which benchmark it is: {meant}={folder}",
            )


def _hub_place(name: str, subset: str) -> str:
    hub = BENCHMARKS[name].hub
    if not hub:
        raise SettingError(
            f"it is not said where the data of {name} are", fix=f"Write {name}=FOLDER"
        )
    if name == "mfollowir" and subset.startswith("eng-"):
        return f"hub:{_CROSS_LINGUAL}"
    return f"hub:{hub.format(_ON_THE_HUB.get(subset, subset.capitalize()))}"
