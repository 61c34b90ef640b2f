"""Requests a second, CPU and memory of the client side: Obverse beside bespokelabs-curator, at the same work.

Every contender asks the same fake endpoint (a process of its own, 200 ms a reply) the same prompts and keeps all
replies on disk in its own way. Each runs in a process of its own; CPU is that process's user and system time, which
a busy machine changes less than the wall time.

    python benchmarks/client_speed.py --requests 5000
    python benchmarks/client_speed.py --requests 1000 --curator ~/venv-bench/bin/python
"""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import sys
import tempfile
import time

SERVER = """
import sys
from obverse.llm.fake_endpoint import FakeEndpoint, serve_forever
def reply(body):  # curator first tries whether a schema with name and age is kept
    tried = "age" in str(body.get("response_format"))
    return '{"name": "Jason", "age": 25}' if tried else '{"instruction": "Only red."}'
serve_forever(FakeEndpoint(seconds=float(sys.argv[1]), reply=reply))
"""
OBVERSE = """
import json, sys
from random import Random
from pydantic import BaseModel
from obverse.llm.forms import Form
from obverse.llm.live import LLM
from obverse.records import Doc, Label, Topic, View
from obverse.stages import Drops
from obverse.synthesis.dialogue import Prompt
from obverse.synthesis.engine import synthesize

class Condition(BaseModel):
    instruction: str

def condition(topic, rng):
    answer = yield Prompt("write", "Write a condition.", topic.query, Condition, max_tokens=64)
    return [View(answer.instruction, {"a": Label.POSITIVE})]

def topics(count):
    for n in range(count):
        yield Topic(f"t{n}", TEXT % n, (Doc("a", "x"),), (View("", {"a": Label.POSITIVE}),))

url, count, folder, at_once = sys.argv[1], int(sys.argv[2]), sys.argv[3], int(sys.argv[4])
llm = LLM(url, "fake", form=Form.JSON_SCHEMA, max_concurrency=at_once)
made = synthesize(topics(count), Drops(), method=condition, llm=llm, run_dir=folder, open_topics=2048)
got = sum(len(topic.instructed_views) for topic in made)
"""
CURATOR = """
import importlib.util, os, pathlib, sys
url, count, folder, at_once = sys.argv[1], int(sys.argv[2]), sys.argv[3], int(sys.argv[4])
os.environ.update(CURATOR_CACHE_DIR=folder, TELEMETRY_ENABLED="false", CURATOR_VIEWER="0", OPENAI_API_KEY="none",
                  CURATOR_DISABLE_RICH_DISPLAY="1", HF_HUB_OFFLINE="1", LITELLM_LOCAL_MODEL_COST_MAP="True")
# litellm carries the tokenizer that curator would fetch from the network
packaged = pathlib.Path(importlib.util.find_spec("litellm").origin).parent / "litellm_core_utils" / "tokenizers"
os.environ["TIKTOKEN_CACHE_DIR"] = str(packaged)
from bespokelabs import curator
from pydantic import BaseModel

class Condition(BaseModel):
    instruction: str

class Ask(curator.LLM):
    response_format = Condition
    def prompt(self, row):
        return row["query"]
    def parse(self, row, response):
        return {"instruction": response.instruction}

ask = Ask(model_name="gpt-4o-mini", backend="openai",
          backend_params={"base_url": url, "max_requests_per_minute": 10_000_000,
                          "max_tokens_per_minute": 10_000_000_000, "max_concurrent_requests": at_once,
                          "request_timeout": 120, "max_retries": 1, "require_all_responses": True})
made = ask([{"query": TEXT % n} for n in range(count)])
got = len(getattr(made, "dataset", made))
"""
TAIL = """
import resource
used = resource.getrusage(resource.RUSAGE_SELF)
print("\\nRESULT", got, used.ru_utime + used.ru_stime, used.ru_maxrss / 1024)
"""
TEXT = 'TEXT = "Which thing is number %d? " + "A passage of some forty words stands here. " * 20\n'


def measured(python: str, code: str, url: str, count: int, at_once: int) -> dict[str, float]:
    """Returns requests a second, CPU milliseconds a request and peak memory of one contender."""
    with tempfile.TemporaryDirectory() as folder:
        begun = time.perf_counter()
        process = subprocess.run(
            [python, "-c", TEXT + code + TAIL, url, str(count), folder, str(at_once)],
            capture_output=True,
            text=True,
            env={**os.environ, "NO_COLOR": "1"},
            check=False,
        )
        wall = time.perf_counter() - begun
    line = next((x for x in process.stdout.splitlines() if x.startswith("RESULT")), None)
    if line is None:
        sys.exit(f"a contender failed:\n{process.stderr[-3_000:]}\n{process.stdout[-1_000:]}")
    got, cpu, peak = map(float, line.split()[1:])
    if got != count:
        sys.exit(f"{got:.0f} of {count} replies came")
    return {
        "requests": count,
        "wall_s": round(wall, 2),
        "requests_per_s": round(count / wall, 1),
        "cpu_s": round(cpu, 2),
        "cpu_ms_per_request": round(1_000 * cpu / count, 3),
        "peak_MiB": round(peak, 1),
    }


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--requests", type=int, default=5_000)
    parser.add_argument("--at-once", type=int, default=512)
    parser.add_argument("--seconds", type=float, default=0.2, help="how long a reply takes")
    parser.add_argument("--curator", help="the Python of an environment with bespokelabs-curator")
    arguments = parser.parse_args()
    server = subprocess.Popen(
        [sys.executable, "-c", SERVER, str(arguments.seconds)], stdout=subprocess.PIPE, text=True
    )
    assert server.stdout is not None
    url = server.stdout.readline().strip()
    contenders = {"obverse": (sys.executable, OBVERSE)}
    if arguments.curator:
        contenders["bespokelabs-curator"] = (arguments.curator, CURATOR)
    try:
        for name, (python, code) in contenders.items():
            for count in (1, arguments.requests):  # one request: what starting costs
                row = measured(python, code, url, count, arguments.at_once)
                print(json.dumps({"client": name, **row, "load": os.getloadavg()[0]}), flush=True)
    finally:
        server.kill()


if __name__ == "__main__":
    main()
