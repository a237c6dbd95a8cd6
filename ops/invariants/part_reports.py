"""Hardware reports: every report changes the condition of its part. A part that is down comes up next."""

from collections.abc import Iterator

from schemas.body import Body
from schemas.envelope import Envelope
from schemas.messages.cubes import (
    CubeCooled,
    CubeDrained,
    CubeHealthy,
    CubeOverheated,
    CubePowerLost,
    CubePowerRegained,
    CubeUndrained,
    CubeUnhealthy,
    HostDown,
    HostUp,
)
from schemas.messages.ocs import (
    ControlLost,
    ControlRegained,
    OcsDown,
    OcsesDown,
    OcsesUp,
    OcsFreed,
    OcsHeld,
    OcsPartDown,
    OcsPartUp,
    OcsUp,
    PortDown,
    PortPatched,
    PortsDown,
    PortsUp,
    PortUp,
)
from schemas.messages.transceivers import ModuleReported
from schemas.messages.trunks import NetworkPartDown, NetworkPartUp

CONDITIONS: dict[type[Body], tuple[str, str]] = {
    CubeHealthy: ("health", "well"),
    CubeUnhealthy: ("health", "unhealthy"),
    CubeUndrained: ("drain", "well"),
    CubePowerRegained: ("power of cube", "well"),
    CubePowerLost: ("power of cube", "lost"),
    CubeCooled: ("cooling of cube", "well"),
    CubeOverheated: ("cooling of cube", "lost"),
    HostUp: ("host", "well"),
    OcsUp: ("OCS", "well"),
    OcsDown: ("OCS", "down"),
    OcsFreed: ("control of OCS", "well"),
    OcsHeld: ("control of OCS", "lost"),
    OcsPartUp: ("part", "well"),
    OcsPartDown: ("part", "down"),
    PortsUp: ("board", "well"),
    PortsDown: ("board", "down"),
    PortUp: ("port", "well"),
    PortDown: ("port", "down"),
    NetworkPartUp: ("part", "well"),
    NetworkPartDown: ("part", "down"),
    OcsesUp: ("part", "well"),
    OcsesDown: ("part", "down"),
    ControlRegained: ("part", "well"),
    ControlLost: ("part", "without control"),
}
"""Message type → part and condition that it reports. Initially every part is well."""


class PartReportChecker:
    """Follows the reported condition of every part."""

    def __init__(self) -> None:
        self._not_well: dict[tuple[object, ...], str] = {}
        self._windows: dict[int, CubeDrained] = {}
        """The last report of an operators' planned drain under way, by cube."""

    def see(self, message: Envelope) -> Iterator[str]:
        body = message.body
        if isinstance(body, HostDown):
            yield from self._report(("host", body.cube, body.host), f"without its {body.reason}")
        elif isinstance(body, ModuleReported):
            yield from self._report(("module", body.end), body.condition.replace("ok", "well"))
        elif isinstance(body, CubeDrained):
            yield from self._drain(body, message.cause)
        elif isinstance(body, PortPatched):  # the fibre moved to another mirror, which is intact
            yield from self._report(("port", body.ocs, body.side, body.port), "well")
        elif type(body) in CONDITIONS:
            if isinstance(body, CubeUndrained):
                self._windows.pop(body.cube, None)
            kind, condition = CONDITIONS[type(body)]
            names = [name for name in ("ocs", "side", "port", "cube", "host", "part") if hasattr(body, name)]
            yield from self._report((kind, *(getattr(body, name) for name in names)), condition)

    def _drain(self, body: CubeDrained, cause: str | None) -> Iterator[str]:
        """An operator may drain a cube that maintenance drained, and a planned drain may begin during that of
        another request; then the report has the end that it replaces."""
        how = f"window of {cause}" if body.why == "window" else body.why or "by an operator"
        yield from self._report(("drain", body.cube), f"drained ({how})")
        before = self._windows.pop(body.cube, None)
        if body.why == "window":
            self._windows[body.cube] = body
        if before is not None and before.until_us not in (None, body.until_us, body.was_until_us):
            yield f"drain {body.cube} replaces the end {body.was_until_us}, but it was {before.until_us}"

    def _report(self, part: tuple[object, ...], condition: str) -> Iterator[str]:
        if self._not_well.get(part, "well") == condition:
            yield f"{' '.join(map(str, part))} was {condition} already"
        self._not_well[part] = condition
        if condition == "well":
            del self._not_well[part]
