"""What every signer does; the local one also keeps its key."""

from __future__ import annotations

import itertools
import os
import stat
import subprocess
import sys
from pathlib import Path

import boto3
import pytest
from botocore.stub import Stubber
from cryptography import x509
from cryptography.exceptions import InvalidSignature
from cryptography.hazmat.primitives import hashes
from cryptography.hazmat.primitives.asymmetric.ec import ECDSA, SECP256R1, EllipticCurvePublicKey, generate_private_key
from cryptography.hazmat.primitives.asymmetric.utils import encode_dss_signature
from cryptography.hazmat.primitives.serialization import load_der_public_key
from PIL import Image

from models.provenance.credentials import sign_file
from models.provenance.inspection import CredentialState, inspect_file
from models.provenance.marks import Marks, SourceType
from models.provenance.pictures import save_picture
from services.adapters.aws.clients import Clients
from services.adapters.aws.kms_signer import KmsSigner
from services.adapters.aws.secrets import SecretsManagerSecrets
from services.adapters.local.signer import FILE_NAME, LocalSigner
from services.domain.errors import Unavailable
from services.ports.signer import Signer
from tests.fakes.secrets import FakeSecrets
from tests.fakes.signer import Authority, FakeSigner

ROOT = Path(__file__).resolve().parents[2]


def kms_signer(aws, *, has_certificate: bool = True) -> KmsSigner:
    kms = aws.client("kms")
    key_id = kms.create_key(KeySpec="ECC_NIST_P256", KeyUsage="SIGN_VERIFY")["KeyMetadata"]["KeyId"]
    public = load_der_public_key(kms.get_public_key(KeyId=key_id)["PublicKey"])
    name = f"chain-{key_id}" if has_certificate else ""
    if has_certificate:
        aws.client("secretsmanager").create_secret(Name=name, SecretString=Authority().chain_for(public).decode())
    clients = Clients()
    return KmsSigner(clients, key_id, secrets=SecretsManagerSecrets(clients), certificate_secret=name)


@pytest.fixture(params=["fake", "local", "aws", "aws without a certificate"])
def signer(request: pytest.FixtureRequest, tmp_path: Path) -> Signer:
    if request.param == "fake":
        return FakeSigner()
    if request.param == "local":
        return LocalSigner(tmp_path)
    return kms_signer(request.getfixturevalue("aws"), has_certificate=request.param == "aws")


def check(signature: bytes, data: bytes, chain: bytes) -> None:
    """By OpenSSL, from the two numbers that COSE wants."""
    assert len(signature) == 64
    der = encode_dss_signature(int.from_bytes(signature[:32], "big"), int.from_bytes(signature[32:], "big"))
    key = x509.load_pem_x509_certificates(chain)[0].public_key()
    assert isinstance(key, EllipticCurvePublicKey)
    key.verify(der, data, ECDSA(hashes.SHA256()))


# Numbers below 2**248 have fewer bytes in DER: some signatures of these are such.
@pytest.mark.parametrize("number", range(3))
def test_signature_is_that_of_the_first_certificate(signer, number):
    data = f"claim {number}".encode() * (1 + 999 * number)
    check(signer.sign(data), data, signer.certificate_chain_pem())


def test_signature_of_other_data_is_another(signer):
    with pytest.raises(InvalidSignature):
        check(signer.sign(b"one"), b"other", signer.certificate_chain_pem())


def test_chain_leads_to_an_authority(signer):
    certificates = x509.load_pem_x509_certificates(signer.certificate_chain_pem())
    assert len(certificates) > 1
    for one, next_one in itertools.pairwise(certificates):
        one.verify_directly_issued_by(next_one)


def test_chain_stays_the_same(signer):
    assert signer.certificate_chain_pem() == signer.certificate_chain_pem()


def test_file_that_it_signed_verifies_with_its_root_as_anchor(signer, tmp_path):
    """By the C2PA library: key, chain and form of the signature fit together."""
    path = tmp_path / "picture.png"
    marks = Marks(source_type=SourceType.GENERATED, producer="Spokesmodel", content_id="job_1.image")
    save_picture(Image.new("RGB", (16, 16), "navy"), path, marks)
    sign_file(path, marks, signer)
    assert inspect_file(path).credentials.state is CredentialState.UNTRUSTED
    root = signer.certificate_chain_pem().decode().partition("-----END CERTIFICATE-----\n")[2]
    assert inspect_file(path, trust_anchors=root).credentials.state is CredentialState.TRUSTED


def test_local_key_is_made_once_and_is_its_users_alone(tmp_path):
    first, second = LocalSigner(tmp_path), LocalSigner(tmp_path)
    chain = first.certificate_chain_pem()
    check(second.sign(b"data"), b"data", chain)
    assert not first.is_trusted
    assert stat.S_IMODE((tmp_path / FILE_NAME).stat().st_mode) == 0o600
    assert [path.name for path in tmp_path.iterdir()] == [FILE_NAME]
    assert b"PRIVATE" not in chain


def test_local_certificate_names_no_machine_and_no_person(tmp_path):
    for certificate in x509.load_pem_x509_certificates(LocalSigner(tmp_path).certificate_chain_pem()):
        values = {attribute.value for attribute in certificate.subject}
        assert values <= {
            "Spokesmodel",
            "Spokesmodel root of its own making",
            "Spokesmodel signer of its own making",
        }


