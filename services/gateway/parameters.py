"""Parameters that change while a fabric lives: what they are now, and how others are asked for."""

from schemas.api_requests import ParametersRequest
from schemas.asked import AskedBody
from schemas.config import FabricConfig
from schemas.documents_parameters import ParameterRow, ParametersDocument
from schemas.living import with_settings
from schemas.operator import SetParameters
from schemas.parameter import Setting
from services.gateway.documents import read_one
from services.gateway.fabrics import config_of
from services.gateway.ports import TwinPorts
from shared.basics.errors import InvalidInput


def changed_parameters(twin: TwinPorts, fabric: str) -> tuple[ParameterRow, ...]:
    """What is not as the fabric was commissioned, in the order in which it was changed."""
    found = read_one(twin, fabric, "parameters", fabric, ParametersDocument)
    return () if found is None else found.changed


def present_config(twin: TwinPorts, fabric: str) -> FabricConfig:
    """The configuration by which a fabric goes now; NotFound if there is no such fabric."""
    config = config_of(twin, fabric)
    rows = changed_parameters(twin, fabric)
    return with_settings(config, [Setting(name=row.name, value=row.value) for row in rows])[0]


def set_request(twin: TwinPorts, fabric: str, asked: ParametersRequest) -> tuple[str, AskedBody]:
    """Other values of parameters; NotFound if there is no such fabric."""
    config_of(twin, fabric)
    settings = tuple(Setting(name=name, value=value) for name, value in asked.parameters.items())
    return fabric, SetParameters(settings=settings)


def check_settings(twin: TwinPorts, fabric: str, settings: tuple[Setting, ...]) -> None:
    """InvalidInput names one of them by which the fabric could not go as it is now."""
    try:
        with_settings(present_config(twin, fabric), settings)
    except ValueError as error:
        raise InvalidInput(f"{fabric}: {error}") from None
