"""The check that users run on their own machines, here with two gloo processes."""

from __future__ import annotations

import os
import signal
import subprocess
import sys

import pytest

from obverse.errors import SettingError
from obverse.training.dist_check import TOLERANCE, Check, launch


@pytest.mark.slow
def test_two_processes_have_the_gradient_of_one_for_every_loss(still_encoder: str) -> None:
    command = [sys.executable, "-m", "obverse", "doctor", "dist", "--base", still_encoder]
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
    assert len(lines) == 3, out
    assert "2 processes" in errors


def test_one_process_is_no_comparison() -> None:
    with pytest.raises(SettingError, match="1 process is no comparison"):
        launch(1, "any")


def test_a_difference_above_the_tolerance_fails() -> None:
    assert Check("x", TOLERANCE / 2).passed and not Check("x", TOLERANCE * 2).passed
