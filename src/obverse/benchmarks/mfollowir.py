"""mFollowIR: FollowIR in Persian, Russian and Chinese, and with English queries over them."""

from __future__ import annotations

import os

from obverse.benchmarks.benchmark import Benchmark
from obverse.benchmarks.followir import paired_benchmark
from obverse.benchmarks.tables import tables_of
from obverse.errors import SettingError

SUBSETS = ("fas", "rus", "zho", "eng-fas", "eng-rus", "eng-zho")


def mfollowir(
    place: str | os.PathLike[str], *, subset: str = "rus", partial: bool = False
) -> Benchmark:
    """Returns one language of mFollowIR: p-MRR, and nDCG@20 of the original instructions, as its paper reports.

    Only the thousand candidates of a query are ranked; a search over the union of all pools is not this benchmark.

    After Weller et al. (2025), *mFollowIR: A Multilingual Benchmark for Instruction Following in Retrieval*,
    https://arxiv.org/abs/2501.19264.

    Args:
        place: The folder, or ``hub:jhu-clsp/mFollowIR-parquet-mteb``.
        subset: A language, or ``eng-`` and one for English queries.
        partial: Whether half-present data are computed on.
    """
    if subset not in SUBSETS:
        raise SettingError(f"unknown subset {subset!r}", fix=f"Use {', '.join(SUBSETS)}")
    about = {
        "licence": "ODC-By 1.0",
        "citation": "Weller et al. (2025), arXiv 2501.19264",
        "published": {},
    }
    return paired_benchmark(
        tables_of(place),
        f"mfollowir:{subset}",
        suffix=f"-{subset}",
        with_ndcg_20=True,
        partial=partial,
        about=about,
    )
