"""Traffic of a datacenter network: reports are consistent with each other, with the demand of the blocks and
with the capacity of their links."""

from collections.abc import Iterator

from ops.invariants.network_circuits import NetworkCircuitChecker
from schemas.config.runtime_parameters import parameter_or
from schemas.envelope import Envelope
from schemas.messages.demands import DemandMoved
from schemas.messages.failures import ParametersChanged
from schemas.messages.sequencer import FabricCommissioned
from schemas.messages.traffic import TrafficCarried
from schemas.messages.trunks import TrunksChanged
from shared.basics.units import US_PER_S

PPM = 1_000_000
MBPS = 1_000
"""Mb/s of 1 Gb/s."""
ROUNDED = 2
"""Tolerance between two rounded shares, in parts per million."""


class TrafficChecker:
    """Runs after the circuit checker, which knows the capacity of the blocks."""

    def __init__(self, network: NetworkCircuitChecker) -> None:
        self._network = network
        self._sent: tuple[int, ...] = ()
        self._hour = -1
        self._owed = 0
        """Number of changes of demand or trunks that are not yet reported."""
        self._react_us = 0
        self._since_us: int | None = None
        """Time of the first change that the weights do not reflect yet."""
        self._until_us = 0
        """Deadline of the new weights. A `react_s` that changes meanwhile applies to later changes."""
        self._weights = 0
        self._last: TrafficCarried | None = None

    def see(self, message: Envelope) -> Iterator[str]:
        body = message.body
        if isinstance(body, FabricCommissioned):
            self._react_us = parameter_or(body.config, "traffic.react_s", 0) * US_PER_S
        elif isinstance(body, ParametersChanged):
            react_s = body.of("traffic").get("react_s")
            self._react_us = react_s * US_PER_S if isinstance(react_s, int) else self._react_us
        if message.cause is None:
            if self._owed:
                yield f"{self._owed} changes of the demand or the trunks were not reported"
            self._owed = 0
            yield from self._fits()
        if isinstance(body, DemandMoved):
            self._sent, self._hour = body.sent, body.hour
            self._owed += 1
        elif isinstance(body, TrunksChanged):
            self._owed += self._hour >= 0
        elif isinstance(body, TrafficCarried):
            yield from self._in_time(body, message.at_us)
            yield from self._carried(body)
            self._weights, self._last = body.weights, body

    def _in_time(self, body: TrafficCarried, at_us: int) -> Iterator[str]:
        """Check that every change is reported, and reported again when weights are solved.

        Weights are due `react_s` after the first change."""
        since_us = self._since_us
        if self._owed:
            self._owed -= 1
        elif not body.solved or since_us is None:
            yield "the traffic changed, but neither demand nor trunks did"
        elif at_us < self._until_us:
            allowed_us = self._until_us - since_us
            yield f"weights are solved {at_us - since_us} µs after a change, not {allowed_us} µs"
        if since_us is not None and at_us > self._until_us:
            allowed_us = self._until_us - since_us
            yield f"weights are solved {at_us - since_us} µs after a change; must be within {allowed_us} µs"
        if body.pending and body.solved:
            yield "weights are both solved and pending"
        if not body.pending:
            self._since_us = None
        elif since_us is None:
            self._since_us, self._until_us = at_us, at_us + self._react_us

    def _carried(self, body: TrafficCarried) -> Iterator[str]:
        if body.hour != self._hour:
            yield f"the demand of hour {body.hour} is carried, but hour {self._hour} was reported"
        if body.weights != self._weights + body.solved:
            yield f"{body.weights} weights after {self._weights}, but solved is {body.solved}"
        if max(body.served_ppm, body.direct_ppm) > PPM:
            yield "more than all of the demand is served"
        if body.bound_ppm > body.use_ppm:
            yield f"a use of {body.use_ppm} is below its bound of {body.bound_ppm}"
        if body.use_ppm <= PPM and not body.cut_off and body.served_ppm != PPM:
            yield f"{body.served_ppm} ppm are served, but no trunk is full"
        if not PPM - ROUNDED <= body.path_ppm <= 2 * PPM + ROUNDED and body.path_ppm:
            yield f"a path of {body.path_ppm} is not between one trunk and two"
        elif body.path_ppm and abs(2 * PPM - body.direct_ppm - body.path_ppm) > ROUNDED:
            yield f"a path of {body.path_ppm} does not follow from {body.direct_ppm} ppm of direct traffic"

    def _fits(self) -> Iterator[str]:
        """Check at the end of a cascade that no block sends more over its links than the reported peak
        utilisation allows."""
        last, self._last = self._last, None
        if last is None or last.cut_off:
            return
        for block, (sent, carries) in enumerate(
            zip(self._sent, self._network.capacity.tolist(), strict=True)
        ):
            if sent * PPM > (last.use_ppm + 1) * carries * MBPS + PPM:
                yield f"block {block} sends {sent} Mb/s over {carries} Gb/s, at a use of {last.use_ppm}"
