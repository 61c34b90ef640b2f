"""mteb both ways: its batches through our template, its result files as rows."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from obverse.errors import InputError
from obverse.inputs import Template
from obverse.models import Encoder
from obverse.mteb_adapter import MtebModel, read_mteb_results


def model(joining: str = "model") -> MtebModel:
    """The adapter without mteb itself, which is an extra."""
    found = object.__new__(MtebModel)
    template = Template("{instruction} | {query}", "{query}", "{title} - {text}")
    found.encoder = Encoder("m", None, template, 64)  # type: ignore[arg-type]
    found.joining = joining
    return found


def test_mtebs_batches_are_joined_by_the_models_own_template() -> None:
    batch = {"text": ["q i", "p"], "query": ["q", "p"], "instruction": ["i", None]}
    assert model()._queries(batch) == ["i | q", "p"]
    assert model("mteb")._queries(batch) == ["q i", "p"]
    assert model()._queries({"text": ["q"]}) == ["q"]
    docs = {"text": ["T body"], "title": ["T"], "body": ["body"]}
    assert model()._docs(docs) == ["T - body"]


def result_file(path: Path) -> Path:
    scores = {
        "hf_subset": "default",
        "main_score": 0.1,
        "p-MRR": 0.1,
        "languages": ["eng-Latn"],
        "og": {"map_at_1000": 0.5},
    }
    path.parent.mkdir(parents=True, exist_ok=True)
    value = {"task_name": "Core17", "mteb_version": "2.26.24", "scores": {"test": [scores]}}
    path.write_text(json.dumps(value))
    return path


def test_result_files_are_read_as_rows_that_say_what_they_do_not_know(tmp_path: Path) -> None:
    result_file(tmp_path / "org__model/rev/Core17.json")
    (tmp_path / "org__model/rev/model_meta.json").write_text('{"name": "org/model"}')
    (row,) = read_mteb_results(tmp_path)
    assert row["model"] == "org/model" and row["measures"]["p-MRR"] == 0.1
    assert row["measures"]["og.map_at_1000"] == 0.5
    assert row["n"] is None and row["joining"] == "mteb" and "og.*" in row["beware"]


def test_other_files_are_refused(tmp_path: Path) -> None:
    path = tmp_path / "x.json"
    path.write_text("{}")
    with pytest.raises(InputError, match="no result file of mteb"):
        read_mteb_results(path)
    with pytest.raises(InputError, match="holds no result file"):
        read_mteb_results(tmp_path)
