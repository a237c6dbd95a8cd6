"""The live worker of `failures`: its entry, and nothing else."""

from services.failures.service import SERVICE
from shared.live.serve import ProcessOptions, serve_worker


def main(options: ProcessOptions) -> None:
    """Run until the process is told to end."""
    serve_worker(SERVICE, options)
