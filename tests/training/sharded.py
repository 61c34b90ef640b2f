"""Two processes hold a tiny encoder in shards (FSDP2) and run unequally many micro-batches; prints how far apart
their gradient is from that of one process with the whole encoder.

``python sharded.py ENCODER`` forks the two processes.
"""

from __future__ import annotations

import os
import sys
from pathlib import Path
from typing import Any


def work(encoder: str) -> None:
    import torch
    import torch.distributed as dist
    from tiny_encoder import dual_topics
    from torch.distributed.device_mesh import init_device_mesh
    from torch.distributed.fsdp import fully_shard

    from obverse.training import gradient
    from obverse.training.gradient import Processes, is_sharded
    from obverse.training.run import prepare
    from obverse.training.settings import Settings
    from obverse.training.steps import StepLoss

    torch.set_num_threads(1)
    dist.init_process_group("gloo")
    everyone = Processes(dist.get_rank(), dist.get_world_size())
    for chunked in (False, True):
        chosen = Settings(batch_size=5, max_tokens=32, micro_tokens=25, chunked=chunked)
        run = prepare(dual_topics(5), chosen, base=encoder, out=Path("unused"), device="cpu")
        alone = StepLoss(run, Processes())
        # Sharded weights are encoded by the library, with padding; so is what they are compared with.
        run.forward.packed = None
        alone(run.collator([0]))
        whole = {n: p.grad.clone() for n, p in run.learner.named_parameters() if p.grad is not None}
        run.learner.zero_grad()

        mesh = init_device_mesh("cpu", (2,))
        inner: Any = run.learner.transformers_model
        for layer in inner.encoder.layer:
            fully_shard(layer, mesh=mesh)
        fully_shard(run.learner, mesh=mesh)
        assert is_sharded(run.learner)
        step = run.collator([0])
        lengths = [run.forward.tokens.length(text) for text in step.texts]
        dealt = gradient.dealt_out(lengths, 25, 2)
        counts = [len(numbers) for numbers in dealt.by_process]
        StepLoss(run, everyone)(step)
        apart = max(
            float((p.grad.full_tensor() - whole[n]).abs().max())
            for n, p in run.learner.named_parameters()
            if p.grad is not None
        )
        most = max(float(value.abs().max()) for value in whole.values())
        if everyone.rank == 0:
            print(f"chunked={chunked} micro-batches={counts} apart={apart / most:.1e}", flush=True)
    dist.destroy_process_group()


if __name__ == "__main__":
    import sentence_transformers  # noqa: F401
    from scenario import fork

    os.environ["HF_HUB_OFFLINE"] = "1"
    ends = fork(lambda rank: work(sys.argv[1]), 2)
    sys.exit(max(abs(end) for end in ends))
