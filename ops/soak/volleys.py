"""A plan of faults carried out: volley after volley, each when the twin lives again after the one before."""

import threading
import time
from collections.abc import Callable, Sequence

from ops.soak.meter import Meter
from ops.soak.plan import Fault, volleys
from ops.soak.strikes.scene import Scene, SoakEnded

END_S_MAX = 20.0
"""How long strikes may take to undo what they did when the soak ends in their midst."""
Say = Callable[[str], None]


def carry_out(
    plan: Sequence[Fault], seconds: float, scene: Scene, meter: Meter, wait: Callable[[float], None], say: Say
) -> None:
    """Strike, each volley at its share of the time or as soon as the twin lives again, whichever is later.
    `wait` waits so many seconds, and may raise; so does a strike that could not be carried out."""
    began_s = time.monotonic()
    for volley in volleys(plan):
        at_s = seconds * volley[0].number / len(plan)
        wait(max(0.0, began_s + at_s - time.monotonic()))
        for fault in volley:
            say(f"{time.monotonic() - began_s:6.1f} s  {describe(fault)}")
        _shoot(volley, scene, meter, wait)
        meter.end()
        while meter.waiting():
            wait(0.1)
        lived_s = max(struck.live_s or 0.0 for struck in meter.struck[-len(volley) :])
        say(f"{time.monotonic() - began_s:6.1f} s  live again after {lived_s:.1f} s")


def _shoot(volley: Sequence[Fault], scene: Scene, meter: Meter, wait: Callable[[float], None]) -> None:
    """All faults of a volley, each in a thread of its own, until all of them are over."""
    errors: list[Exception] = []

    def hit(fault: Fault) -> None:
        try:
            scene.hold(fault.after_s)
            meter.begin(fault)
            fault.strike.hit(scene, fault)
        except SoakEnded:
            pass
        except Exception as error:  # noqa: BLE001 -- raised again in the soak's own thread
            errors.append(error)

    threads = [threading.Thread(target=hit, args=(fault,), name=describe(fault)) for fault in volley]
    for thread in threads:
        thread.start()
    try:
        while any(thread.is_alive() for thread in threads):
            wait(0.1)
    except BaseException:
        scene.ended.set()
        for thread in threads:
            thread.join(END_S_MAX)
        raise
    if errors:
        raise errors[0]


def describe(fault: Fault) -> str:
    """A fault in a few words."""
    lasts = f" for {fault.lasts_s:.1f} s" if fault.lasts_s else ""
    return f"{fault.number}: {fault.strike.action}, {fault.target.name}{lasts}"
