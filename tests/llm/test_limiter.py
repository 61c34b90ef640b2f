"""The limiter against simulated servers, with a clock of their own."""

from __future__ import annotations

import heapq
import random
from collections.abc import Callable
from dataclasses import dataclass, field

import pytest

from obverse.llm.limiter import Breaker, Limiter

Events = list[tuple[float, int, Callable[[float], None]]]


@dataclass
class Server:
    """``cap`` requests at once, further ones are refused; ``slots`` are worked on, further ones wait."""

    cap: int = 10**9
    slots: int = 10**9
    seconds: float = 0.2
    jitter: float = 0.3
    retry_after: float | None = None
    dead: Callable[[float], bool] = lambda now: False
    busy: int = 0
    queue: list[Callable[[float], None]] = field(default_factory=list)


@dataclass
class Simulation:
    server: Server
    limiter: Limiter
    total: int
    now: float = 0.0
    answered: int = 0
    sent: int = 0
    most: int = 0
    events: Events = field(default_factory=list)
    draw: random.Random = field(default_factory=lambda: random.Random(0))

    def later(self, delay: float, what: Callable[[float], None]) -> None:
        heapq.heappush(self.events, (self.now + delay, len(self.events) + self.sent * 10**6, what))

    def send(self) -> None:
        self.sent += 1
        sent_at = self.now
        self.limiter.sent(sent_at)
        self.most = max(self.most, self.limiter.in_flight)
        server = self.server
        if server.dead(self.now):
            self.later(0.01, self.limiter.broke)
        elif server.busy + len(server.queue) >= server.cap:
            self.later(0.002, lambda now: self.limiter.refused(now, sent_at, server.retry_after))
        elif server.busy < server.slots:
            self.work()
        else:
            server.queue.append(lambda now: self.work())

    def work(self) -> None:
        self.server.busy += 1
        self.later(
            self.server.seconds * (1 + self.draw.uniform(-1, 1) * self.server.jitter), self.done
        )

    def done(self, now: float) -> None:
        self.server.busy -= 1
        self.answered += 1
        self.limiter.answered(now, tokens=100)
        if self.server.queue:
            self.server.queue.pop(0)(now)

    def run(self, until: float = 3_600.0) -> Simulation:
        while self.answered < self.total and self.now < until:
            while (
                self.limiter.may_send(self.now)
                and self.answered + self.limiter.in_flight < self.total
            ):
                self.send()
            if self.events:
                self.now, _, what = heapq.heappop(self.events)
                what(self.now)
            else:
                self.now = max(self.now + 0.01, self.limiter.paused_until)
        return self


@pytest.mark.parametrize("jitter", [0.3, 0.0])
@pytest.mark.parametrize("cap", [20, 100, 300])
def test_a_server_with_a_cap(cap: int, jitter: float) -> None:
    sim = Simulation(Server(cap=cap, jitter=jitter), Limiter(), total=100 * cap + 2_000).run()
    ideal = sim.total / (cap / 0.2)
    assert sim.limiter.refusals < 0.01 * sim.total
    assert ideal / sim.now >= 0.8


def test_refusals_with_a_time_to_wait() -> None:
    sim = Simulation(Server(cap=100, retry_after=0.5), Limiter(), total=12_000).run()
    assert sim.limiter.refusals < 0.01 * sim.total
    assert sim.total / 500 / sim.now >= 0.8


def test_a_fast_server_is_used_up_to_the_cap() -> None:
    sim = Simulation(Server(), Limiter(cap=256), total=20_000).run()
    assert sim.most == 256
    assert sim.total / (256 / 0.2) / sim.now >= 0.8


def test_a_server_that_queues_instead_of_refusing() -> None:
    sim = Simulation(Server(slots=100), Limiter(cap=2_000), total=60_000).run()
    assert sim.limiter.refusals == 0
    assert sim.limiter.limit <= 200 and sim.most <= 800
    assert sim.total / 500 / sim.now >= 0.95


def test_word_that_requests_wait_holds_the_limit() -> None:
    limiter = Limiter()
    limiter.waiting_there = True
    assert Simulation(Server(slots=4), limiter, total=500).run().most == 8


def test_a_dead_server_gets_a_probe_each_half_minute() -> None:
    sim = Simulation(Server(dead=lambda now: True), Limiter(), total=100).run(until=600)
    assert sim.limiter.breaker in (Breaker.OPEN, Breaker.PROBING)
    assert sim.sent <= 20 + 8 + 600 / 30


def test_a_server_that_comes_back_is_found_within_a_probe() -> None:
    sim = Simulation(Server(cap=100, dead=lambda now: 2 < now < 100), Limiter(), total=30_000).run()
    assert sim.answered == 30_000
    assert sim.now < 100 + 31 + 30_000 / 500 / 0.8


def test_a_server_that_comes_and_goes() -> None:
    server = Server(cap=100, dead=lambda now: now % 60 < 20)
    sim = Simulation(server, Limiter(), total=10_000).run()
    assert sim.answered == 10_000 and sim.now < 600


def test_nothing_is_sent_before_the_server_said() -> None:
    limiter = Limiter()
    limiter.sent(0.0)
    limiter.refused(1.0, 0.0, retry_after=20.0)
    assert not limiter.may_send(20.9) and limiter.may_send(21.0)


def test_a_round_is_cut_to_what_was_not_refused() -> None:
    limiter = Limiter(start=100)
    for _ in range(100):
        limiter.sent(0.0)
    for _ in range(30):
        limiter.refused(0.1, 0.0)
    assert limiter.limit == pytest.approx(0.8 * 71)


def test_a_server_that_refuses_everything_is_not_hammered() -> None:
    sim = Simulation(Server(cap=0), Limiter(), total=100).run(until=1_000)
    assert sim.sent < 100
