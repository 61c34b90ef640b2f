"""What opening a journal found, and how it is told."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass


@dataclass(slots=True)
class Found:
    """What opening a journal found.

    Attributes:
        done: Keys with a reply.
        in_flight: Keys that were sent and have neither reply nor failure: possibly billed.
        in_batches: Keys that are out in batch files and have no result yet.
        torn_bytes: Bytes of a cut-off last record, set aside.
        bad_lines: Records whose checksum is wrong; they are not used.
        duplicates: Further replies to a key; the first is used, the others are waste.
    """

    done: int = 0
    in_flight: int = 0
    in_batches: int = 0
    torn_bytes: int = 0
    bad_lines: int = 0
    duplicates: int = 0

    def lines(self) -> Iterator[str]:
        """Yields what a person should know, a sentence each."""
        if self.done:
            yield f"{self.done:,} replies stand in the journal and are not asked for again"
        if self.torn_bytes:
            yield f"a torn last record of {self.torn_bytes:,} bytes was cut off and set aside (torn.bin)"
        if self.bad_lines:
            yield f"{self.bad_lines:,} damaged records are left out; what they held is asked for again"
        if self.in_flight:
            yield f"{self.in_flight:,} requests were in flight when an earlier run ended: possibly billed"
        if self.in_batches:
            yield f"{self.in_batches:,} requests are out in batch files"
