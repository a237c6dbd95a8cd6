"""What commands import, for the process that `forked.py` forks them from: nobody else imports this."""

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
"""What takes long, and is imported only by commands that run."""

os.environ.setdefault(*ONE_THREAD)  # as the command line does it, before numpy is there
for name in (*LATER, *(f"ops.cli.{module}" for module in sorted({*COMMANDS.values()}))):
    importlib.import_module(name)
