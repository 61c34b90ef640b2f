"""The guide's three examples run as they stand, and say what the guide says."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

GUIDE = Path(__file__).parent.parent / "docs" / "bring-your-own-data.md"
BLOCK = re.compile(r"^```(sh|text)\n(.*?)^```", re.M | re.S)


def sections() -> list[tuple[str, list[tuple[str, str]]]]:
    parts = re.split(r"^## ", GUIDE.read_text(encoding="utf-8"), flags=re.M)[1:]
    return [(part.split("\n", 1)[0], BLOCK.findall(part)) for part in parts]


@pytest.mark.parametrize(
    ("title", "blocks"), sections(), ids=lambda value: value if isinstance(value, str) else ""
)
def test_example(tmp_path: Path, title: str, blocks: list[tuple[str, str]]) -> None:
    folder = Path(sys.executable).parent
    environment = os.environ | {"PATH": f"{folder}{os.pathsep}{os.environ['PATH']}"}
    said, before = "", ""
    for kind, block in blocks:
        if kind == "text":
            missing = [line for line in block.splitlines() if line.strip() and line not in said]
            assert not missing, f"{missing}\nnot in\n{said}"
            continue
        before += "".join(line + "\n" for line in block.splitlines() if re.match(r"[A-Z]+=", line))
        done = subprocess.run(
            ["bash", "-euo", "pipefail", "-c", before + block],
            cwd=tmp_path,
            env=environment,
            capture_output=True,
            text=True,
        )
        assert done.returncode == 0, done.stderr
        said = done.stdout + done.stderr


def test_there_are_three_examples() -> None:
    assert [len(blocks) >= 4 for _, blocks in sections()] == [True] * 3
