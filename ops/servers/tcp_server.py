"""A local server that listens at an address of its own choosing."""

from abc import abstractmethod
from pathlib import Path

from shared.runtimes.local_server import LocalServer
from shared.runtimes.tcp_ports import check_free, connections


class TcpServer(LocalServer):
    """One server on one folder, host and port."""

    lock_advice = "end it, or set LIGHTWAVE_DATA to another folder"

    def __init__(self, folder: Path, host: str, port: int) -> None:
        super().__init__(folder)
        self.host = host
        self.port = port

    @property
    def address(self) -> str:
        host = f"[{self.host}]" if ":" in self.host else self.host
        return f"{host}:{self.port}"

    def clients(self) -> int:
        """How many connections it has from others; 0 where the system does not tell."""
        return connections(self.port)

    @abstractmethod
    def _command(self) -> list[str]:
        """Make the folder ready, and return the command that runs the server in it."""

    def _prepare(self) -> list[str]:
        check_free(self.name, self.host, self.port)
        return self._command()
