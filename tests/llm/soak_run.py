"""The runs of the kill soak, each in a process of its own that can be killed.

Forks one for each line on stdin, so that imports are paid once. Says the child's process id, and when it is gone
``gone``; a child that comes to its end says how many views and drops there were before that.
"""

from __future__ import annotations

import os
import sys

from toy_asker import topics, two_steps

from obverse.llm.forms import Form
from obverse.llm.live import LLM
from obverse.stages import Drops
from obverse.synthesis.engine import synthesize


def run(url: str, run_dir: str, count: int) -> None:
    llm = LLM(url, "fake", form=Form.TAGS, max_concurrency=64)
    drops = Drops()
    made = synthesize(topics(count), drops, method=two_steps, llm=llm, run_dir=run_dir)
    print(sum(len(topic.instructed_views) for topic in made), len(drops.rows), flush=True)


if __name__ == "__main__":
    for _ in sys.stdin:
        child = os.fork()
        if child == 0:
            try:
                run(sys.argv[1], sys.argv[2], int(sys.argv[3]))
            finally:
                os._exit(0)
        print(child, flush=True)
        os.waitpid(child, 0)
        print("gone", flush=True)
