"""TLS of a client: whom it trusts, and who it is, from files in PEM form."""

import ssl
from dataclasses import dataclass
from pathlib import Path

from shared.basics.errors import InvalidInput, LightwaveError, OutOfFileDescriptors
from shared.storage.files.fd_limits import out_of_descriptors


@dataclass(frozen=True, slots=True)
class TlsFiles:
    """Without `ca` those are trusted whom the system trusts. `cert` and `key` are shown to servers that ask
    who we are; a key may stand in the file of its certificate."""

    ca: Path | None = None
    cert: Path | None = None
    key: Path | None = None

    def context(self) -> ssl.SSLContext:
        """One that checks the server's certificate and name; InvalidInput names the file that does not do,
        OutOfFiles one that cannot be opened now."""
        try:
            context = ssl.create_default_context(cafile=self.ca)
        except (OSError, ValueError) as error:  # ssl.SSLError is an OSError
            raise _refused(f"CA file {self.ca}", error, "no certificate in PEM form") from None
        if self.cert:
            try:
                # An encrypted key would ask for its password at the terminal.
                context.load_cert_chain(self.cert, self.key, password=_refuse_key_password)
            except (OSError, ValueError) as error:
                files = " and ".join(str(path) for path in (self.cert, self.key) if path)
                otherwise = "no certificate with its key in PEM form, without password"
                raise _refused(f"certificate {files}", error, otherwise) from None
        return context


NO_FILES = TlsFiles()


def _refuse_key_password() -> str:
    raise ValueError


def _refused(what: str, error: Exception, otherwise: str) -> LightwaveError:
    """What the system says of a file; a file that can be read is not what it should be."""
    if lack := out_of_descriptors(error):
        return OutOfFileDescriptors(f"{what}: {lack}")
    said = error.strerror if isinstance(error, OSError) and not isinstance(error, ssl.SSLError) else None
    return InvalidInput(f"{what}: {said or otherwise}")
