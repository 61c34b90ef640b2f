"""Fixtures of the training tests."""

from __future__ import annotations

import warnings

import pytest
from tiny_encoder import make_encoder


@pytest.fixture(scope="session")
def encoder(tmp_path_factory: pytest.TempPathFactory) -> str:
    """A tiny encoder with dropout."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return make_encoder(tmp_path_factory.mktemp("tiny"))


@pytest.fixture(scope="session")
def still_encoder(tmp_path_factory: pytest.TempPathFactory) -> str:
    """A tiny encoder without dropout, so that two ways to one gradient can be compared."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return make_encoder(tmp_path_factory.mktemp("still"), dropout=0.0)
