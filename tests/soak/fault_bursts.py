"""A plan of faults carried out: burst after burst, each when the twin is live again after the one before."""

import threading
import time
from collections.abc import Callable, Sequence

from tests.soak.fault_plan import PlannedFault, bursts_of
from tests.soak.faults.context import FaultContext, SoakEnded
from tests.soak.recovery_meter import RecoveryMeter

UNDO_S_MAX = 20.0
"""Maximum time for fault actions to undo their effects when the soak ends during them."""
Say = Callable[[str], None]


def inject_bursts(
    plan: Sequence[PlannedFault],
    seconds: float,
    context: FaultContext,
    meter: RecoveryMeter,
    wait: Callable[[float], None],
    say: Say,
) -> None:
    """Carry out the bursts, each at its share of the time or when the twin has recovered, whichever is
    later. `wait` waits for a number of seconds, and may raise; so does an action that failed."""
    began_s = time.monotonic()
    for burst in bursts_of(plan):
        at_s = seconds * burst[0].number / len(plan)
        wait(max(0.0, began_s + at_s - time.monotonic()))
        for fault in burst:
            say(f"{time.monotonic() - began_s:6.1f} s  {describe(fault)}")
        _inject_burst(burst, context, meter, wait)
        meter.end()
        while meter.waiting():
            wait(0.1)
        latest = max(meter.injected[-len(burst) :], key=lambda injected: injected.recovery_s or 0.0)
        order = sorted(latest.recovered.items(), key=lambda pair: -pair[1])
        parts = ", ".join(f"{name} {took_s:.1f}" for name, took_s in order)
        now_s, recovery_s = time.monotonic() - began_s, latest.recovery_s or 0.0
        say(f"{now_s:6.1f} s  live again after {recovery_s:.1f} s ({parts})")


def _inject_burst(
    burst: Sequence[PlannedFault], context: FaultContext, meter: RecoveryMeter, wait: Callable[[float], None]
) -> None:
    """All faults of a burst, each in a thread of its own, until all of them are over."""
    errors: list[Exception] = []

    def inject(fault: PlannedFault) -> None:
        try:
            context.hold(fault.after_s)
            meter.begin(fault)
            fault.fault_action.inject(context, fault)
        except SoakEnded:
            pass
        except Exception as error:  # noqa: BLE001 -- raised again in the soak's own thread
            errors.append(error)

    threads = [threading.Thread(target=inject, args=(fault,), name=describe(fault)) for fault in burst]
    for thread in threads:
        thread.start()
    try:
        while any(thread.is_alive() for thread in threads):
            wait(0.1)
    except BaseException:
        context.ended.set()
        for thread in threads:
            thread.join(UNDO_S_MAX)
        raise
    if errors:
        raise errors[0]


def describe(fault: PlannedFault) -> str:
    """A fault in a few words."""
    lasts = f" for {fault.duration_s:.1f} s" if fault.duration_s else ""
    return f"{fault.number}: {fault.fault_action.action}, {fault.target.name}{lasts}"
