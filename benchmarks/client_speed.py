"""Requests a second, CPU and memory of the client side: Obverse beside other tools, at the same work.

Every contender asks the same fake endpoint (a process of its own, 200 ms a reply, a twentieth of a client's CPU) the
same prompts and keeps all replies on disk in its own way. Each runs in a process of its own; CPU is that process's
user and system time with its children, which a busy machine changes less than the wall time.

    python benchmarks/client_speed.py --requests 10000 --repeats 3
    python benchmarks/client_speed.py --requests 2000 --curator ENV/bin/python --data-designer ENV/bin/python
"""

from __future__ import annotations

import argparse
import json
import os
import statistics
import subprocess
import sys
import tempfile
import time
from pathlib import Path

SERVER = Path(__file__).with_name("fast_server.py")
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
DATA_DESIGNER = """
import os, sys
url, count, folder, at_once = sys.argv[1], int(sys.argv[2]), sys.argv[3], int(sys.argv[4])
os.environ.update(NEMO_TELEMETRY_ENABLED="false", HF_HUB_OFFLINE="1", FAKE_KEY="none", HOME=folder)
import data_designer.config as dd
import pandas
from data_designer.interface import DataDesigner
from pydantic import BaseModel

class Condition(BaseModel):
    instruction: str

settings = dd.ChatCompletionInferenceParams(temperature=0.0, max_tokens=64, max_parallel_requests=at_once)
model = dd.ModelConfig(alias="m", model="fake", provider="fake", skip_health_check=True,
                       inference_parameters=settings)
builder = dd.DataDesignerConfigBuilder(model_configs=[model])
rows = pandas.DataFrame({"query": [TEXT % n for n in range(count)]})
builder.with_seed_dataset(dd.DataFrameSeedSource(df=rows))
builder.add_column(dd.LLMStructuredColumnConfig(
    name="condition", prompt="{{ query }}", system_prompt="Write a condition.", model_alias="m",
    output_format=Condition))
provider = dd.ModelProvider(name="fake", endpoint=url, provider_type="openai", api_key="FAKE_KEY")
designer = DataDesigner(artifact_path=folder, model_providers=[provider])
designer.set_run_config(dd.RunConfig(max_in_flight_tasks=4096))
made = designer.create(builder, num_records=count, dataset_name="d").load_dataset()
got = int(made["condition"].notna().sum())
"""
TAIL = """
import resource
used = [resource.getrusage(who) for who in (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN)]
cpu = sum(one.ru_utime + one.ru_stime for one in used)
print("\\nRESULT", got, cpu, max(one.ru_maxrss for one in used) / 1024)
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


def interval(values: list[float]) -> str:
    """Returns the mean and, of three or more, its 95 % interval by Student's t."""
    mean = statistics.fmean(values)
    if len(values) < 3:
        return f"{mean:.4g}"
    t = {3: 4.30, 4: 3.18, 5: 2.78, 6: 2.57, 7: 2.45, 8: 2.36, 9: 2.31, 10: 2.26}.get(
        len(values), 2.2
    )
    return f"{mean:.4g} +- {t * statistics.stdev(values) / len(values) ** 0.5:.2g}"


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--requests", type=int, default=10_000)
    parser.add_argument("--repeats", type=int, default=1)
    parser.add_argument("--at-once", type=int, default=512)
    parser.add_argument("--seconds", type=float, default=0.2, help="how long a reply takes")
    parser.add_argument("--curator", help="the Python of an environment with bespokelabs-curator")
    parser.add_argument("--data-designer", help="the Python of one with data-designer")
    parser.add_argument("--without", action="append", default=[], help="leave a contender out")
    arguments = parser.parse_args()
    command = [sys.executable, str(SERVER), str(arguments.seconds)]
    server = subprocess.Popen(command, stdout=subprocess.PIPE, text=True)
    assert server.stdout is not None
    url = server.stdout.readline().strip()
    contenders = {"obverse": (sys.executable, OBVERSE)}
    if arguments.curator:
        contenders["bespokelabs-curator"] = (arguments.curator, CURATOR)
    if arguments.data_designer:
        contenders["data-designer"] = (arguments.data_designer, DATA_DESIGNER)
    try:
        for name, (python, code) in contenders.items():
            if name in arguments.without:
                continue
            rows = [
                measured(python, code, url, count, arguments.at_once)
                for count in (1, *[arguments.requests] * arguments.repeats)
            ]
            for row in rows:  # the first is one request: what starting costs
                print(json.dumps({"client": name, **row}), flush=True)
            told = {
                key: interval([row[key] for row in rows[1:]])
                for key in ("wall_s", "requests_per_s", "cpu_s", "cpu_ms_per_request", "peak_MiB")
            }
            beyond = [1e3 * (row["cpu_s"] - rows[0]["cpu_s"]) / row["requests"] for row in rows[1:]]
            told["cpu_ms_per_request_beyond_start"] = interval(beyond)
            print(json.dumps({"client": name, "n": arguments.requests, "mean": told}), flush=True)
        used = Path(f"/proc/{server.pid}/stat").read_text().split()[13:15]
        ticks = os.sysconf("SC_CLK_TCK")
        print(json.dumps({"server_cpu_s": sum(map(int, used)) / ticks, "load": os.getloadavg()[0]}))
    finally:
        server.kill()


if __name__ == "__main__":
    main()
