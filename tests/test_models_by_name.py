"""Models by name: the hub's cache, a hub that is away, prompts of the model and prompts by benchmark."""

from __future__ import annotations

import importlib.util
import json
import subprocess
import sys
import time
from pathlib import Path

import pytest

from obverse.endpoint import EndpointEncoder
from obverse.errors import InputError, MissingExtra, ModelError, SettingError
from obverse.inputs import TEMPLATES, Template
from obverse.models import (
    PACKAGED,
    Encoder,
    load_encoder,
    load_model,
    locate,
    template_of_prompts,
)
from obverse.prompts import prompts_by_benchmark, with_prompts
from obverse.rankers import BM25Ranker, EncoderRanker, load_ranker

SCRIPT = """
from obverse.models import load_encoder, locate
encoder = load_encoder("me/tiny", device="cpu")
print(locate("me/tiny"))
print(encoder.name, encoder.template.instructed, encoder.taught is not None)
print(encoder.encode(["w1 w2"], task="query").shape)
"""


@pytest.mark.filterwarnings("ignore::DeprecationWarning")
def test_a_hub_name_is_found_in_the_cache_with_its_template(tmp_path: Path) -> None:
    sys.path.insert(0, str(Path(__file__).parent / "training"))
    from tiny_encoder import make_encoder

    home = tmp_path / "hub/models--me--tiny"
    (home / "refs").mkdir(parents=True)
    (home / "refs/main").write_text("abc123")
    (home / "snapshots").mkdir()
    snapshot = home / "snapshots/abc123"
    Path(make_encoder(tmp_path / "made")).rename(snapshot)
    row = {"instructed": "{instruction} {query}", "plain": "{query}", "document": "{title} {text}"}
    (snapshot / "obverse.json").write_text(json.dumps({"template": row}))
    done = subprocess.run(
        [sys.executable, "-W", "error::UserWarning", "-c", SCRIPT],
        env={"HF_HOME": str(tmp_path), "HF_HUB_OFFLINE": "1", "OMP_NUM_THREADS": "1"},
        capture_output=True,
        text=True,
    )
    assert done.stdout.splitlines() == [
        str(snapshot),
        "me/tiny {instruction} {query} True",
        "(1, 32)",
    ], done.stderr


def test_a_hub_that_is_out_of_reach_is_said_within_seconds(monkeypatch: pytest.MonkeyPatch) -> None:
    for key in ("HF_HUB_OFFLINE", "TRANSFORMERS_OFFLINE", "http_proxy", "HTTP_PROXY"):
        monkeypatch.delenv(key, raising=False)
    monkeypatch.setenv("HF_ENDPOINT", "http://127.0.0.1:9")
    start = time.monotonic()
    with pytest.raises(ModelError, match=r"nobody/nothing: .*hub is out of reach \(127\.0\.0\.1\)"):
        locate("nobody/nothing")
    assert time.monotonic() - start < 5


def test_an_address_where_nobody_listens_is_said_at_once() -> None:
    start = time.monotonic()
    with pytest.raises(ModelError, match="cannot be asked"):
        EndpointEncoder("http://127.0.0.1:9/v1", "m", Template()).encode(["a"], task="query")
    assert time.monotonic() - start < 1


def test_onnx_without_its_runtime_says_what_to_install(monkeypatch: pytest.MonkeyPatch) -> None:
    find = importlib.util.find_spec

    def without(name: str, package: str | None = None) -> object:
        return None if name == "onnxruntime" else find(name, package)

    monkeypatch.setattr(importlib.util, "find_spec", without)
    with pytest.raises(MissingExtra, match=r"onnxruntime.*pip install 'obverse\[onnx\]'"):
        load_ranker("onnx:all-MiniLM-L6-v2")


def test_a_models_own_prompts_become_its_template() -> None:
    assert template_of_prompts({"query": "", "document": None}) is None
    assert template_of_prompts({"query": "query: ", "passage": "passage: "}) == TEMPLATES["e5"]


def test_prompts_by_benchmark(tmp_path: Path) -> None:
    path = tmp_path / "prompts.json"
    path.write_text(
        '{"followir": "e5", "followir:news21": {"plain": "news: {query}"}, "*": "qwen3"}'
    )
    prompts = prompts_by_benchmark(path)
    ranker = EncoderRanker(Encoder("m", None, Template(), 32))  # type: ignore[arg-type]
    asked = {
        name: with_prompts(ranker, name, prompts)
        for name in ("followir:core17", "followir:news21", "nevir")
    }
    patterns = {
        name: own.encoder.template.plain
        for name, own in asked.items()
        if isinstance(own, EncoderRanker)
    }
    assert patterns["followir:core17"] == "query: {query}"
    assert patterns["followir:news21"] == "news: {query}"
    assert patterns["nevir"].startswith("Instruct: ")
    assert ranker.encoder.template == Template()
    del prompts["*"]
    assert with_prompts(ranker, "nevir", prompts) is ranker
    with pytest.raises(SettingError, match="bm25 reads no prompts"):
        with_prompts(BM25Ranker(), "followir:core17", prompts)


@pytest.mark.parametrize(
    ("text", "says"),
    [
        ("[]", "holds no prompts"),
        ('{"nevir": "e6"}', "nevir: unknown template 'e6'"),
        ('{"nevir": {"plain": "query"}}', "lacks the slot {query}"),
        ('{"nevir": {"query": "x"}}', "neither a template's name nor its patterns"),
    ],
)
def test_wrong_prompts_are_refused_with_their_benchmark(
    tmp_path: Path, text: str, says: str
) -> None:
    path = tmp_path / "prompts.json"
    path.write_text(text)
    with pytest.raises(InputError, match=says):
        prompts_by_benchmark(path)


def test_an_answer_without_vectors_is_one_line(monkeypatch: pytest.MonkeyPatch) -> None:
    encoder = EndpointEncoder("http://127.0.0.1:9/v1", "m", Template())
    for rows in ([["text"], ["text"]], [[0.1], [0.1, 0.2]], [[float("nan")], [0.1]], ["x", "y"]):
        monkeypatch.setattr(encoder, "_ask", lambda texts, rows=rows: rows)
        with pytest.raises(ModelError, match="vectors that are none"):
            encoder.encode(["a", "b"], task="query")


@pytest.mark.parametrize("threads", [0, -1, 1025, 10**22])
def test_threads_that_no_machine_starts_are_refused(threads: int) -> None:
    for load in (load_encoder, load_model):
        with pytest.raises(SettingError, match=f"threads is {threads}"):
            load(PACKAGED, threads=threads)
