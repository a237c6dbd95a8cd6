"""A request that waits for the log is refused at once if its fabric retires, not at the end of its wait."""

import asyncio
from typing import Any

import pytest

from services.gateway.requests import operator_requests
from services.gateway.requests.operator_requests import LOOKS_PER_CHECK, WAIT_S_MAX, wait_for_outcome
from shared.basics.errors import InvalidInput
from shared.storage.inbox.request_inbox import InboxReceipt


@pytest.mark.parametrize("retired_after", [0, 1, 3 * LOOKS_PER_CHECK])
def test_a_retirement_ends_the_wait(retired_after: int, monkeypatch: pytest.MonkeyPatch) -> None:
    looks = []

    def find(*_: Any) -> tuple[None, int]:
        looks.append(1)
        return None, 0

    def check(*_: Any) -> None:
        if len(looks) >= retired_after:
            raise InvalidInput("fabric pod-0: retired at 0d00:00:05")

    monkeypatch.setattr(operator_requests, "_find_in_new_messages", find)
    monkeypatch.setattr(operator_requests, "_check_not_dropped", check)
    monkeypatch.setattr(operator_requests, "POLL_S", 0.0)
    twin: Any = None
    with pytest.raises(InvalidInput, match="pod-0: retired"):
        asyncio.run(
            wait_for_outcome(twin, "pod-0", "pod-0", "x", 0, InboxReceipt(1, repeated=False), WAIT_S_MAX)
        )
    assert len(looks) <= retired_after + LOOKS_PER_CHECK
