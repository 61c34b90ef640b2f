"""Weights in shards over two processes (FSDP2): unequal micro-batches do not hang, the gradient is one process's."""

from __future__ import annotations

import os
import re
import signal
import subprocess
import sys
from pathlib import Path

import pytest


@pytest.mark.slow
def test_sharded_weights_get_the_gradient_of_one_process(still_encoder: str) -> None:
    command = [sys.executable, str(Path(__file__).parent / "sharded.py"), still_encoder]
    process = subprocess.Popen(
        command,
        env={**os.environ, "OMP_NUM_THREADS": "1", "HF_HUB_OFFLINE": "1"},
        start_new_session=True,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )
    try:
        out, errors = process.communicate(timeout=300)
    except BaseException:
        os.killpg(process.pid, signal.SIGKILL)
        raise
    assert process.returncode == 0, errors
    found = re.findall(r"chunked=(\w+) micro-batches=\[(\d+), (\d+)\] apart=(\S+)", out)
    assert [chunked for chunked, *_ in found] == ["False", "True"], out
    for _, first, second, apart in found:
        assert first != second, "the processes must have unequally many to be put to the test"
        assert float(apart) <= 1e-6
