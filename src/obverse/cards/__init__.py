"""Cards: what a model or a data set is, as Markdown that a hub reads. Nothing is uploaded."""

from __future__ import annotations

from obverse.cards.data_card import DataFacts, data_card, data_facts
from obverse.cards.model_card import Measured, model_card
from obverse.cards.writing import write_data_card, write_model_card

__all__ = [
    "DataFacts",
    "Measured",
    "data_card",
    "data_facts",
    "model_card",
    "write_data_card",
    "write_model_card",
]
