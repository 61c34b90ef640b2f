"""What each document of a batch is to each query, decided by content."""

from __future__ import annotations

from tiny_encoder import dual_topics

from obverse.inputs import Template
from obverse.records import Doc, Label, Topic, View
from obverse.training.plan import Plan
from obverse.training.relations import MASKED, Relation, relations
from obverse.training.topic_set import TopicSet, topic_set

P, N, IN, IG = Label.POSITIVE, Label.NEGATIVE, Label.INSTRUCTION_NEGATIVE, Label.IGNORE


def prepared(*topics: Topic) -> TopicSet:
    return topic_set(topics, Template(), 64, lambda text: len(text.split()))


def table(topics: TopicSet, **settings: object) -> dict[tuple[str, str], Relation]:
    """The relation by (query input, document input) of one batch of all topics."""
    plan = Plan(topics, len(topics.topics))
    batch = plan.batch(0)
    rows = plan.rows(batch)
    docs = plan.documents(batch, rows)
    codes = relations(topics, rows, docs, **settings)  # type: ignore[arg-type]
    return {
        (row.text, topics.docs[uid]): Relation(int(codes[i, j]))
        for i, row in enumerate(rows)
        for j, uid in enumerate(docs)
    }


def topic(name: str, query: str, docs: dict[str, str], *views: View) -> Topic:
    return Topic(name, query, tuple(Doc(i, t) for i, t in docs.items()), views)


ONE = topic(
    "one",
    "bike",
    {"a": "Red bike", "b": "Blue bike", "c": "No colour", "d": "Perhaps"},
    View("only red", {"a": P, "b": IN, "d": IG}),
    View("only blue", {"a": IN, "b": P, "c": N}),
)


def test_labels_decide_and_own_documents_without_one_are_masked() -> None:
    found = table(prepared(ONE))
    assert found["bike only red", "Red bike"] == Relation.POSITIVE
    assert found["bike only red", "Blue bike"] == Relation.INSTRUCTION_NEGATIVE
    assert found["bike only red", "No colour"] == Relation.UNLABELLED
    assert found["bike only blue", "Red bike"] == Relation.INSTRUCTION_NEGATIVE
    assert ("bike only red", "Perhaps") not in found, "an ignored document is not even encoded"


def test_an_ignored_document_that_comes_along_is_masked() -> None:
    other = topic("two", "maybe", {"x": "perhaps "}, View("", {"x": P}))
    found = table(prepared(ONE, other))
    assert found["bike only red", "Perhaps"] == Relation.IGNORED
    assert found["bike only blue", "Perhaps"] == Relation.UNLABELLED


def test_documents_of_other_topics_are_negatives_unless_their_text_is_known() -> None:
    other = topic("two", "car", {"x": "RED  bike", "y": "Car"}, View("", {"x": N, "y": P}))
    found = table(prepared(ONE, other))
    assert found["bike only red", "Car"] == Relation.IN_BATCH
    assert found["bike only red", "Red bike"] == Relation.POSITIVE
    assert found["car", "Red bike"] == Relation.NEGATIVE
    assert found["car", "Blue bike"] == Relation.IN_BATCH
    assert sum(key[1].casefold() == "red bike" for key in found) == 3, "encoded once, three queries"


def test_topics_with_one_query_do_not_judge_each_other() -> None:
    other = topic("two", "Bike ", {"x": "Green bike", "y": "Blue bike"}, View("", {"x": P, "y": N}))
    found = table(prepared(ONE, other))
    assert found["bike only red", "Green bike"] == Relation.SAME_QUERY
    assert found["bike only red", "Blue bike"] == Relation.INSTRUCTION_NEGATIVE


def test_in_batch_negatives_go_off_for_all_or_by_source() -> None:
    first, second = (t for t in dual_topics(2, source="mine"))
    off = table(prepared(first, second), in_batch=False)
    assert Relation.SWITCHED_OFF in off.values() and Relation.IN_BATCH not in off.values()
    assert Relation.INSTRUCTION_NEGATIVE in off.values()
    assert Relation.IN_BATCH in table(prepared(first, second), in_batch={"other": False}).values()
    by_source = table(prepared(first, second), in_batch={"mine": False})
    assert Relation.IN_BATCH not in by_source.values()


def test_an_instruction_negative_is_never_masked() -> None:
    twin = topic("two", "bike", {"x": "Blue bike"}, View("", {"x": P}))
    found = table(prepared(ONE, twin), in_batch=False)
    assert found["bike only red", "Blue bike"] == Relation.INSTRUCTION_NEGATIVE


def test_one_text_under_two_ids_counts_once_and_the_positive_wins() -> None:
    double = topic(
        "two", "car", {"x": "Car", "y": "car", "z": "Bus"}, View("", {"x": P, "y": N, "z": N})
    )
    topics = prepared(double)
    assert topics.contradictions == 1
    assert table(topics) == {("car", "Car"): Relation.POSITIVE, ("car", "Bus"): Relation.NEGATIVE}


def test_pool_documents_are_columns_after_the_others() -> None:
    topics = prepared(ONE, topic("two", "car", {"x": "Car"}, View("", {"x": P})))
    rows = topics.rows[0]
    docs = [uid for uid, text in topics.docs.items() if text != "Car"]
    pool = [uid for uid, text in topics.docs.items() if text == "Car"]
    codes = relations(topics, rows, docs, pool)
    assert codes.shape == (2, 5)
    assert (codes[:, -1] == Relation.POOL).all() and Relation.POOL < MASKED
