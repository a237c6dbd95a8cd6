"""Reads an incident from the log of a twin: from a running one over HTTP, or from its data folder."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Protocol

from ops.client.answers import EVENTS
from ops.client.http_client import Client, row_path
from ops.client.remote_snapshot import fetch_snapshot
from ops.drills import incident, incident_document
from ops.drills.document import Drill, parse_drill
from ops.drills.incident import Incident
from ops.drills.logged_message import logged_message
from ops.drills.simulated_wait import clock_us
from ops.local.software_version import software_version
from ops.report.yaml_writer import yaml_text
from ops.twin.data_folder import DataFolder
from ops.twin.history_reader import TwinHistory, read_history
from schemas.envelope import Envelope
from schemas.messages.sequencer import FabricCommissioned
from schemas.registry import Unreadable, decode
from schemas.resource_kinds import FABRICS
from services.fabric_kinds import fabric_views, services_of
from services.gateway.explain.site_readings import read_site
from shared.basics.errors import NotFound, OperationFailed
from shared.basics.time_grammar import NOW
from shared.engine.site import Site
from shared.models.fabric_plants import plant_of
from shared.models.plant.plant_format import Plant

EVENTS_MAX = 100_000
"""Messages that are read of one fabric."""


class IncidentLog(Protocol):
    """The log of a site, and its states before now."""

    def at_us(self, text: str | None) -> int:
        """The time that a text means (`shared.basics.time_grammar`, or the id of a message)."""

    def read(self, types: Sequence[str], since_us: int, until_us: int | None) -> list[Envelope]:
        """The messages of these types between two times, in order of time."""

    def site_before(self, at_us: int) -> Site:
        """The site right before a time."""


@dataclass(frozen=True, slots=True)
class FromIncident:
    """A document that was made: its text, the drill, and the incident."""

    text: str
    drill: Drill
    incident: Incident


def drill_from(log: IncidentLog, fabric: str, at_us: int, *, within_us: int, gap_us: int) -> FromIncident:
    """Make the document of the incident of a fabric nearest to a time. Raises NotFound if none is near."""
    earlier = log.read(("FabricCommissioned", "FaultBegan"), 0, None)
    begun = [one for one in earlier if one.type == "FaultBegan"]
    found = incident.find_faults(begun, fabric, at_us, within_us=within_us, gap_us=gap_us)
    first_us, last_us = found[0].at_us, found[-1].at_us
    ended = log.read(("FaultEnded",), first_us, last_us + incident.LONGEST_US)
    faults = incident.faults_with_ends(found, ended)
    messages = log.read(incident.read_types(), max(0, first_us - gap_us), incident.end_us(faults))
    made = incident.incident_of(fabric, faults, messages, _plants(earlier))
    site = log.site_before(made.first_us)
    before = read_site(site, incident_document.steady_queries(fabric), fabric_views())
    text = yaml_text(incident_document.document_of(made, before)) + "\n"
    return FromIncident(text, parse_drill(text, "the drill of the incident"), made)


def _plants(messages: Sequence[Envelope]) -> dict[str, Plant]:
    """Fabric → its plant, from the messages that commission fabrics."""
    configs = {one.fabric: one.body.config for one in messages if isinstance(one.body, FabricCommissioned)}
    return {name: plant_of(config.kind, config.hardware) for name, config in configs.items()}


class TwinLog:
    """The log of a site of a running twin."""

    def __init__(self, client: Client, fabric: str) -> None:
        self._client = client
        self._site = str(client.resource(row_path(FABRICS, fabric), "site").site)
        rows = client.rows("/v1/fabrics", "name", "site")
        self._fabrics = [str(row["name"]) for row in rows if row["site"] == self._site]

    def at_us(self, text: str | None) -> int:
        """The time that a text means."""
        return clock_us(self._client.at_time(text or NOW))

    def read(self, types: Sequence[str], since_us: int, until_us: int | None) -> list[Envelope]:
        """The messages of these types between two times, in order of time."""
        query = {"type": list(types), "since": f"{since_us}us", "ticks": "false"}
        if until_us is not None:
            now_us = self.at_us(None)
            query["until"] = f"{min(until_us, now_us)}us"
        found = []
        for fabric in self._fabrics:
            rows, more = self._client.pages(
                str(EVENTS), *Envelope.model_fields, most=EVENTS_MAX, fabric=fabric, **query
            )
            if more:
                raise OperationFailed(f"{fabric}: more than {EVENTS_MAX:,} messages; use --data")
            found += [logged_message(row) for row in rows]
        return sorted(found, key=lambda one: one.at_us)

    def site_before(self, at_us: int) -> Site:
        """The site right before a time."""
        then = self._client.at_time(f"{max(0, at_us - 1)}us")
        return fetch_snapshot(then, self._site).restored(services_of)


class FolderLog:
    """The log of a site in the data folder of a twin, running or not."""

    def __init__(self, folder: Path, fabric: str) -> None:
        self._twin: TwinHistory = read_history(DataFolder(folder))
        self._site = self._site_of(fabric)

    def _site_of(self, fabric: str) -> str:
        known: list[str] = []
        for site in self._twin.logs:
            for message in self._messages(site, 0, ("FabricCommissioned",)):
                if isinstance(message.body, FabricCommissioned):
                    known.append(message.fabric)
                    if message.fabric == fabric:
                        return site
        raise NotFound(f"fabric {fabric}: does not exist; must be one of {', '.join(known)}")

    def at_us(self, text: str | None) -> int:
        """The time that a text means."""
        return self._twin.point_in_time(text).at_us

    def read(self, types: Sequence[str], since_us: int, until_us: int | None) -> list[Envelope]:
        """The messages of these types between two times, in order of time."""
        log = self._twin.logs[self._site]
        found = []
        for message in self._messages(self._site, log.position_at(since_us), types):
            if until_us is not None and message.at_us > until_us:
                break
            found.append(message)
        return found

    def _messages(self, site: str, start: int, types: Sequence[str]) -> Iterator[Envelope]:
        marks = [f'"type":"{name}"'.encode() for name in types]
        for _, line in self._twin.logs[site].lines(start):
            if any(mark in line for mark in marks):
                try:
                    message = decode(line)
                except Unreadable:
                    continue
                if message.type in types:
                    yield message

    def site_before(self, at_us: int) -> Site:
        """The site right before a time."""
        position = self._twin.logs[self._site].position_at(at_us)
        return self._twin.at(self._site, position).snapshot(software_version()).restored(services_of)
