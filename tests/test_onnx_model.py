"""A model exported to ONNX is loaded by name, gives the original's vectors, and cannot be trained."""

from __future__ import annotations

import contextlib
import io
import shutil
import sys
import warnings
from pathlib import Path

import numpy as np
import pytest

sys.path.insert(0, str(Path(__file__).parent / "training"))

from tiny_encoder import dual_topics, make_encoder

from obverse.errors import MissingExtra, ModelError, SettingError
from obverse.inputs import TEMPLATES
from obverse.model_digest import model_digest
from obverse.models import load_encoder
from obverse.onnx_model import OnnxModel
from obverse.records import Doc
from obverse.training.export import export
from obverse.training.trainer import train

for package in ("onnx", "onnxscript", "onnxruntime"):
    pytest.importorskip(package)

ASKED = [("topic w1", "only kind a"), ("topic w2", ""), ("  w3 ", " not\n"), ("w4", "b " * 40)]
DOCS = [Doc("a", "kind a of topic w1 " * 30), Doc("b", "w5"), Doc("c", "w6 w7", title="w8")]


@pytest.fixture(scope="module")
def encoder(tmp_path_factory: pytest.TempPathFactory) -> str:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return make_encoder(tmp_path_factory.mktemp("tiny"))


def trained(base: str, out: Path, *, freeze_docs: bool = False) -> str:
    train(
        dual_topics(8),
        base=base,
        out=out,
        batch_size=4,
        learning_rate=1e-2,
        epochs=4,
        max_tokens=32,
        device="cpu",
        template="e5",
        freeze_docs=freeze_docs,
    )
    return str(out)


@pytest.fixture(scope="module")
def one_side(tmp_path_factory: pytest.TempPathFactory, encoder: str) -> tuple[Path, str]:
    """A trained model and its export, with what was said."""
    home, said = tmp_path_factory.mktemp("one"), io.StringIO()
    with contextlib.redirect_stderr(said):
        assert export(trained(encoder, home / "model"), home / "onnx") > 0.9999
    return home, said.getvalue()


@pytest.fixture(scope="module")
def two_sides(tmp_path_factory: pytest.TempPathFactory, encoder: str) -> tuple[Path, str]:
    """A model with frozen documents and its export in 8 bits."""
    home, said = tmp_path_factory.mktemp("two"), io.StringIO()
    model = trained(encoder, home / "model", freeze_docs=True)
    with contextlib.redirect_stderr(said):
        assert 0.98 < export(model, home / "onnx", to="int8", threshold=1.1) < 1.0001
    return home, said.getvalue()


def test_vectors_and_template_are_the_originals(one_side: tuple[Path, str]) -> None:
    home, said = one_side
    assert "lowest cosine to the original 1.0000 over 96 texts\n" in said
    ours, theirs = load_encoder(str(home / "onnx")), load_encoder(str(home / "model"), device="cpu")
    assert isinstance(ours.model, OnnxModel)
    assert ours.template == theirs.template == TEMPLATES["e5"]
    assert ours.max_tokens == theirs.max_tokens == 32
    np.testing.assert_allclose(ours.queries(ASKED), theirs.queries(ASKED), atol=1e-5)
    np.testing.assert_allclose(ours.docs(DOCS), theirs.docs(DOCS), atol=1e-5)
    as_document = ours.encode(["w1 w2"], task="document")
    np.testing.assert_allclose(ours.encode(["w1 w2"], task="query"), as_document)
    insisted = load_encoder(str(home / "onnx"), backend="onnx", threads=1)
    np.testing.assert_allclose(insisted.docs(DOCS), ours.docs(DOCS), atol=1e-6)
    assert model_digest(ours) == model_digest(insisted)


def test_two_sides_in_8_bits_stay_two_and_close(two_sides: tuple[Path, str]) -> None:
    home, said = two_sides
    assert "too far apart to be trusted" in said, "the threshold was set so"
    ours, theirs = load_encoder(str(home / "onnx")), load_encoder(str(home / "model"), device="cpu")
    for one, other in (
        (ours.queries(ASKED), theirs.queries(ASKED)),
        (ours.docs(DOCS), theirs.docs(DOCS)),
    ):
        assert (one * other).sum(1).min() > 0.98
    query, document = (ours.encode(["w1 w2"], task=task)[0] for task in ("query", "document"))
    assert query @ document < 0.999


def test_what_cannot_be_exported_or_loaded_is_one_line(
    tmp_path: Path, encoder: str, one_side: tuple[Path, str]
) -> None:
    (tmp_path / "full").mkdir()
    (tmp_path / "full" / "notes.txt").write_text("mine")
    with pytest.raises(SettingError, match="holds something else"):
        export(encoder, tmp_path / "full")
    assert (tmp_path / "full" / "notes.txt").read_text() == "mine"
    with pytest.raises(SettingError, match="Use onnx or int8"):
        export(encoder, tmp_path / "out", to="int4")  # type: ignore[arg-type]
    with pytest.raises(ModelError, match=r"holds no exported model\. Make one: obverse export"):
        load_encoder(encoder, backend="onnx")
    made = str(one_side[0] / "onnx")
    with pytest.raises(SettingError, match="exported already"):
        export(made, tmp_path / "again")
    with pytest.raises(ModelError, match="an exported model, which cannot learn"):
        trained(made, tmp_path / "m")
    shutil.copytree(made, tmp_path / "half")
    (tmp_path / "half" / "model.onnx").write_bytes(b"half")
    with pytest.raises(ModelError, match="cannot be read"):
        load_encoder(str(tmp_path / "half"))


def test_a_missing_runtime_is_named(
    tmp_path: Path, encoder: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(sys.modules, "onnxscript", None)
    with pytest.raises(MissingExtra, match=r"onnxscript.*pip install 'obverse\[onnx\]'"):
        export(encoder, tmp_path / "out")
    assert not (tmp_path / "out").exists()
