"""The table row of the kind lamp field, and its registration for a test."""

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from schemas import fabric_names, names, registry, resource_kinds
from schemas.config.fabric_configs import CONFIGS
from schemas.fabric_names import FabricNaming
from services import fabric_kinds, service_names
from services.fabric_kinds import FabricKind, register
from services.failures.service import SERVICE as FAILURES
from shared.models import fabric_plants
from shared.models.faults import fault_kinds
from tests.support.toy_fabric.config import (
    BULB,
    LampFieldConfig,
    LampLit,
    LampOut,
    check_brightness,
    lamp_field_plant,
)
from tests.support.toy_fabric.services import LAMPS as LAMP_SERVICE
from tests.support.toy_fabric.view import LAMPS, VIEW

LAMP_FIELD = FabricKind(
    config=LampFieldConfig,
    naming=FabricNaming("field", frozenset({"mast", "fault"})),
    plant=lamp_field_plant,
    services=(FAILURES, LAMP_SERVICE),
    check_config=check_brightness,
    view=lambda: VIEW,
    resources=(LAMPS,),
    messages=(LampOut, LampLit),
    faults={"bulb": BULB},
    found_at=f"{__name__}:LAMP_FIELD",
)
TABLES: tuple[dict[str, Any], ...] = (
    *(fabric_kinds.FABRIC_KINDS, fabric_kinds.FLEET, service_names.SERVICE_NAMES, CONFIGS, registry.TYPES),
    *(
        registry.REFUSALS,
        fabric_plants.PLANTS,
        fabric_plants.CONFIG_CHECKS,
        resource_kinds.KINDS,
        resource_kinds.KIND_BY_NAME_PREFIX,
        fabric_names.FABRIC_NAMING,
        names.FAULT_KINDS,
        fault_kinds.FAULTS,
    ),
)
"""All tables that `register` adds to."""


@contextmanager
def lamp_field_registered() -> Iterator[None]:
    """Register lamp fields for the duration of the block."""
    kept = [dict(table) for table in TABLES]
    register(LAMP_FIELD)
    try:
        yield
    finally:
        for table, rows in zip(TABLES, kept, strict=True):
            table.clear()
            table.update(rows)
