"""TLS settings of a client: trusted CAs and its own certificate, from PEM files."""

import ssl
from dataclasses import dataclass
from pathlib import Path

from shared.basics.errors import InvalidInput, LightwaveError, OutOfFileDescriptors
from shared.storage.files.fd_limits import out_of_descriptors


@dataclass(frozen=True, slots=True)
class TlsFiles:
    """`ca`: CAs to trust; None means the system's. `cert` and `key`: the client's certificate; the key may be
    in the same file as the certificate."""

    ca: Path | None = None
    cert: Path | None = None
    key: Path | None = None

    def context(self) -> ssl.SSLContext:
        """A context that checks the server's certificate and host name.

        Raises InvalidInput with the name of an unusable file, and OutOfFileDescriptors if one cannot be
        opened now.
        """
        try:
            context = ssl.create_default_context(cafile=self.ca)
        except (OSError, ValueError) as error:  # ssl.SSLError is an OSError
            raise _file_error(f"CA file {self.ca}", error, "not a certificate in PEM format") from None
        if self.cert:
            try:
                # Without `password`, OpenSSL prompts for the password of an encrypted key at the terminal.
                context.load_cert_chain(self.cert, self.key, password=_refuse_key_password)
            except (OSError, ValueError) as error:
                files = " and ".join(str(path) for path in (self.cert, self.key) if path)
                fallback = "not a certificate with its key in PEM format without a password"
                raise _file_error(f"certificate {files}", error, fallback) from None
        return context


NO_FILES = TlsFiles()


def _refuse_key_password() -> str:
    raise ValueError


def _file_error(what: str, error: Exception, fallback: str) -> LightwaveError:
    """The error for a file: the system's reason if it cannot be read, else `fallback`."""
    if lack := out_of_descriptors(error):
        return OutOfFileDescriptors(f"{what}: {lack}")
    reason = error.strerror if isinstance(error, OSError) and not isinstance(error, ssl.SSLError) else None
    return InvalidInput(f"{what}: {reason or fallback}")
