"""The live commands know all services and their required libraries."""

import subprocess
import sys

import pytest
import typer

from ops.cli.run.live import SERVICES, app
from services.fabric_kinds import FLEET
from services.service_names import SERVICE_NAMES

WITHOUT_FAUST = """
import sys
sys.modules["faust"] = None
from ops.cli.main import main
sys.argv = ["lightwave", "live", "worker", "ocs"]
main()
"""


def test_there_is_a_worker_for_every_service() -> None:
    assert {name: [s.name for s in services] for name, services in FLEET.items()} == {
        name: list(services) for name, services in SERVICE_NAMES.items()
    }
    assert set(SERVICES) == {service.name for services in FLEET.values() for service in services}


def test_every_command_has_a_help_text() -> None:
    assert all(command.help for command in typer.main.get_group(app).commands.values())


@pytest.mark.integration
def test_without_its_libraries_it_names_the_extra() -> None:
    done = subprocess.run([sys.executable, "-c", WITHOUT_FAUST], capture_output=True, text=True)
    assert done.returncode == 1
    assert done.stderr == "lightwave: `lightwave live` needs faust: pip install 'lightwave-twin[live]'\n"
