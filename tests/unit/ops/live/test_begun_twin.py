"""A log's own first messages name its twin; foreign records do not."""

from ops.live.rebuild import _twin_of_record
from schemas.config.pods import SuperpodConfig
from schemas.messages.sequencer import FabricCommissioned
from schemas.registry import encode
from shared.engine.message_order import commissioning_message
from shared.runtimes.live.kafka.layout import TWIN
from shared.runtimes.live.kafka.records import Record, root_headers

NAME = "0123456789abcdef" * 2


def commissioning_of(name: str) -> Record:
    message = commissioning_message("pod-0", FabricCommissioned(site="pod-0", config=SuperpodConfig()))
    return Record(0, 0, encode(message), root_headers(message, offset=0, quiet=0, twin=name))


def test_a_commissioning_names_its_twin() -> None:
    assert _twin_of_record(commissioning_of(NAME)) == NAME


def test_other_records_name_no_twin() -> None:
    sound = commissioning_of(NAME)
    assert _twin_of_record(commissioning_of("/srv/victim")) is None
    assert _twin_of_record(Record(0, 0, b"hello", {TWIN: NAME.encode()})) is None
    assert _twin_of_record(Record(0, 0, sound.value, {TWIN: NAME.encode()})) is None
    assert _twin_of_record(Record(0, 0, b"", {})) is None
