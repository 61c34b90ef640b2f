"""The Python examples of docs/measures.md and docs/evaluation.md run, and print what stands beside them."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

DOCS = Path(__file__).parents[1] / "docs"


@pytest.mark.parametrize(
    ("page", "printed"),
    [
        ("measures.md", ["nDCG@10 0.6309 [0.6309, 0.6309] n=1", "0.5"]),
        ("evaluation.md", ["0.5 1.0"]),
    ],
)
def test_the_examples_run(
    page: str, printed: list[str], capsys: pytest.CaptureFixture[str]
) -> None:
    text = (DOCS / page).read_text(encoding="utf-8")
    for code in re.findall(r"```python\n(.*?)```", text, flags=re.DOTALL):
        exec(compile(code, page, "exec"), {})
    lines = capsys.readouterr().out.splitlines()
    assert lines[: len(printed)] == printed


def test_every_measure_and_benchmark_is_documented() -> None:
    from obverse.benchmarks.named import BENCHMARKS
    from obverse.measures.named import MEASURES

    measures = (DOCS / "measures.md").read_text(encoding="utf-8")
    benchmarks = (DOCS / "benchmarks.md").read_text(encoding="utf-8")
    assert [name for name in MEASURES if f"`{name}" not in measures] == []
    assert [name for name in BENCHMARKS if f"`{name}" not in benchmarks] == []
