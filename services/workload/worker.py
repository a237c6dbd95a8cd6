"""The live worker of `workload`: its entry, and nothing else."""

from services.workload.service import SERVICE
from shared.live.serve import ProcessOptions, serve_worker


def main(options: ProcessOptions) -> None:
    """Run until the process is told to end."""
    serve_worker(SERVICE, options)
