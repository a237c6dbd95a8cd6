"""The option `--faults` of commands that create a twin."""

from functools import partial
from pathlib import Path

from ops.lab.planned_faults import with_planned_faults
from ops.sites.site_plans import FaultsReader


def faults_reader(path: Path | None) -> FaultsReader | None:
    """Return what adds the recorded faults of a file to the sites of a twin; None without a file."""
    return None if path is None else partial(with_planned_faults, path=path)
