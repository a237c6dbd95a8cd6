"""Imports the modules of all commands, in the process from which `forked.py` forks. Only `forked.py` imports
this."""

import importlib
import os

from ops.cli.main import COMMANDS, ONE_THREAD

LATER = (
    "numpy",
    "ops.client.http_client",
    "ops.lab.run",
    "ops.reproduce.registry",
    "orjson",
    "rich.table",
    "scipy.special",
    "shared.models.topology.slice_figures",
    "yaml",
)
"""Slow imports, which commands do only when they run."""

os.environ.setdefault(*ONE_THREAD)  # as the command line does, before numpy is imported
for name in (*LATER, *(f"ops.cli.{module}" for module in sorted({*COMMANDS.values()}))):
    importlib.import_module(name)
