"""Plans of sites with a small network and one or two pods, without failures."""

import json
from pathlib import Path
from typing import Any

from ops.sites.configuration import config_from_pairs, config_from_sections
from ops.sites.site_plans import read_site
from schemas.files.site_plan import SitePlan

POD, NETWORK = "pod-0", "dcn-0"
QUIET: dict[str, Any] = {"failures": {"enabled": False}}
CALM = ["workload.enabled=false", "failures.enabled=false"]
PODS_ON_A_NETWORK = SitePlan(
    site="campus",
    fabrics={
        "pod-0": config_from_pairs("superpod", ["pod.cubes=8", *CALM], seed=3),
        "pod-1": config_from_pairs("superpod", ["pod.cubes=8", *CALM], seed=4),
        "dcn-0": config_from_sections(
            "dcn",
            {
                "failures": {"enabled": False},
                "network": {"racks": 4, "racks_full": 4, "blocks": [{"pod": "pod-0"}, {"pod": "pod-1"}, {}]},
            },
            "config",
        ),
    },
)
"""A site of two small pods and a network of three blocks."""


def network_config(racks: int = 16, **more: Any) -> dict[str, Any]:
    """Return the configuration of eight blocks of three generations, on N racks of two OCSes."""
    blocks = [
        {"generation": 400, "uplinks": 512, "pod": POD},
        {"generation": 400, "uplinks": 512, "count": 3},
        {"generation": 100, "uplinks": 256, "count": 4},
    ]
    hardware = {"racks": racks, "racks_full": racks, "switches": 2, "blocks": blocks}
    return {"seed": 5, "network": hardware, **QUIET, **more}


def written_site(folder: Path, **config: Any) -> Path:
    """Write the site file of a pod of four cubes and a network; return its path. `config` replaces parts of
    the network's configuration."""
    pod = {"seed": 1, "pod": {"cubes": 4}, "workload": {"enabled": False}, **QUIET}
    fabrics = [
        {"name": POD, "config": pod},
        {"name": NETWORK, "kind": "dcn", "config": network_config(**config)},
    ]
    path = folder / "site.yaml"
    path.write_text(json.dumps({"site": "campus", "fabrics": fabrics}))
    return path


def network_site(folder: Path, **config: Any) -> SitePlan:
    return read_site(written_site(folder, **config))
