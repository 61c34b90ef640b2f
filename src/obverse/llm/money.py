"""Prices, and what a run may cost. A price that is not known stays unknown; it is never taken for zero."""

from __future__ import annotations

import os
import threading
import tomllib
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from obverse.errors import InputError, SettingError
from obverse.llm.reply import Usage, reply_from_row
from obverse.llm.request import Request, canonical

_KEYS = {"input", "output", "cached", "batch_factor", "currency"}
BYTES_PER_TOKEN = 2.5
"""For worst cases: English text has four or more, code and other scripts fewer."""


@dataclass(frozen=True, slots=True)
class Price:
    """What a model's tokens cost.

    Attributes:
        input: A million tokens read.
        output: A million tokens written, reasoning included.
        cached: A million tokens read from a cache; None where there is no other price for them.
        batch_factor: What batch files cost, as a share of the above.
        currency: Of the above.
    """

    input: float
    output: float
    cached: float | None = None
    batch_factor: float = 1.0
    currency: str = "USD"

    def of(self, usage: Usage, lane: str = "live") -> float | None:
        """Returns what a reply cost, or None where its tokens are not known."""
        if usage.prompt is None or usage.completion is None:
            return None
        cached = (usage.cached or 0) if self.cached is not None else 0
        read = (usage.prompt - cached) * self.input + cached * (self.cached or 0.0)
        cost = (read + usage.completion * self.output) / 1e6
        return cost * (self.batch_factor if lane == "batch" else 1.0)

    def at_most(self, request: Request) -> float:
        """Returns what a request can cost at most: every token read at full price, and the reply's limit."""
        read = len(canonical(request.body)) / BYTES_PER_TOKEN
        return (read * self.input + request.max_tokens * self.output) / 1e6


FREE = Price(0.0, 0.0, 0.0)


def read_prices(path: str | os.PathLike[str]) -> dict[str, Price]:
    """Returns the prices of a TOML file, by model: ``["my-model"]``, then ``input = 0.25`` and ``output = 2.0``.

    Raises:
        InputError: If the file is missing, is no TOML, or a price is missing or no number.
    """
    name = os.fspath(path)
    try:
        table = tomllib.loads(Path(name).read_text(encoding="utf-8"))
    except FileNotFoundError:
        raise InputError("no such file", where=name, fix="Check the path") from None
    except (tomllib.TOMLDecodeError, UnicodeDecodeError) as error:
        raise InputError(f"is no TOML ({error})", where=name, fix="Mend the file") from None
    return {model: _price(row, f"{name}, {model}") for model, row in table.items()}


def _price(row: Any, where: str) -> Price:
    keys = ", ".join(sorted(_KEYS))
    if not isinstance(row, dict) or set(row) - _KEYS or not {"input", "output"} <= set(row):
        raise InputError("needs input and output", where=where, fix=f"Keys: {keys}")
    for key, value in row.items():
        if key != "currency" and (not isinstance(value, int | float) or value < 0):
            raise InputError(f"{key} is no price", where=where, fix="Write a number, 0 or more")
    return Price(**row)


@dataclass(slots=True)
class Budget:
    """What may be spent, what is spent, and what is reserved for requests under way.

    Attributes:
        limit: The most that may be spent, in the price's currency; None for no limit.
        price: None where it is not known.
        spent: What the replies of this journal cost.
        reserved: The worst case of the requests under way.
    """

    limit: float | None = None
    price: Price | None = None
    spent: float = 0.0
    _reserved: dict[int, float] = field(default_factory=dict)
    _guard: threading.Lock = field(default_factory=threading.Lock)

    def __post_init__(self) -> None:
        if self.limit is not None and self.price is None:
            raise SettingError(
                "a cost limit needs the model's price, which is not known",
                fix="Give --prices FILE with the model's input and output price",
            )

    @property
    def reserved(self) -> float:
        return sum(self._reserved.values())

    def reserve(self, request: Request) -> bool:
        """Sets the worst case of a request aside; False where that would pass the limit."""
        if self.price is None:
            return True
        with self._guard:
            worst = self.price.at_most(request)
            if self.limit is not None and self.spent + self.reserved + worst > self.limit:
                return False
            self._reserved[id(request)] = worst
            return True

    def settle(self, request: Request, usage: Usage | None, *, maybe_billed: bool = False) -> None:
        """Puts the true cost in place of the worst case; the worst case stands where the truth is not known."""
        with self._guard:
            worst = self._reserved.pop(id(request), 0.0)
            if self.price is None:
                return
            if usage is not None:
                cost = self.price.of(usage)
                self.spent += worst if cost is None else cost
            elif maybe_billed:
                self.spent += worst

    def count_earlier(self, records: Iterable[Mapping[str, Any]]) -> None:
        """Counts what earlier runs spent by the records of a journal, possibly billed requests at their worst."""
        if self.price is None:
            return
        limits: dict[str, list[int]] = {}
        self.spent = 0.0
        for record in records:
            key, kind = str(record.get("key", "")), record["kind"]
            if kind == "start":
                limits.setdefault(key, []).append(int(record.get("max_tokens") or 0))
                continue
            limit = limits[key].pop() if limits.get(key) else 0
            worst = limit * self.price.output / 1e6
            if kind == "done":
                reply = reply_from_row(record["reply"])
                cost = self.price.of(reply.usage, reply.lane)
                self.spent += worst if cost is None else cost
            elif kind == "fail" and record.get("maybe_billed"):
                self.spent += worst
        self.spent += sum(map(sum, limits.values())) * self.price.output / 1e6


def price_of(prices: Mapping[str, Price], model: str) -> Price | None:
    """Returns a model's price, or None where nobody said."""
    return prices.get(model)
