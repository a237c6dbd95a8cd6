"""The embedded twin, in one process: data folder, server, audit, upgrade, archive."""
