"""A two-layer encoder made on the spot, and topics for it: training tests take milliseconds a step."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from obverse.records import Doc, Label, Topic, View

WORDS = [f"w{n}" for n in range(60)] + ["only", "not", "kind", "a", "b", "of", "topic", "with"]


def make_encoder(
    folder: Path, *, dropout: float = 0.1, prompts: dict[str, str] | None = None, left: bool = False
) -> str:
    """Writes a random BERT of 2 layers and 32 dimensions with a word tokenizer and returns its folder."""
    import torch
    from sentence_transformers import SentenceTransformer
    from sentence_transformers.models import Pooling, Transformer
    from tokenizers import Tokenizer, models, pre_tokenizers, processors
    from transformers import BertConfig, BertModel, PreTrainedTokenizerFast

    special = ["[PAD]", "[UNK]", "[CLS]", "[SEP]"]
    vocabulary = {word: n for n, word in enumerate(special + WORDS)}
    raw = Tokenizer(models.WordLevel(vocabulary, unk_token="[UNK]"))
    raw.pre_tokenizer = pre_tokenizers.Whitespace()
    raw.post_processor = processors.TemplateProcessing(
        single="[CLS] $A [SEP]", special_tokens=[("[CLS]", 2), ("[SEP]", 3)]
    )
    tokenizer = PreTrainedTokenizerFast(
        tokenizer_object=raw,
        pad_token="[PAD]",
        unk_token="[UNK]",
        cls_token="[CLS]",
        sep_token="[SEP]",
        padding_side="left" if left else "right",
        model_max_length=64,
    )
    torch.manual_seed(7)
    shape = BertConfig(
        vocab_size=len(vocabulary),
        hidden_size=32,
        num_hidden_layers=2,
        num_attention_heads=2,
        intermediate_size=48,
        max_position_embeddings=64,
        hidden_dropout_prob=dropout,
        attention_probs_dropout_prob=dropout,
    )
    plain = folder / "plain"
    BertModel(shape).save_pretrained(str(plain))
    tokenizer.save_pretrained(str(plain))
    transformer = Transformer(str(plain), max_seq_length=64)
    pooling = Pooling(32, pooling_mode="lasttoken" if left else "mean")
    model = SentenceTransformer(modules=[transformer, pooling], prompts=prompts, device="cpu")
    model.save(str(folder / "encoder"), create_model_card=False)
    return str(folder / "encoder")


def dual_topic(number: int, *, negatives: int = 3, plain: bool = True, **origin: Any) -> Topic:
    """Returns a topic whose two views swap two documents."""
    rest = [f"n{k}" for k in range(negatives)]
    docs = [Doc("a", f"kind a of topic w{number}"), Doc("b", f"kind b of topic w{number}")]
    docs += [Doc(d, f"w{number} w{(number * 7 + k) % 60} w{k}") for k, d in enumerate(rest)]
    others = dict.fromkeys(rest, Label.NEGATIVE)
    one = {"a": Label.POSITIVE, "b": Label.INSTRUCTION_NEGATIVE} | others
    two = {"a": Label.INSTRUCTION_NEGATIVE, "b": Label.POSITIVE} | others
    views = [View("only kind a", one, origin), View("only kind b", two, origin)]
    if plain:
        views.insert(0, View("", {"a": Label.POSITIVE} | others, origin))
    return Topic(f"t{number}", f"topic w{number}", tuple(docs), tuple(views))


def plain_topic(number: int) -> Topic:
    """Returns a topic with one plain view."""
    docs = (Doc("p", f"w{number} w{number} of"), Doc("n", f"not w{number}"))
    labels = {"p": Label.POSITIVE, "n": Label.NEGATIVE}
    return Topic(f"plain{number}", f"w{number} with", docs, (View("", labels),))


def dual_topics(count: int, **settings: Any) -> list[Topic]:
    """Returns topics t0, t1, ..."""
    return [dual_topic(number, **settings) for number in range(count)]
