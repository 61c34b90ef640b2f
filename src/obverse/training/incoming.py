"""What a run will train on, said before it begins, and what of it is lost."""

from __future__ import annotations

from obverse.log import say
from obverse.models import count_tokens
from obverse.training.run import Run


def say_what_comes_in(run: Run) -> None:
    """Says in a few lines what will be trained on, and what of it is lost."""
    topics, plan, settings = run.topics, run.plan, run.settings
    say(
        f"train: {len(topics.topics):,} topics, {topics.views:,} views, {len(topics.docs):,} distinct documents; "
        f"{len(plan):,} steps of {plan.batch_size} topics"
        + (f" (the last of {plan.last_size})" if plan.last_size < plan.batch_size else "")
        + (f" and {settings.plain_per_batch} plain ones" if settings.plain_per_batch else "")
        + f", {run.forward.precision}"
    )
    if plan.batch_size < settings.batch_size:
        say(f"train: there are only {plan.batch_size} topics, so each step takes all of them")
    if plan.left_out:
        say(
            f"train: the last {plan.left_out} topics of the run are left out, as they fill no batch; --keep-last "
            "makes a smaller batch of them"
        )
    for line in lost_tokens(run):
        say(f"train: {line}")
    if topics.contradictions:
        say(
            f"train: {topics.contradictions} documents are positive and negative in one view, by equal texts; "
            "they count as positive"
        )
    if run.prompts:
        fate = "are taken up into the template" if run.prompts_taken else "are not used"
        say(
            f"train: the base's own prompts ({', '.join(run.prompts)}) {fate} and are not saved beside it; "
            f"inputs are built by {run.template.instructed!r}"
        )


def lost_tokens(run: Run) -> list[str]:
    """Returns what the token limit takes away, by field, in words; the query is never cut."""
    lost, limit, found = run.topics.lost, run.settings.max_tokens, []
    if lost.instructions:
        found.append(
            f"{lost.instructions:,} instructions are shortened to fit {limit} tokens "
            f"({lost.instruction_tokens:,} tokens lost, from their ends)"
        )
    over = [
        size - limit
        for text in run.topics.docs.values()
        if (size := count_tokens(run.learner, text)) > limit
    ]
    if over:
        found.append(
            f"{len(over):,} of {len(run.topics.docs):,} documents are cut at {limit} tokens "
            f"({sum(over):,} tokens lost)"
        )
    return found
