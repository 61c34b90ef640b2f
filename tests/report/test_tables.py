from __future__ import annotations

from obverse.report.columns import column_for
from obverse.report.page_data import Difference, ModelScores, Score
from obverse.report.tables import latex_table, markdown_table

MODELS = [
    ModelScores(
        "all-MiniLM-L6-v2",
        {"p_mrr": Score(0.279, 0.226, 0.334, 76), "flip_rate": Score(0.25, 0.158, 0.355, 76)},
    ),
    ModelScores(
        "my_model|50%", {"p_mrr": Score(-0.0001, -0.1, 0.1, 76), "beir/ndcg@10": Score(0.6178)}
    ),
]
DIFFERENCES = {"my_model|50%": {"p_mrr": Difference(-0.279, -0.4, -0.2, 0.001)}}


def test_markdown() -> None:
    assert markdown_table(MODELS, differences=DIFFERENCES) == (
        "| model            | Symmetric p-MRR x100 |         Flip rate | beir nDCG@10, instructed x100 |\n"
        "|------------------|---------------------:|------------------:|------------------------------:|\n"
        "| all-MiniLM-L6-v2 |    27.9 [22.6, 33.4] | 0.25 [0.16, 0.35] |                             – |\n"
        "| my_model\\|50%    |  0.0 [−10.0, 10.0] * |                 – |                          61.8 |\n"
        "\n"
        "\\* differs from all-MiniLM-L6-v2 beyond chance (paired bootstrap over topics, 95%).\n"
    )


def test_latex() -> None:
    text = latex_table(MODELS, ["p_mrr"], intervals=False, differences=DIFFERENCES)
    assert text == (
        "\\begin{tabular}{lr}\n"
        "\\toprule\n"
        "model & Symmetric p-MRR x100 \\\\\n"
        "\\midrule\n"
        "all-MiniLM-L6-v2 & 27.9 \\\\\n"
        "my\\_model|50\\% & 0.0 * \\\\\n"
        "\\bottomrule\n"
        "\\end{tabular}\n"
        "\\par\\smallskip * differs from all-MiniLM-L6-v2 beyond chance "
        "(paired bootstrap over topics, 95\\%).\n"
    )


def test_the_columns_are_those_asked_for_in_their_order() -> None:
    head = markdown_table(MODELS, ["flip_rate", "p_mrr"], intervals=False).splitlines()[0]
    assert head.index("Flip") < head.index("p-MRR")


def test_no_models_make_an_empty_table() -> None:
    assert markdown_table([]).splitlines() == ["| model |", "|-------|"]


def test_unknown_measures_are_scaled_as_their_family_is() -> None:
    assert column_for("msmarco/MRR@10").number(0.252) == "25.2"
    assert column_for("seconds").number(1.5) == "1.500"
    assert column_for("followir/p_mrr").heading == "followir Symmetric p-MRR"
    assert column_for("infosearch/keyword/p-MRR").number(-0.0206) == "−2.1"
