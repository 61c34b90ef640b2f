"""Exact search: the same documents as a sort of everything, blockwise, under the one tie rule."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from obverse.errors import InputError, SettingError
from obverse.search import as_run, tie_places, top_docs


def vectors(n: int, width: int = 8, seed: int = 0, levels: int = 0) -> np.ndarray:
    """Random vectors; with few levels there are many ties."""
    rng = np.random.default_rng(seed)
    if levels:
        return rng.integers(0, levels, size=(n, width)).astype(np.float32)
    return rng.standard_normal((n, width)).astype(np.float32)


def sorted_by_hand(queries: np.ndarray, docs: np.ndarray, places: np.ndarray, k: int) -> np.ndarray:
    return np.array([np.lexsort((places, -(docs @ query)))[:k] for query in queries])


@pytest.mark.parametrize("levels", [0, 3])
@pytest.mark.parametrize("depth", [1, 7, 500, 3_000])
@pytest.mark.parametrize("block", [64, 1_000, None])
def test_blocks_and_ties_change_nothing(levels: int, depth: int, block: int | None) -> None:
    queries, docs = vectors(5, seed=1, levels=levels), vectors(2_000, levels=levels)
    places = tie_places([f"{n:04}"[::-1] for n in range(2_000)])
    rows, scores = top_docs(queries, docs, depth, places=places, block=block)
    k = min(depth, 2_000)
    assert rows.shape == scores.shape == (5, k)
    if levels:  # whole numbers: exact whatever the order of addition
        assert np.array_equal(rows, sorted_by_hand(queries, docs, places, k))
    assert (np.diff(scores, axis=1) <= 0).all()
    assert np.allclose(np.sort(docs @ queries.T, axis=0)[::-1][:k].T, scores, atol=1e-5)


def test_shards_on_disk_are_one_collection(tmp_path: Path) -> None:
    queries, docs = vectors(4, seed=1, levels=4), vectors(300, levels=4)
    paths = []
    for start in (0, 100, 250):
        paths.append(tmp_path / f"{start}.npy")
        np.save(paths[-1], docs[start : {0: 100, 100: 250, 250: 300}[start]])
    shards = [np.load(path, mmap_mode="r") for path in paths]
    whole, from_disk = top_docs(queries, docs, 20), top_docs(queries, shards, 20)
    assert np.array_equal(whole[0], from_disk[0]) and np.array_equal(whole[1], from_disk[1])


def test_equal_documents_fall_to_the_higher_id() -> None:
    docs = np.ones((4, 3), dtype=np.float32)
    ids = ["9", "10", "b", "a"]
    rows, scores = top_docs(docs[:1], docs, 4, places=tie_places(ids))
    run = as_run(["q"], ids, rows, scores)
    assert list(run["q"]) == ["b", "a", "9", "10"]


def test_bad_vectors_are_refused_and_named() -> None:
    docs = vectors(2_000)
    docs[1_234, 3] = np.nan
    with pytest.raises(InputError, match=r"document \(row 1234\) holds NaN"):
        top_docs(vectors(2), docs, 5, block=500)
    with pytest.raises(InputError, match="a query"):
        top_docs(docs[1_234:1_235], vectors(10), 5)
    with pytest.raises(InputError, match="queries have 8 dimensions, documents 4"):
        top_docs(vectors(2), vectors(9, width=4), 5)
    with pytest.raises(SettingError, match="depth"):
        top_docs(vectors(2), vectors(9), 0)


def test_negative_and_zero_scores_are_ordered_too() -> None:
    docs = np.array([[-1.0], [0.0], [1.0], [-0.0], [-2.0]], dtype=np.float32)
    rows, scores = top_docs(np.ones((1, 1), np.float32), docs, 5)
    assert rows.tolist() == [[2, 1, 3, 0, 4]] and scores[0, 0] == 1.0


def test_no_query_finds_nothing() -> None:
    rows, scores = top_docs(np.zeros((0, 4), np.float32), np.ones((9, 4), np.float32), 3)
    assert rows.shape == scores.shape == (0, 0)


@pytest.mark.parametrize("damage", [np.nan, np.inf, -np.inf])
def test_a_damaged_document_is_named_whatever_the_query(damage: float) -> None:
    docs = np.ones((5_000, 4), np.float32)
    docs[4_321, 2] = damage
    with pytest.raises(InputError, match="row 4321"):
        top_docs(np.zeros((1, 4), np.float32), docs, 3)
