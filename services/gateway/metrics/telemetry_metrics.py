"""Metrics for Prometheus of what modules and OCSes read: per fabric what is lowest, in the middle and highest
of each field, who raises flags, and the few worst by name. Never a series a lane, a port or a mirror."""

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt
from prometheus_client.core import GaugeMetricFamily, Metric

from services.gateway.fabrics import living_fabrics
from services.gateway.ports import TwinPorts
from services.gateway.telemetry.module_readings import newest_module_frame, rounded_reading
from services.gateway.telemetry.ocs_readings import newest_ocs_frame, rounded_ocs_reading
from shared.basics.units import US_PER_S
from shared.models.superpod.wiring import link_end
from shared.models.telemetry import module_fields, ocs_fields
from shared.models.telemetry.registers import DARK_DBM

FloatArray = npt.NDArray[np.float64]
Frames = Mapping[str, tuple[int, Any]]
"""Fabric → (of when its newest frame is, its record batch)."""
STATISTICS: tuple[tuple[str, Callable[[FloatArray], float]], ...] = (
    ("lowest", lambda values: float(values.min())),
    ("median", lambda values: float(np.median(values))),
    ("highest", lambda values: float(values.max())),
)
NAMED_MAX = 10
RECEIVED = "rx_power_dbm"


@dataclass(frozen=True, slots=True)
class ReadingSource:
    """Who reads itself: `word` in names of metrics, which end is `worst` by field, the bit of each field in a
    number of flags, the columns that have such numbers by their level, the fields of which the worst are
    `named`, a value with the `digits` that it is read with, and who a row of a frame is of."""

    word: str
    noun: str
    worst: Mapping[str, str]
    bits: Mapping[str, int]
    levels: Mapping[str, str]
    named: tuple[str, ...]
    digits: Callable[[str, float], float | None]
    column: str
    name: Callable[[str, int], str]


LINK_READINGS = ReadingSource(
    "link",
    "link ends that are connected, each of its worst lane",
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
    "OCSes, each of its worst mirror, camera, supply or fan",
    {name: field.worst for name, field in ocs_fields.OCS_FIELDS.items()},
    ocs_fields.OCS_FIELD_BIT,
    {"warnings": "warning", "alarms": "alarm", "unread": "unread"},
    ("mirror_error_urad", "camera_snr_db", "temperature_c"),
    lambda _field, value: rounded_ocs_reading(value),
    "ocs",
    lambda fabric, number: f"{fabric}/ocs-{number}",
)


def reading_metrics(twin: TwinPorts) -> list[Metric]:
    """Of the newest telemetry frames of every living fabric."""
    ends = {
        fabric: (f.at_us, f.batch)
        for fabric in living_fabrics(twin)
        if (f := newest_module_frame(twin, fabric))
    }
    ocses = {
        fabric: (o.at_us, o.batch) for fabric in living_fabrics(twin) if (o := newest_ocs_frame(twin, fabric))
    }
    found = [_ages(ends), _dark(ends)]
    for readers, frames in ((LINK_READINGS, ends), (OCS_READINGS, ocses)):
        found += [*_statistics(readers, frames), _flags(readers, frames), *_worst(readers, frames)]
    return found


def _ages(frames: Frames) -> Metric:
    family = GaugeMetricFamily(
        "lightwave_telemetry_simulated_seconds",
        "simulated time of the newest telemetry frame",
        labels=["fabric"],
    )
    for fabric, (at_us, _) in frames.items():
        family.add_metric([fabric], at_us / US_PER_S)
    return family


def _dark(frames: Frames) -> Metric:
    family = GaugeMetricFamily(
        "lightwave_link_dark",
        "link ends that are connected, and that receive no light on a lane at least",
        labels=["fabric"],
    )
    for fabric, (_, batch) in frames.items():
        values, _ = _values(LINK_READINGS, batch, RECEIVED)
        family.add_metric([fabric], int(np.count_nonzero(values <= DARK_DBM)))
    return family


def _statistics(readers: ReadingSource, frames: Frames) -> Iterable[Metric]:
    for name in readers.bits:
        family = GaugeMetricFamily(
            f"lightwave_{readers.word}_{name}",
            f"what is read of themselves by {readers.noun}",
            labels=["fabric", "statistic"],
        )
        for fabric, (_, batch) in frames.items():
            values, _ = _values(readers, batch, name)
            for statistic, of in STATISTICS if len(values) else ():
                family.add_metric([fabric, statistic], _rounded(readers, name, of(values)))
        yield family


def _flags(readers: ReadingSource, frames: Frames) -> Metric:
    family = GaugeMetricFamily(
        f"lightwave_{readers.word}_flags",
        f"how many raise a flag of {readers.noun}, by field",
        labels=["fabric", "field", "level"],
    )
    for fabric, (_, batch) in frames.items():
        for column, level in readers.levels.items():
            raised = batch.column(column).to_numpy()
            for name, bit in readers.bits.items():
                family.add_metric([fabric, name, level], int(np.count_nonzero(raised & bit)))
    return family


def _worst(readers: ReadingSource, frames: Frames) -> Iterable[Metric]:
    """Of received power, of those that are lit: in an outage all that are dark read alike, are counted, and
    would hide who is about to go."""
    for name in readers.named:
        family = GaugeMetricFamily(
            f"lightwave_{readers.word}_worst_{name}",
            f"what those read that are worst by it, {NAMED_MAX} of a fabric",
            labels=["fabric", readers.word],
        )
        for fabric, (_, batch) in frames.items():
            values, numbers = _values(readers, batch, name)
            if name == RECEIVED:
                lit = values > DARK_DBM
                values, numbers = values[lit], numbers[lit]
            order = np.argsort(values if readers.worst[name] == "low" else -values, kind="stable")
            for place in order[:NAMED_MAX].tolist():
                value = _rounded(readers, name, float(values[place]))
                family.add_metric([fabric, readers.name(fabric, int(numbers[place]))], value)
        yield family


def _rounded(readers: ReadingSource, name: str, value: float) -> float:
    """With the digits that are read, and not those that a short float adds."""
    told = readers.digits(name, value)
    return value if told is None else told


def _values(readers: ReadingSource, batch: Any, name: str) -> tuple[FloatArray, npt.NDArray[np.int64]]:
    """A field where it was read, and of which link ends or OCSes."""
    values: FloatArray = batch.column(name).to_numpy(zero_copy_only=False).astype(np.float64)
    read = ~np.isnan(values)
    return values[read], batch.column(readers.column).to_numpy()[read]
