"""Runs one training in a process of its own, or two, as a test asks; killed where it says.

``python scenario.py FILE`` reads a list of scenarios (JSON) and writes what each came to. torch is imported once and
every scenario is a fork, so that a dozen stops and starts take seconds.
"""

from __future__ import annotations

import hashlib
import json
import os
import signal
import socket
import sys
import traceback
from pathlib import Path
from typing import Any


def free_port() -> int:
    with socket.socket() as found:
        found.bind(("127.0.0.1", 0))
        return int(found.getsockname()[1])


def fork(work: Any, count: int) -> list[int]:
    """Runs work(rank) in ``count`` processes and returns how each ended, -9 for one that was killed."""
    port = str(free_port())
    children = []
    for rank in range(count):
        child = os.fork()
        if child == 0:
            if count > 1:
                os.environ |= {
                    "RANK": str(rank),
                    "LOCAL_RANK": str(rank),
                    "WORLD_SIZE": str(count),
                    "LOCAL_WORLD_SIZE": str(count),
                    "MASTER_ADDR": "127.0.0.1",
                    "MASTER_PORT": port,
                }
            try:
                work(rank)
            except BaseException:
                traceback.print_exc()
                os._exit(1)
            os._exit(0)
        children.append(child)
    ends = []
    for child in children:
        _, status = os.waitpid(child, 0)
        ends.append(os.waitstatus_to_exitcode(status))
        if ends[-1] != 0:
            for other in children[len(ends) :]:
                os.kill(other, signal.SIGKILL)
    return ends


def kill_at(step: int, where: str) -> None:
    """Lets the process die by kill -9 in a step, after its look, or while or after its checkpoint is written."""
    from obverse.training import steps, watching

    if where == "after checkpoint":
        writes = steps.write_state

        def written(folder: Path, run: Any, seen: Any) -> None:
            writes(folder, run, seen)
            if seen["step"] == step:
                os.kill(os.getpid(), signal.SIGKILL)

        steps.write_state = written
        return
    if where == "look":
        look = watching.Watch.look

        def looked(self: Any, at: int) -> bool:
            found = look(self, at)
            if at == step:
                os.kill(os.getpid(), signal.SIGKILL)
            return found

        watching.Watch.look = looked  # type: ignore[method-assign]
        return
    if where == "checkpoint":
        write = steps.write_state

        def half_written(folder: Path, run: Any, seen: Any) -> None:
            if seen["step"] == step:
                (folder / "optimizer.pt").write_bytes(b"half")
                os.kill(os.getpid(), signal.SIGKILL)
            write(folder, run, seen)

        steps.write_state = half_written
        return
    whole = steps.StepLoss.__call__

    def killed(self: Any, found: Any, scale: Any = None) -> Any:
        if found.batch.step == step:
            os.kill(os.getpid(), signal.SIGKILL)
        return whole(self, found, scale)

    steps.StepLoss.__call__ = killed  # type: ignore[method-assign]


def weights(folder: Path) -> dict[str, Any]:
    from safetensors.torch import load_file

    found = {}
    for path in sorted(folder.rglob("*.safetensors")):
        if "checkpoints" not in path.parts:
            place = path.relative_to(folder).parent
            found |= {f"{place}/{k}": v for k, v in load_file(str(path)).items()}
    return found


def digest(folder: Path) -> str:
    found = hashlib.sha256()
    for name, tensor in sorted(weights(folder).items()):
        found.update(name.encode() + tensor.contiguous().numpy().tobytes())
    return found.hexdigest()


def play(scenario: dict[str, Any]) -> dict[str, Any]:
    """Runs one scenario: ``{"out", "settings", "topics", "base", "processes", "kill": [step, where]}``."""
    out = Path(scenario["out"])

    def work(rank: int) -> None:
        import torch
        from tiny_encoder import dual_topic, dual_topics, plain_topic

        from obverse.errors import ObverseError
        from obverse.training.trainer import train

        torch.set_num_threads(1)
        if scenario.get("kill"):
            kill_at(*scenario["kill"])
        topics = dual_topics(scenario.get("topics", 12))
        topics += [plain_topic(n) for n in range(scenario.get("plain", 0))]
        if held_out := scenario.get("held_out"):
            scenario["settings"]["held_out"] = [dual_topic(40 + n) for n in range(held_out)]
        try:
            train(
                topics,
                base=scenario["base"],
                out=out,
                device="cpu",
                max_tokens=32,
                **scenario["settings"],
            )
        except ObverseError as error:
            (out.parent / f"{out.name}.error{rank}").write_text(str(error))
            os._exit(error.exit_status)

    said = out.parent / f"{out.name}.said"
    with said.open("ab") as stream:
        keep = os.dup(2)
        os.dup2(stream.fileno(), 2)
        ends = fork(work, scenario.get("processes", 1))
        os.dup2(keep, 2)
        os.close(keep)
    error = out.parent / f"{out.name}.error0"
    return {
        "ends": ends,
        "digest": digest(out) if (out / "modules.json").is_file() else None,
        "error": error.read_text() if error.is_file() else None,
        "said": said.read_text(),
    }


if __name__ == "__main__":
    import datasets  # noqa: F401
    import sentence_transformers  # noqa: F401
    import torch  # noqa: F401
    import transformers.trainer  # noqa: F401

    import obverse.training.trainer  # noqa: F401

    sys.path.insert(0, str(Path(__file__).parent))
    source = Path(sys.argv[1])
    found = [play(scenario) for scenario in json.loads(source.read_text())]
    source.with_suffix(".out").write_text(json.dumps(found))
