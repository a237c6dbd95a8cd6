"""The command line: the grammar of kubectl over the gateway's HTTP API, and the lab."""
