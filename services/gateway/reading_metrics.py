"""Metrics for Prometheus of what modules read: per fabric what is lowest, in the middle and highest of each
field, who raises flags, and the few worst link ends by name. Never a series a lane or a port."""

from collections.abc import Callable, Iterable, Mapping

import numpy as np
import numpy.typing as npt
from prometheus_client.core import GaugeMetricFamily, Metric

from services.gateway.fabrics import living
from services.gateway.ports import TwinPorts
from services.gateway.readings import Frame, newest
from shared.basics.units import US_PER_S
from shared.models.superpod.wiring import link_end
from shared.models.telemetry.fields import BIT, FIELDS

FloatArray = npt.NDArray[np.float64]
STATISTICS: tuple[tuple[str, Callable[[FloatArray], float]], ...] = (
    ("lowest", lambda values: float(values.min())),
    ("median", lambda values: float(np.median(values))),
    ("highest", lambda values: float(values.max())),
)
NAMED = ("rx_power_dbm", "ber", "temperature_c")
"""Fields of which the worst link ends are named."""
NAMED_MAX = 10


def reading_metrics(twin: TwinPorts) -> list[Metric]:
    """Of the newest telemetry frame of every living pod."""
    found = {fabric: newest(twin, fabric) for fabric in living(twin)}
    frames = {fabric: frame for fabric, frame in found.items() if frame is not None}
    return [_ages(frames), *_statistics(frames), _flags(frames), *_worst(frames)]


def _ages(frames: Mapping[str, Frame]) -> Metric:
    family = GaugeMetricFamily(
        "lightwave_telemetry_simulated_seconds",
        "simulated time of the newest telemetry frame",
        labels=["fabric"],
    )
    for fabric, frame in frames.items():
        family.add_metric([fabric], frame.at_us / US_PER_S)
    return family


def _statistics(frames: Mapping[str, Frame]) -> Iterable[Metric]:
    for name in FIELDS:
        family = GaugeMetricFamily(
            f"lightwave_link_{name}",
            "what modules read, each of its worst lane, over the link ends that are connected",
            labels=["fabric", "statistic"],
        )
        for fabric, frame in frames.items():
            values, _ = _values(frame, name)
            for statistic, of in STATISTICS if len(values) else ():
                family.add_metric([fabric, statistic], of(values))
        yield family


def _flags(frames: Mapping[str, Frame]) -> Metric:
    family = GaugeMetricFamily(
        "lightwave_link_flags",
        "link ends whose module raises a flag, by field",
        labels=["fabric", "field", "level"],
    )
    for fabric, frame in frames.items():
        for column, level in (("warnings", "warning"), ("alarms", "alarm")):
            raised = frame.batch.column(column).to_numpy()
            for name, bit in BIT.items():
                family.add_metric([fabric, name, level], int(np.count_nonzero(raised & bit)))
    return family


def _worst(frames: Mapping[str, Frame]) -> Iterable[Metric]:
    for name in NAMED:
        family = GaugeMetricFamily(
            f"lightwave_link_worst_{name}",
            f"what the modules read that are worst by it, {NAMED_MAX} of a fabric",
            labels=["fabric", "link"],
        )
        for fabric, frame in frames.items():
            values, ends = _values(frame, name)
            order = np.argsort(values if FIELDS[name].worst == "low" else -values, kind="stable")
            for place in order[:NAMED_MAX].tolist():
                family.add_metric([fabric, link_end(int(ends[place])).name(fabric)], float(values[place]))
        yield family


def _values(frame: Frame, name: str) -> tuple[FloatArray, npt.NDArray[np.int64]]:
    """A field where it was read, and of which link ends."""
    values: FloatArray = frame.batch.column(name).to_numpy(zero_copy_only=False).astype(np.float64)
    read = ~np.isnan(values)
    return values[read], frame.ends[read]