def test_workers_that_start_together_share_one_key(tmp_path):
    """Processes that all find no key: whoever is first has made it for everybody."""
    code = (
        "import sys, pathlib; sys.stdin.read(1); from services.adapters.local.signer import LocalSigner; "
        "sys.stdout.buffer.write(LocalSigner(pathlib.Path(sys.argv[1])).certificate_chain_pem())"
    )
    workers = [
        subprocess.Popen(
            [sys.executable, "-c", code, str(tmp_path)], stdin=subprocess.PIPE, stdout=subprocess.PIPE, cwd=ROOT
        )
        for _ in range(6)
    ]
    for worker in workers:
        assert worker.stdin is not None
        worker.stdin.write(b"x")
        worker.stdin.flush()
    chains = {worker.communicate(timeout=60)[0] for worker in workers}
    assert len(chains) == 1
    assert chains.pop().count(b"BEGIN CERTIFICATE") == 2
    assert [path.name for path in tmp_path.iterdir()] == [FILE_NAME]


@pytest.mark.parametrize("content", [b"", b"no key", b"-----BEGIN PRIVATE KEY-----\nAAAA\n-----END PRIVATE KEY-----\n"])
def test_damaged_local_key_is_told_and_not_replaced(tmp_path, content):
    (tmp_path / FILE_NAME).write_bytes(content)
    with pytest.raises(Unavailable) as caught:
        LocalSigner(tmp_path).sign(b"data")
    assert caught.value.code == "signing_unavailable"
    assert caught.value.retryable
    assert (tmp_path / FILE_NAME).read_bytes() == content


def test_key_with_the_certificate_of_another_is_refused(tmp_path):
    one, other = LocalSigner(tmp_path / "one"), LocalSigner(tmp_path / "other")
    one.certificate_chain_pem()
    pem = (tmp_path / "one" / FILE_NAME).read_bytes()
    key = pem[: pem.index(b"-----BEGIN CERTIFICATE")]
    (tmp_path / FILE_NAME).write_bytes(key + other.certificate_chain_pem())
    with pytest.raises(Unavailable) as caught:
        LocalSigner(tmp_path).certificate_chain_pem()
    assert caught.value.code == "signing_unavailable"


def test_unreadable_local_key_is_told(tmp_path):
    (tmp_path / FILE_NAME).mkdir()  # root reads what has no permissions, but not a folder
    with pytest.raises(Unavailable) as caught:
        LocalSigner(tmp_path).certificate_chain_pem()
    assert caught.value.code == "signing_unavailable"
    assert str(tmp_path) not in caught.value.detail


@pytest.mark.skipif(os.geteuid() == 0, reason="root reads every file")
def test_local_key_without_permission_is_told(tmp_path):
    LocalSigner(tmp_path).certificate_chain_pem()
    (tmp_path / FILE_NAME).chmod(0)
    with pytest.raises(Unavailable):
        LocalSigner(tmp_path).certificate_chain_pem()


@pytest.fixture
def stubbed(monkeypatch):
    client = boto3.client("kms", region_name="eu-central-1", aws_access_key_id="x", aws_secret_access_key="x")
    clients = Clients()
    monkeypatch.setattr(clients, "get", lambda service: {"kms": client}[service])
    signer = KmsSigner(clients, "alias/content", secrets=FakeSecrets(), certificate_secret="chain")
    with Stubber(client) as stub:
        yield signer, stub


def test_kms_is_given_the_digest_only(stubbed):
    signer, stub = stubbed
    key = generate_private_key(SECP256R1())
    # SHA-256 of "abc", from FIPS 180-4's example.
    digest = bytes.fromhex("ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad")
    stub.add_response(
        "sign",
        {"Signature": key.sign(b"abc", ECDSA(hashes.SHA256()))},
        {
            "KeyId": "alias/content",
            "Message": digest,
            "MessageType": "DIGEST",
            "SigningAlgorithm": "ECDSA_SHA_256",
        },
    )
    signature = signer.sign(b"abc")
    r, s = int.from_bytes(signature[:32], "big"), int.from_bytes(signature[32:], "big")
    key.public_key().verify(encode_dss_signature(r, s), b"abc", ECDSA(hashes.SHA256()))


@pytest.mark.parametrize(
    "code",
    ["AccessDeniedException", "NotFoundException", "DisabledException", "KMSInvalidStateException", "Throttling"],
)
def test_kms_that_does_not_sign_is_unavailable_and_retryable(stubbed, code):
    signer, stub = stubbed
    stub.add_client_error("sign", code, "arn:aws:kms:eu-central-1:123456789012:key/secret")
    with pytest.raises(Unavailable) as caught:
        signer.sign(b"data")
    assert caught.value.code == "signing_unavailable"
    assert caught.value.retryable
    assert "arn:" not in caught.value.detail


def test_kms_answer_that_is_no_signature_is_unavailable(stubbed):
    signer, stub = stubbed
    stub.add_response("sign", {"Signature": b"\x00\x01"})
    with pytest.raises(Unavailable) as caught:
        signer.sign(b"data")
    assert caught.value.code == "signing_unavailable"


def test_absent_chain_is_unavailable(stubbed):
    signer, _ = stubbed
    with pytest.raises(Unavailable) as caught:
        signer.certificate_chain_pem()
    assert caught.value.code == "signing_unavailable"


@pytest.mark.parametrize(("secret", "is_trusted"), [("chain", True), ("", False)])
def test_only_a_certificate_of_the_operators_is_called_trusted(secret, is_trusted):
    signer = KmsSigner(Clients(), "alias/content", secrets=FakeSecrets(), certificate_secret=secret)
    assert signer.is_trusted is is_trusted
