"""TLS files: which are valid, and the refusals of the others."""

import socket
import ssl
import threading
from pathlib import Path

import pytest

from shared.basics.errors import InvalidInput, OutOfFileDescriptors
from shared.storage.files.tls_files import TlsFiles
from shared.storage.store.redis_client import RedisClient
from tests.support.authority import Authority
from tests.support.descriptors import no_descriptor_left

pytestmark = pytest.mark.integration


@pytest.fixture(scope="module")
def authority(tmp_path_factory: pytest.TempPathFactory) -> Authority:
    return Authority(tmp_path_factory.mktemp("tls") / "ours")


def test_the_server_is_verified_and_the_client_certificate_is_sent(authority: Authority) -> None:
    """A server that requires a certificate of its own authority."""
    asking = ssl.create_default_context(ssl.Purpose.CLIENT_AUTH, cafile=authority.ca)
    asking.load_cert_chain(authority.cert, authority.key)
    asking.verify_mode = ssl.CERT_REQUIRED
    subjects = []

    def serve(listener: socket.socket) -> None:
        link, _ = listener.accept()
        with asking.wrap_socket(link, server_side=True) as secure:
            found = secure.getpeercert()
            subjects.append(found and found["subject"])
            secure.sendall(b"x")

    with socket.create_server(("127.0.0.1", 0)) as listener:
        server = threading.Thread(target=serve, args=(listener,))
        server.start()
        ours = TlsFiles(authority.ca, authority.both).context()
        with (
            socket.create_connection(listener.getsockname()) as link,
            ours.wrap_socket(link, server_hostname="localhost") as secure,
        ):
            assert secure.recv(1) == b"x"
        server.join()
    assert subjects == [((("commonName", "127.0.0.1"),),)]
    assert (ours.verify_mode, ours.check_hostname) == (ssl.CERT_REQUIRED, True)


def test_a_file_that_does_not_do_is_named(authority: Authority, tmp_path: Path) -> None:
    none, text = tmp_path / "none.pem", tmp_path / "text.pem"
    text.write_text("no certificate")
    no_key = "not a certificate with its key in PEM format without a password"
    for files, sentence in (
        (TlsFiles(none), f"CA file {none}: No such file or directory"),
        (TlsFiles(text), f"CA file {text}: not a certificate in PEM format"),
        (TlsFiles(authority.ca, none), f"certificate {none}: No such file or directory"),
        (
            TlsFiles(authority.ca, authority.cert, authority.folder / "ca.key"),
            f"certificate {authority.cert} and {authority.folder / 'ca.key'}: {no_key}",
        ),
        (
            TlsFiles(authority.ca, authority.cert),
            f"certificate {authority.cert}: {no_key}",
        ),
    ):
        with pytest.raises(InvalidInput) as refused:
            files.context()
        assert str(refused.value) == sentence


def test_a_url_of_redis_names_files(authority: Authority, tmp_path: Path) -> None:
    secret = tmp_path / "password"
    secret.write_text("s3cret\n")
    secret.chmod(0o644)
    for options, sentence in (
        ("ssl_ca_certs=/none.pem", "CA file /none.pem: No such file or directory"),
        (f"password_file={secret}", f"Redis URL: password_file {secret}: other users can access it"),
        ("password_file=/none", "Redis URL: password_file /none: No such file or directory"),
        (f"password_file={secret}&password=s3cret", "must have one"),
    ):
        with pytest.raises(InvalidInput) as refused:
            RedisClient(f"rediss://twin@127.0.0.1:1/0?{options}")
        assert sentence in str(refused.value)
        assert "s3cret" not in str(refused.value)
    secret.chmod(0o600)
    client = RedisClient(f"rediss://twin@127.0.0.1:1/0?ssl_ca_certs={authority.ca}&password_file={secret}")
    assert client.name == "rediss://***@127.0.0.1:1/0"
    (node,) = client.nodes().values()
    given = node.connection_pool.connection_kwargs
    assert (given["username"], given["password"]) == ("twin", "s3cret")
    secret.write_text("\n")
    with pytest.raises(InvalidInput, match="must be one line, the password"):
        RedisClient(f"redis://twin@127.0.0.1:1/0?password_file={secret}")


def test_a_file_that_cannot_be_opened_now_is_not_reported_to_be_wrong(authority: Authority) -> None:
    """Or a process would end for good, though only all descriptors were taken."""
    for what, files in (
        (f"CA file {authority.ca}", TlsFiles(authority.ca)),
        (f"certificate {authority.both}", TlsFiles(None, authority.both)),
    ):
        with (
            no_descriptor_left(),
            pytest.raises(OutOfFileDescriptors, match=rf"^{what}: this process has no file"),
        ):
            files.context()
        assert files.context().verify_mode == ssl.CERT_REQUIRED
