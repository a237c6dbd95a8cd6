"""A local server that listens on a host and port."""

from abc import abstractmethod
from pathlib import Path

from shared.runtimes.local_server import LocalServer
from shared.runtimes.tcp_ports import check_free, connections


class TcpServer(LocalServer):
    """One server on one folder, host and port."""

    lock_advice = "stop it, or set LIGHTWAVE_DATA to another folder"

    def __init__(self, folder: Path, host: str, port: int) -> None:
        super().__init__(folder)
        self.host = host
        self.port = port

    @property
    def address(self) -> str:
        host = f"[{self.host}]" if ":" in self.host else self.host
        return f"{host}:{self.port}"

    def clients(self) -> int:
        """Number of client connections; 0 if the system does not report them."""
        return connections(self.port)

    @abstractmethod
    def _command(self) -> list[str]:
        """Prepare the folder, and return the command that runs the server."""

    def _prepare(self) -> list[str]:
        check_free(self.name, self.host, self.port)
        return self._command()
