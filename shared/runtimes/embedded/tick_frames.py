"""The telemetry frames that the services of a site render at a Tick."""

from collections.abc import Callable, Iterable
from copy import deepcopy
from functools import partial

from schemas.envelope import Envelope
from shared.engine.dispatch import ServiceInstance
from shared.engine.service import AnyService
from shared.storage.log.frame_files import KeepFrame, TelemetryFolder


def render_tick_frames(
    folder: TelemetryFolder,
    instances: Iterable[ServiceInstance],
    tick: Envelope,
    service_name: str,
    clock_us: int,
    keep: KeepFrame,
) -> None:
    """Render the frames of a Tick of this service, or skip those that would slow down the twin; `keep`
    receives each. `clock_us` is the clock's time at the Tick."""
    for instance in instances:
        service, state = instance.service, instance.state
        if instance.fabric != tick.fabric or state is None or service.telemetry is None:
            continue
        if not service.emits_frames_at(service_name):
            continue
        is_due = service.next_frame_us(state, tick.at_us - 1) == tick.at_us
        following_us = service.next_frame_us(state, tick.at_us)
        folder.make(
            service.frames_name(tick.fabric),
            tick.at_us,
            partial(service.telemetry, state, tick),
            is_last_due=is_due and following_us is not None and following_us > clock_us,
            freeze=partial(_frozen_render, service, state, tick) if is_due else None,
            keep=keep,
        )


def _frozen_render(service: AnyService, state: object, tick: Envelope) -> Callable[[], bytes | None]:
    """Renders the frame of a Tick later, from a copy of the state, which takes far less time than a frame."""
    return partial(service.telemetry, deepcopy(state), tick) if service.telemetry else lambda: None
