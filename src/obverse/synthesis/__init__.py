"""Synthesis methods: each adds instructed views to topics, as a dialogue with an LLM or by a program.

A method is ``method(topic, rng)`` and returns a dialogue (see :mod:`obverse.synthesis.dialogue`) whose result is a
list of new views, or the whole topic where existing views change too.
"""

from __future__ import annotations

METHODS: dict[str, str] = {
    "promoted_negative": "obverse.synthesis.promoted_negative:promoted_negative",
    "natural_dual_view": "obverse.synthesis.natural_dual_view:natural_dual_view",
    "dual_view": "obverse.synthesis.dual_view:dual_view",
    "checkable": "obverse.synthesis.checkable:checkable",
    "promptriever": "obverse.synthesis.promptriever:promptriever",
    "inf_ir": "obverse.synthesis.inf_ir:inf_ir",
}
"""Where each method stands: ``module:function``."""
