"""A two-layer encoder over common English words, and a small topics benchmark out of the packaged sample."""

from __future__ import annotations

import json
import re
import warnings
from collections import Counter
from pathlib import Path

from obverse.files import in_folder, read_corpus, read_json_lines
from obverse.sample import sample_folder

_TOPICS, _PLAIN, _MORE = 6, 12, 500


def make_encoder(folder: Path) -> str:
    """Writes a random BERT of 2 layers and 32 dimensions that knows the sample's frequent words; returns its folder."""
    import torch
    from sentence_transformers import SentenceTransformer
    from tokenizers import Tokenizer, models, pre_tokenizers
    from transformers import BertConfig, BertModel, PreTrainedTokenizerFast

    words = Counter[str]()
    for doc in read_corpus(in_folder(sample_folder(), "corpus.jsonl")).values():
        words.update(re.findall(r"[a-z]+", doc.title.lower()))
    vocabulary = {
        word: n
        for n, word in enumerate(["[PAD]", "[UNK]", *(w for w, _ in words.most_common(900))])
    }
    raw = Tokenizer(models.WordLevel(vocabulary, unk_token="[UNK]"))
    raw.pre_tokenizer = pre_tokenizers.Whitespace()
    tokenizer = PreTrainedTokenizerFast(
        tokenizer_object=raw, pad_token="[PAD]", unk_token="[UNK]", model_max_length=64
    )
    torch.manual_seed(7)
    shape = BertConfig(
        vocab_size=len(vocabulary),
        hidden_size=32,
        num_hidden_layers=2,
        num_attention_heads=2,
        intermediate_size=48,
        max_position_embeddings=64,
    )
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        from sentence_transformers.models import Pooling, Transformer

        BertModel(shape).save_pretrained(str(folder / "plain"))
        tokenizer.save_pretrained(str(folder / "plain"))
        transformer = Transformer(str(folder / "plain"), max_seq_length=64)
        model = SentenceTransformer(modules=[transformer, Pooling(32)], device="cpu")
        model.save(str(folder / "encoder"), create_model_card=False)
    return str(folder / "encoder")


def topics_benchmark_folder(home: Path) -> Path:
    """Writes the first held-out topics with their documents and a few plain queries; returns the folder ``held``."""
    folder = home / "held"
    (folder / "qrels").mkdir(parents=True)
    corpus = read_corpus(in_folder(sample_folder(), "corpus.jsonl"))
    topics = [row for _, row in read_json_lines(in_folder(sample_folder(), "topics.jsonl"))][
        :_TOPICS
    ]
    wanted = {doc_id for topic in topics for view in topic["views"] for doc_id in view["labels"]}
    judged = (
        Path(in_folder(sample_folder(), "qrels/test.tsv")).read_text().splitlines()[: _PLAIN + 1]
    )
    wanted |= {line.split("\t")[1] for line in judged[1:]}
    wanted |= set([doc_id for doc_id in corpus if doc_id not in wanted][:_MORE])
    rows = [
        {"doc_id": d, "title": corpus[d].title, "text": corpus[d].text}
        for d in corpus
        if d in wanted
    ]
    for name, lines in (
        ("topics", topics),
        ("corpus", rows),
        (
            "queries",
            [row for _, row in read_json_lines(in_folder(sample_folder(), "queries.jsonl"))],
        ),
    ):
        text = "".join(json.dumps(line) + "\n" for line in lines)
        (folder / f"{name}.jsonl").write_text(text, encoding="utf-8")
    (folder / "qrels" / "test.tsv").write_text("\n".join(judged) + "\n", encoding="utf-8")
    return folder
