"""Start the twin's embedded server, also after its files were damaged."""

import logging

from shared.basics.errors import StoreDamaged
from shared.runtimes.embedded.valkey_server import EmbeddedValkey

log = logging.getLogger("lightwave.up")


def start_embedded_server(server: EmbeddedValkey, *, rebuild: bool) -> None:
    """Start the twin's embedded server. For a rebuild, set unreadable files aside, because it does not need
    them."""
    try:
        server.ensure()
    except StoreDamaged as error:
        if not rebuild:
            raise StoreDamaged(
                f"{error}; `lightwave up --rebuild` sets the folder aside and rebuilds every state from "
                "the logs; only requests that were received but not yet accepted are lost"
            ) from None
        log.warning("%s; the folder was set aside as %s", error, server.set_folder_aside())
        server.ensure()
