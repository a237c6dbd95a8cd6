"""The plan of a site: its name and its fabrics with their configurations."""

from pydantic import field_validator

from schemas.body import Model
from schemas.config.fabric_configs import AnyConfig
from schemas.names import FabricName, SiteName, fabric_order


class SitePlan(Model):
    """A site as it starts: its name, and each fabric with its configuration."""

    site: SiteName
    fabrics: dict[FabricName, AnyConfig]

    @field_validator("fabrics")
    @classmethod
    def _in_order(cls, fabrics: dict[str, AnyConfig]) -> dict[str, AnyConfig]:
        if not fabrics:
            raise ValueError("fabrics: none is given; must be one or more")
        return {name: fabrics[name] for name in sorted(fabrics, key=fabric_order)}
