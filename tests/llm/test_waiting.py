from __future__ import annotations

import pytest

from obverse.llm.waiting import requests_wait

VLLM = b"""# HELP vllm:num_requests_running Number of requests in model execution batches.
# TYPE vllm:num_requests_running gauge
vllm:num_requests_running{engine="0",model_name="m"} %d.0
vllm:num_requests_waiting{engine="0",model_name="m"} %d.0
vllm:num_requests_waiting_by_reason_total 9e9
"""
SGLANG = b'sglang:num_running_reqs{model_name="m"} %d\nsglang:num_queue_reqs{model_name="m"} %d\n'


@pytest.mark.parametrize(
    ("text", "waits"),
    [
        (VLLM.replace(b"vllm:num_requests_waiting_by_reason_total 9e9\n", b"") % (100, 5), False),
        (VLLM.replace(b"vllm:num_requests_waiting_by_reason_total 9e9\n", b"") % (100, 50), True),
        (VLLM % (100, 5), False),
        (SGLANG % (8, 0), False),
        (SGLANG % (8, 4), True),
        (b"", None),
        (b"<html>not found</html>", None),
        (b"vllm:num_requests_running 3.0\n", None),
    ],
)
def test_what_servers_say(text: bytes, waits: bool | None) -> None:
    assert requests_wait(text) is waits
