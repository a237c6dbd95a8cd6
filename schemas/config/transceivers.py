"""The configuration of the links of a pod."""

from typing import Literal

from pydantic import model_validator

from schemas.body import Model
from schemas.config.parameter import parameter

INSPECTION_INTERVAL_S_MIN = 60
"""Minimum interval of inspections: each reads every link end, and emits a message if it finds an outlier."""


class TransceiversConfig(Model):
    """Optics of the links, thresholds for degraded and failed links, and intervals of readings."""

    telemetry_interval_s: int = parameter(
        900, "interval of telemetry frames; 0 for none", unit="seconds", source="choice", ge=0, le=31_536_000
    )
    inspection_interval_s: int = parameter(
        3_600,
        "interval of inspections, which search the readings of link ends for outliers; 0 for none, "
        "and then no fault is found by its readings",
        unit="seconds",
        source="choice",
        ge=0,
        le=31_536_000,
    )
    fibre_loss_db: float = parameter(
        1.0,
        "loss of the fibre and connectors of one strand, both ends together, without the OCS",
        unit="dB",
        source="assumption",
        ge=0,
        le=20,
        allow_inf_nan=False,
    )
    lane_rate: Literal["10G-NRZ", "25G-NRZ", "50G-PAM4", "100G-PAM4"] = parameter(
        "50G-PAM4", "data rate and modulation of each wavelength, one way", unit="-", source="[LF] 3.3.1"
    )
    interference_mitigation: bool = parameter(
        True,
        "whether receivers subtract the beat tone that reflections cause",
        unit="-",
        source="[LF] 3.3.2",
    )
    soft_fec: bool = parameter(
        True, "whether links use the inner code (soft-decision FEC)", unit="-", source="[LF] 3.3.2"
    )
    circulator: Literal["integrated", "external"] = parameter(
        "integrated",
        "position of the circulator: in the module, or outside it behind connectors",
        unit="-",
        source="[LF] B: external at first, then integrated",
    )
    laser: Literal["EML", "DML"] = parameter(
        "EML",
        "externally modulated (EML) or directly modulated (DML); a DML chirps, so that interference "
        "cannot be mitigated",
        unit="-",
        source="[LF] C.1",
    )
    degraded_above_ber: float = parameter(
        2e-5,
        "bit error rate before the outer code above which a link is degraded",
        unit="errors/bit",
        source="assumption: above the worst healthy pair",
        ge=1e-15,
        le=0.5,
        allow_inf_nan=False,
    )
    down_above_ber: float = parameter(
        2e-4,
        "bit error rate before the outer code above which a link is down",
        unit="errors/bit",
        source="[LF] 4.1.2: KP4 threshold",
        ge=1e-15,
        le=0.5,
        allow_inf_nan=False,
    )

    ride_out_s: float = parameter(
        2.0,
        "longest outage of a link that its traffic survives by waiting and sending again",
        unit="seconds",
        source="assumption: link layer and step time",
        ge=0,
        le=3_600,
        allow_inf_nan=False,
    )

    @model_validator(mode="after")
    def _check_inspection_interval(self) -> "TransceiversConfig":
        if 0 < self.inspection_interval_s < INSPECTION_INTERVAL_S_MIN:
            raise ValueError(
                f"inspection_interval_s: {self.inspection_interval_s} is not allowed; must be 0, or "
                f"between {INSPECTION_INTERVAL_S_MIN} and 31536000; the nearest is "
                f"{INSPECTION_INTERVAL_S_MIN}"
            )
        return self

    @model_validator(mode="after")
    def _degraded_before_down(self) -> "TransceiversConfig":
        if self.degraded_above_ber > self.down_above_ber:
            raise ValueError(
                f"degraded_above_ber: {self.degraded_above_ber:g} is not allowed; "
                f"must be at most down_above_ber, {self.down_above_ber:g}"
            )
        return self
