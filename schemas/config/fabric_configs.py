"""The configuration of a fabric of any kind: a union discriminated by `kind`."""

from typing import Annotated

from pydantic import BeforeValidator, GetJsonSchemaHandler, SerializeAsAny, ValidationInfo
from pydantic.json_schema import JsonSchemaValue
from pydantic_core import CoreSchema, to_json

from schemas.config.dcn import DcnConfig
from schemas.config.pods import FabricConfig, StaticPodConfig, SuperpodConfig
from schemas.config.repairs import RepairShopConfig

CONFIGS: dict[str, type[FabricConfig]] = {
    "superpod": SuperpodConfig,
    "static-pod": StaticPodConfig,
    "dcn": DcnConfig,
}
"""Kind of fabric → the model of its configuration."""
KIND_QUOTED_MAX = 60
"""Characters of an unknown kind that the error repeats."""


def config_model(kind: object, field: str = "kind") -> type[FabricConfig]:
    """The configuration model of a kind of fabric. ValueError, about `field`, if there is no such kind."""
    model = CONFIGS.get(kind) if isinstance(kind, str) else None
    if model is None:
        given = repr(kind)
        shown = given if len(given) <= KIND_QUOTED_MAX else f"{given[:KIND_QUOTED_MAX]}…"
        raise ValueError(f"{field} {shown}: no such kind of fabric; must be one of {', '.join(CONFIGS)}")
    return model


def _validate_by_kind(value: object, info: ValidationInfo) -> FabricConfig:
    if isinstance(value, FabricConfig):
        return value
    kind = value.get("kind") if isinstance(value, dict) else None
    model = config_model(kind)
    if info.mode == "json":
        return model.model_validate_json(to_json(value, inf_nan_mode="constants"))
    return model.model_validate(value)


class _KindUnionSchema:
    """JSON Schema of a configuration: one of those of all kinds."""

    def __get_pydantic_json_schema__(self, _: CoreSchema, handler: GetJsonSchemaHandler) -> JsonSchemaValue:
        kinds = [handler(model.__pydantic_core_schema__) for model in CONFIGS.values()]
        return {"oneOf": kinds, "discriminator": {"propertyName": "kind"}}


class _KindNameSchema:
    """JSON Schema of the name of a kind: an enum. `config_model` reports unknown kinds."""

    def __get_pydantic_json_schema__(
        self, text: CoreSchema, handler: GetJsonSchemaHandler
    ) -> JsonSchemaValue:
        return handler(text) | {"enum": [*CONFIGS]}


FabricKindName = Annotated[str, _KindNameSchema()]

AnyConfig = Annotated[SerializeAsAny[FabricConfig], BeforeValidator(_validate_by_kind), _KindUnionSchema()]
"""A configuration of any kind, discriminated by `kind`."""


def _validate_by_fields(value: object) -> object:
    """Repair times as the model of a kind of fabric that has these fields; any other value as it is."""
    models = {config.repair_times_model for config in CONFIGS.values()} if isinstance(value, dict) else ()
    for model in models:
        if isinstance(value, dict) and model is not None and value.keys() == model.model_fields.keys():
            return model.model_validate_json(to_json(value))
    return value


AnyRepairTimes = Annotated[SerializeAsAny[RepairShopConfig], BeforeValidator(_validate_by_fields)]
"""The `repair_times` of a configuration of any kind, as states store them: all fields, without the kind."""
