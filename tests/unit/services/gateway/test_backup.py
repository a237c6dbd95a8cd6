"""The point of the log at which a backup is cut, as the gateway reports it."""

import pytest

from ops.sites.site_plans import single_fabric_sites
from schemas.files.backup_manifest import BackupPoint, SavedClock, SiteLogCut
from services.gateway.http.access.caller import Caller, Role
from services.gateway.http.access.tokens import Tokens
from services.gateway.http.app import create_app
from tests.support.gateway_twin import Client, DrivenTwin

pytestmark = pytest.mark.integration

POINT = BackupPoint(
    twin="first",
    software="1.0+0",
    wall_us=1_000,
    plans=single_fabric_sites(1),
    sites=(SiteLogCut(site="pod-0", position=2, size=22),),
    clock=SavedClock(),
    inbox=(),
    cancelled=(),
    operations_size=8,
    letters_size=0,
)


def test_the_backup_point_covers_the_whole_running_twin(twin: DrivenTwin) -> None:
    client = twin.client(backup_point=lambda: POINT)
    assert BackupPoint.model_validate_json(client.get("/v1/backup").content) == POINT
    past = client.get("/v1/backup?at=0us")
    assert (past.status_code, "about the running twin" in past.text) == (422, True)


def test_a_twin_without_a_folder_names_its_storage(client: Client) -> None:
    answer = client.get("/v1/backup")
    assert answer.status_code == 404
    assert "backup: this twin has no data folder; back up its Kafka and Redis instead" in answer.text


def test_only_administrators_may_back_up_a_twin(twin: DrivenTwin) -> None:
    tokens = {role: f"the-token-of-a-{role}-here" for role in Role}
    known = Tokens((token, Caller(f"the-{role}", role)) for role, token in tokens.items())
    guarded = Client(create_app(twin.ports, tokens=known))
    for role, token in tokens.items():
        answer = guarded.get("/v1/backup", headers={"authorization": f"Bearer {token}"})
        assert answer.status_code == (404 if role is Role.ADMINISTRATOR else 403)
