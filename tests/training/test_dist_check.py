"""The check that users run on their own machines, here with two gloo processes."""

from __future__ import annotations

import os
import re
import signal
import subprocess
import sys

import pytest

from obverse.errors import ModelError, SettingError
from obverse.training.dist_check import LOSSES, TOLERANCE, Check, launch


@pytest.mark.slow
def test_two_processes_have_the_gradient_of_one_for_every_loss(encoder: str) -> None:
    """To 1e-6 of the largest gradient, plain and chunked, with dropout on; and the weights after six steps to 1e-6."""
    command = [sys.executable, "-m", "obverse", "doctor", "dist", "--base", encoder, "--thorough"]
    environment = {**os.environ, "OMP_NUM_THREADS": "1", "HF_HUB_OFFLINE": "1"}
    process = subprocess.Popen(
        command,
        env=environment,
        start_new_session=True,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )
    try:
        out, errors = process.communicate(timeout=600)
    except BaseException:
        os.killpg(process.pid, signal.SIGKILL)
        raise
    assert process.returncode == 0, errors
    lines = [line for line in out.splitlines() if line.startswith("ok")]
    assert len(lines) == 2 * len(LOSSES) + 1, out
    for name in LOSSES:
        assert any(f"gradient, {name}:" in line for line in lines)
        assert any(f"gradient, {name}, chunked:" in line for line in lines)
    apart, share = re.findall(r"\d\.\de[-+]\d+", lines[-1])
    assert lines[-1].startswith("ok    weights after 6 steps")
    assert float(apart) <= 1e-6 and float(share) <= 1e-6
    assert "2 processes" in errors


def test_one_process_is_no_comparison() -> None:
    with pytest.raises(SettingError, match="1 process is no comparison"):
        launch(1, "any")
    with pytest.raises(SettingError, match="99999 processes are too many"):
        launch(99_999, "any")


def test_a_base_that_is_not_there_is_said_before_processes_are_started() -> None:
    with pytest.raises(ModelError, match="no such model folder"):
        launch(2, "./nowhere")


def test_a_difference_above_the_tolerance_fails() -> None:
    assert TOLERANCE == 1e-6
    assert Check("x", 4.9e-6, 5.0).passed and not Check("x", 5.1e-6, 5.0).passed
    assert str(Check("x", 2e-6, 4.0)) == "ok    x: apart by 2.0e-06, 5.0e-07 of the largest"
