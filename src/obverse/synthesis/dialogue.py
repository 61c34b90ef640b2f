"""What a synthesis method is: a dialogue that yields prompts, is sent answers, and returns views.

A method does no input or output. The engine (``obverse.llm``) renders nothing and decides nothing of the method's:
it sends the prompt's text, reads the reply into the prompt's answer type, runs the prompt's own check on it, asks
once more where that fails, and sends the answer into the generator. A reply that stays unusable is thrown into the
generator as :class:`Rejected`; a method that does not catch it ends there, and the topic goes to the rejects with
the code, the raw text and the cost.
"""

from __future__ import annotations

from collections.abc import Callable, Generator
from dataclasses import dataclass
from typing import Any, Generic, TypeVar

from pydantic import BaseModel

from obverse.records import View

A = TypeVar("A", bound=BaseModel)
T = TypeVar("T")


M = TypeVar("M", bound=Callable[..., Any])


def asks_nothing(method: M) -> M:
    """Marks a method that needs no LLM; used as a decorator."""
    method.needs_llm = False  # type: ignore[attr-defined]
    return method


class Skip(Exception):
    """Ends a method for a topic with a fixed reason phrase: there is nothing to make here."""


class Rejected(Exception):
    """A reply is unusable.

    Args:
        code: A fixed code, such as ``cut-off`` or ``copies-passage``, by which rejects are counted.
        detail: What was seen, for people.
    """

    def __init__(self, code: str, detail: str = "") -> None:
        self.code, self.detail = code, detail
        super().__init__(f"{code}: {detail}" if detail else code)


@dataclass(frozen=True, slots=True)
class Prompt(Generic[A]):
    """One question to the LLM.

    Attributes:
        stage: The name of the question within its method; recorded replies are found by (method, stage, topic_id).
        system: The system message.
        user: The user message. Documents stand in it byte for byte.
        answer: The pydantic model that the reply is read into; also gives the wire schema.
        check: Raises :class:`Rejected` where an answer that parses is still wrong (ids out of range, a copy of the
            document, ...).
        max_tokens: The limit of the reply, in tokens.
        temperature: Sampling temperature.
        yes_no: Whether yes or no is asked, with its probability: the answer is an
            :class:`obverse.llm.yes_no.YesNo`, and no form is asked for.
    """

    stage: str
    system: str
    user: str
    answer: type[A]
    check: Callable[[A], None] | None = None
    max_tokens: int = 1_024
    temperature: float = 0.0
    yes_no: bool = False


Dialogue = Generator[Prompt[Any], Any, T]
"""What a method returns when called: yields prompts, is sent answers, returns ``T``."""

Views = Dialogue[list[View]]
