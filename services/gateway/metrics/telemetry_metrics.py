"""Prometheus metrics of the readings of modules and OCSes: by fabric the lowest, median and highest of each
field, the number of flags, and the worst few by name. There is never one series per lane, port or mirror."""

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt
from prometheus_client.core import GaugeMetricFamily, Metric

from services.gateway.fabrics import living_fabrics
from services.gateway.runtime_ports import TwinPorts
from services.gateway.telemetry.module_readings import newest_module_frame, rounded_reading
from services.gateway.telemetry.ocs_readings import newest_ocs_frame, rounded_ocs_reading
from shared.basics.units import US_PER_S
from shared.models.superpod.wiring import link_end
from shared.models.telemetry import module_fields, ocs_fields
from shared.models.telemetry.registers import DARK_DBM

FloatArray = npt.NDArray[np.float64]
Frames = Mapping[str, tuple[int, Any]]
"""Fabric → (simulated time of its newest frame, its record batch)."""
STATISTICS: tuple[tuple[str, Callable[[FloatArray], float]], ...] = (
    ("lowest", lambda values: float(values.min())),
    ("median", lambda values: float(np.median(values))),
    ("highest", lambda values: float(values.max())),
)
NAMED_MAX = 10
RECEIVED = "rx_power_dbm"


@dataclass(frozen=True, slots=True)
class ReadingSource:
    """A kind of device that reports readings."""

    word: str
    """Its word in names of metrics."""
    noun: str
    """Its noun in help texts."""
    worst: Mapping[str, str]
    """Field → whether `low` or `high` values are worst."""
    bits: Mapping[str, int]
    """Field → its bit in a number of flags."""
    levels: Mapping[str, str]
    """Column of flags → its level."""
    named: tuple[str, ...]
    """Fields whose worst devices are listed by name."""
    digits: Callable[[str, float], float | None]
    """Rounds a value of a field to the digits that the device reports."""
    column: str
    """The column with the device's number."""
    name: Callable[[str, int], str]
    """(fabric, number) → the device's name."""


LINK_READINGS = ReadingSource(
    "link",
    "connected link ends, each by its worst lane",
    {name: field.worst for name, field in module_fields.MODULE_FIELDS.items()},
    module_fields.MODULE_FIELD_BIT,
    {"warnings": "warning", "alarms": "alarm"},
    (RECEIVED, "ber", "temperature_c"),
    rounded_reading,
    "end",
    lambda fabric, number: link_end(number).name(fabric),
)
OCS_READINGS = ReadingSource(
    "ocs",
    "OCSes, each by its worst mirror, camera, supply or fan",
    {name: field.worst for name, field in ocs_fields.OCS_FIELDS.items()},
    ocs_fields.OCS_FIELD_BIT,
    {"warnings": "warning", "alarms": "alarm", "unread": "unread"},
    ("mirror_error_urad", "camera_snr_db", "temperature_c"),
    lambda _field, value: rounded_ocs_reading(value),
    "ocs",
    lambda fabric, number: f"{fabric}/ocs-{number}",
)


def reading_metrics(twin: TwinPorts) -> list[Metric]:
    """The metrics of the newest telemetry frames of every fabric that has not retired."""
    ends = {
        fabric: (f.at_us, f.batch)
        for fabric in living_fabrics(twin)
        if (f := newest_module_frame(twin, fabric))
    }
    ocses = {
        fabric: (o.at_us, o.batch) for fabric in living_fabrics(twin) if (o := newest_ocs_frame(twin, fabric))
    }
    metrics = [_ages(ends), _dark(ends)]
    for source, frames in ((LINK_READINGS, ends), (OCS_READINGS, ocses)):
        metrics += [*_statistics(source, frames), _flags(source, frames), *_worst(source, frames)]
    return metrics


def _ages(frames: Frames) -> Metric:
    family = GaugeMetricFamily(
        "lightwave_telemetry_simulated_seconds",
        "Simulated time of the newest telemetry frame.",
        labels=["fabric"],
    )
    for fabric, (at_us, _) in frames.items():
        family.add_metric([fabric], at_us / US_PER_S)
    return family


def _dark(frames: Frames) -> Metric:
    family = GaugeMetricFamily(
        "lightwave_link_dark",
        "Connected link ends that receive no light on at least one lane.",
        labels=["fabric"],
    )
    for fabric, (_, batch) in frames.items():
        values, _ = _values(LINK_READINGS, batch, RECEIVED)
        family.add_metric([fabric], int(np.count_nonzero(values <= DARK_DBM)))
    return family


def _statistics(source: ReadingSource, frames: Frames) -> Iterable[Metric]:
    for name in source.bits:
        family = GaugeMetricFamily(
            f"lightwave_{source.word}_{name}",
            f"Readings of {source.noun}.",
            labels=["fabric", "statistic"],
        )
        for fabric, (_, batch) in frames.items():
            values, _ = _values(source, batch, name)
            for statistic, compute in STATISTICS if len(values) else ():
                family.add_metric([fabric, statistic], _rounded(source, name, compute(values)))
        yield family


def _flags(source: ReadingSource, frames: Frames) -> Metric:
    family = GaugeMetricFamily(
        f"lightwave_{source.word}_flags",
        f"Number of flags raised by {source.noun}, by field.",
        labels=["fabric", "field", "level"],
    )
    for fabric, (_, batch) in frames.items():
        for column, level in source.levels.items():
            raised = batch.column(column).to_numpy()
            for name, bit in source.bits.items():
                family.add_metric([fabric, name, level], int(np.count_nonzero(raised & bit)))
    return family


def _worst(source: ReadingSource, frames: Frames) -> Iterable[Metric]:
    """The worst devices by name. For received power only lit ends count: during an outage all dark ends read
    alike, are counted separately, and would hide an end that is about to fail."""
    for name in source.named:
        family = GaugeMetricFamily(
            f"lightwave_{source.word}_worst_{name}",
            f"Readings of the {NAMED_MAX} worst per fabric.",
            labels=["fabric", source.word],
        )
        for fabric, (_, batch) in frames.items():
            values, numbers = _values(source, batch, name)
            if name == RECEIVED:
                lit = values > DARK_DBM
                values, numbers = values[lit], numbers[lit]
            order = np.argsort(values if source.worst[name] == "low" else -values, kind="stable")
            for place in order[:NAMED_MAX].tolist():
                value = _rounded(source, name, float(values[place]))
                family.add_metric([fabric, source.name(fabric, int(numbers[place]))], value)
        yield family


def _rounded(source: ReadingSource, name: str, value: float) -> float:
    """The value with the digits of the device, without those added by a 32-bit float."""
    rounded = source.digits(name, value)
    return value if rounded is None else rounded


def _values(source: ReadingSource, batch: Any, name: str) -> tuple[FloatArray, npt.NDArray[np.int64]]:
    """The values of a field where it was read, and the numbers of the link ends or OCSes."""
    values: FloatArray = batch.column(name).to_numpy(zero_copy_only=False).astype(np.float64)
    read = ~np.isnan(values)
    return values[read], batch.column(source.column).to_numpy()[read]
