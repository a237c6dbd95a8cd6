"""A certificate authority for tests, whose certificates are for servers on this machine."""

import ssl
import subprocess
from pathlib import Path


class Authority:
    """A test certificate authority and one certificate for 127.0.0.1 and localhost."""

    def __init__(self, folder: Path) -> None:
        folder.mkdir(parents=True)
        self.folder = folder
        self.ca, self.cert, self.key = (folder / name for name in ("ca.pem", "cert.pem", "key.pem"))
        self.both = folder / "both.pem"
        ca_key, request, names = folder / "ca.key", folder / "request", folder / "names"
        names.write_text("subjectAltName=IP:127.0.0.1,DNS:localhost\n")
        new = ("req", "-newkey", "rsa:2048", "-nodes", "-subj")
        openssl(*new, "/CN=Test CA", "-x509", "-days", "2", "-keyout", ca_key, "-out", self.ca)
        openssl(*new, "/CN=127.0.0.1", "-keyout", self.key, "-out", request)
        signing = ("-CA", self.ca, "-CAkey", ca_key, "-CAcreateserial", "-extfile", names)
        openssl("x509", "-req", "-in", request, "-days", "2", *signing, "-out", self.cert)
        self.both.write_text(self.key.read_text() + self.cert.read_text())
        self.key.chmod(0o600)

    def server_context(self) -> ssl.SSLContext:
        """Return the TLS context of a server on this machine."""
        context = ssl.create_default_context(ssl.Purpose.CLIENT_AUTH)
        context.load_cert_chain(self.cert, self.key)
        return context


def openssl(*words: str | Path) -> None:
    subprocess.run(["openssl", *map(str, words)], check=True, capture_output=True)  # noqa: S607 -- as installed
