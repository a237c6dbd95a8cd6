"""Parameters that can change at runtime: their current values, and requests to change them."""

from schemas.api.requests import ParametersRequest
from schemas.config.parameter import ParameterSetting
from schemas.config.pods import FabricConfig
from schemas.config.runtime_parameters import with_settings
from schemas.documents.pods import ParameterRow, ParametersDocument
from schemas.messages.operator import SetParameters
from schemas.request_metadata import RequestBody
from services.gateway.fabrics import config_of
from services.gateway.resources.status_documents import read_one
from services.gateway.runtime_ports import TwinPorts
from shared.basics.errors import InvalidInput


def changed_parameters(twin: TwinPorts, fabric: str) -> tuple[ParameterRow, ...]:
    """The parameters that differ from the commissioned ones, in order of change."""
    document = read_one(twin, fabric, "parameters", fabric, ParametersDocument)
    return () if document is None else document.changed


def current_config(twin: TwinPorts, fabric: str) -> FabricConfig:
    """The current configuration of a fabric; raise NotFound if there is no such fabric."""
    config = config_of(twin, fabric)
    rows = changed_parameters(twin, fabric)
    return with_settings(config, [ParameterSetting(name=row.name, value=row.value) for row in rows])[0]


def parameters_request(twin: TwinPorts, fabric: str, request: ParametersRequest) -> tuple[str, RequestBody]:
    """A request to change parameters; raise NotFound if there is no such fabric."""
    config_of(twin, fabric)
    settings = tuple(ParameterSetting(name=name, value=value) for name, value in request.parameters.items())
    return fabric, SetParameters(settings=settings)


def check_settings(twin: TwinPorts, fabric: str, settings: tuple[ParameterSetting, ...]) -> None:
    """Raise InvalidInput, naming the setting, if the fabric's configuration would be invalid with it."""
    try:
        with_settings(current_config(twin, fabric), settings)
    except ValueError as error:
        raise InvalidInput(f"{fabric}: {error}") from None
