"""The status document of what was changed of a fabric's configuration while it lives."""

from schemas.body import Model
from schemas.parameter import ParameterName, ParameterValue


class ParameterRow(Model):
    """A parameter that is not as the fabric was commissioned, since `changed_us`; `changed_by` is the id of
    the request."""

    name: ParameterName
    value: ParameterValue
    commissioned: ParameterValue
    changed_us: int
    changed_by: str


class ParametersDocument(Model):
    """Written by `failures`, which says yes or no to changes; kind `parameters`, name `pod-0`."""

    name: str
    changed: tuple[ParameterRow, ...]
