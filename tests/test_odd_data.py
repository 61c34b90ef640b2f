"""Odd runs and judgements by the command line: each has a rule, and a message that names it."""

from __future__ import annotations

import gzip
import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from typer.main import get_command

from obverse.cli import _register, app
from obverse.errors import ObverseError

RUN = "q Q0 a 1 3 x\nq Q0 b 2 2 x\np Q0 c 1 1 x\n"
QRELS = "query-id\tcorpus-id\tscore\nq\ta\t1\nq\tb\t0\np\tc\t1\n"


@pytest.fixture(scope="module")
def command() -> Any:
    _register()
    return get_command(app)


@pytest.fixture
def ask(
    command: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]
) -> Callable[..., tuple[Any, str]]:
    """Measures nDCG@10 of a run and judgements and returns what stdout and stderr say."""
    monkeypatch.chdir(tmp_path)

    def measure(run: str | bytes = RUN, qrels: str | bytes = QRELS, name: str = "r") -> Any:
        for path, content in ((name, run), ("q", qrels)):
            Path(path).write_bytes(content.encode() if isinstance(content, str) else content)
        arguments = ["measure", "ndcg@10", "--run", name, "--qrels", "q", "--json"]
        command.main(arguments, standalone_mode=False)
        out, err = capfd.readouterr()
        return json.loads(out), err

    return measure


BOM = b"\xef\xbb\xbf"


@pytest.mark.parametrize(
    "files",
    [
        {"run": BOM + RUN.replace("\n", "\r\n").encode()},
        {"qrels": BOM + QRELS.replace("\n", "\r\n").encode()},
        {"run": RUN.replace(" ", "\t")},
        {"run": RUN.replace(" ", "   ")},
        {"run": RUN.replace(" ", "\t").replace("x\n", "x\t\n")},
        {"run": gzip.compress(RUN.encode()), "name": "r.gz"},
        {"qrels": "q 0 a 1\nq 0 b 0\np 0 c 1.0\n"},
        {"qrels": "q\t0\ta\t1e0\np\t0\tc\t1\n"},
        {"run": RUN + "\n\n"},
    ],
    ids=[
        "run bom crlf",
        "qrels bom crlf",
        "tabs",
        "blanks",
        "tab at the end",
        "gz",
        "1.0",
        "1e0",
        "end",
    ],
)
def test_spellings_of_one_file(ask: Any, files: Any) -> None:
    row, err = ask(**files)
    assert (row["value"], row["n"], err) == (1.0, 2, "")


@pytest.mark.parametrize(
    ("files", "value", "n", "says"),
    [
        (
            {"run": "q Q0 b 1 inf x\nq Q0 a 2 1 x\np Q0 c 1 1 x\n"},
            0.81546,
            2,
            "infinite scores (1): 1",
        ),
        ({"run": "q Q0 b 1 1e999 x\nq Q0 a 2 inf x\n"}, 0.31546, 2, "infinite scores (2): 1, 2"),
        (
            {"run": "q Q0 b 1 1 x\nq Q0 a 2 2 x\np Q0 c 1 1 x\n"},
            1.0,
            2,
            "ranks against scores (1): q",
        ),
        (
            {"run": "q Q0 a 1 1 x\nq Q0 b 2 1 x\np Q0 c 1 1 x\n"},
            0.81546,
            2,
            "constant scores (1): q",
        ),
        ({"run": RUN + "q Q0 a 1 3 x\n"}, 1.0, 2, "repeated lines (1): 4"),
        ({"run": "q Q0 a 1 1 x\n"}, 0.5, 2, "without results (1): p"),
        ({"run": RUN + "z Q0 a 1 1 x\n"}, 1.0, 2, "without judgements (1): z"),
        ({"qrels": "q 0 a -1\nq 0 b 2\np 0 c 1\n"}, 0.81546, 2, "negative grades (1): q a"),
        ({"qrels": "q 0 a 1\nq 0 a 1\np 0 c 1\n"}, 1.0, 2, "repeated judgements (1): 2"),
        ({"qrels": "q 0 a 0\np 0 c 1\n"}, 1.0, 1, "without positives (1): q"),
        ({"qrels": "q 0 a 0\np 0 c -1\n"}, None, 0, "without positives (2): q, p"),
    ],
)
def test_what_is_odd_is_named_and_counted(
    ask: Any, files: Any, value: float | None, n: int, says: str
) -> None:
    row, err = ask(**files)
    assert row["value"] == (pytest.approx(value, abs=1e-5) if value is not None else None)
    assert row["n"] == n and says in err
    assert (row["value"] is None) == ("reason" in row)


@pytest.mark.parametrize(
    ("files", "says"),
    [
        ({"run": ""}, "r: holds no line"),
        ({"run": "\n  \n"}, "r: holds no line"),
        ({"qrels": ""}, "q: holds no judgement"),
        ({"qrels": "query-id\tcorpus-id\tscore\n"}, "q: holds no judgement"),
        ({"qrels": "z 0 a 1\n"}, "r: has no query in common with q (first 'q' here, 'z' there)"),
        ({"qrels": "q 0 a nan\n"}, "q:1: the grade nan is no whole number"),
        ({"qrels": "q 0 a 1\nq 0 b 0.5\n"}, "q:2: the grade 0.5 is no whole number"),
        ({"qrels": "q 0 a yes\n"}, "q:1: the grade 'yes' is no number"),
        ({"run": "q Q0 a b 1 1 x\n"}, "r:1: has 7 columns, not six"),
        ({"run": "q Q0 a 1 0,5 x\n"}, "r:1: the score '0,5' is no number"),
        ({"run": "q Q0 \xe9 1 1 x\n".encode("latin-1")}, "r:1: is no UTF-8 text"),
        ({"run": gzip.compress(RUN.encode())[:-9], "name": "r.gz"}, "r.gz: the archive is cut off"),
    ],
)
def test_what_cannot_be_measured_is_refused_in_one_line(ask: Any, files: Any, says: str) -> None:
    with pytest.raises(ObverseError) as refused:
        ask(**files)
    assert says in str(refused.value) and "\n" not in str(refused.value)


def test_ids_may_hold_blanks_between_tabs_and_no_break_spaces_anywhere(ask: Any) -> None:
    row, _ = ask("q one\tQ0\ta b\t1\t1\tx\n", "q one\ta b\t1\n")
    assert row["per_topic"] == {"q one": 1.0}
    row, _ = ask("q Q0 a\u00a0b 1 1 x\n", "q 0 a\u00a0b 1\n")
    assert row["per_topic"] == {"q": 1.0}


def test_a_run_of_ours_says_how_it_was_made(ask: Any) -> None:
    Path("r.made.json").write_text('{"model": "m", "joining": "model", "max_tokens": 64, "x": 1}')
    row, _ = ask()
    assert row["run_made"] == {"model": "m", "joining": "model", "max_tokens": 64}
    assert row["ties"] == "trec"
