"""Signatures of frozen manifests, made and checked by OpenSSH (``ssh-keygen -Y``, as git signs commits).

The public key stands in the manifest, so a signature that is taken away or does not fit is noticed by anybody. Whose
key it is only a person can know: ``$RECLAIM_SIGNERS`` names a file of keys that are trusted, in OpenSSH's format of
allowed signers, and with it no frozen suite is used that none of them has signed.
"""

from __future__ import annotations

import base64
import hashlib
import os
import subprocess
import tempfile
from functools import lru_cache
from pathlib import Path

from reclaim_nb.errors import CardError

SIGNERS_VARIABLE = "RECLAIM_SIGNERS"
NAMESPACE = "reclaim-suite"
"""What keeps a signature of something else from being taken for one of a suite."""

_SECONDS = 60


def signature_file(manifest: Path) -> Path:
    """Return the place of a manifest's signature."""
    return manifest.with_name(f"{manifest.name}.sig")


def public_key(key: Path) -> str:
    """Return the public part of an SSH key, without its comment.

    Args:
        key: a private key, or a public one whose private part an agent holds.

    Raises:
        CardError: it is no key, or OpenSSH is not here.
    """
    text = key.read_text("utf-8") if key.suffix == ".pub" and key.is_file() else _run(["-y", "-f", str(key)])
    return " ".join(text.split()[:2])


def sign(manifest: Path, key: Path) -> Path:
    """Sign a manifest and return the file with the signature.

    Raises:
        CardError: it cannot be signed with that key.
    """
    _run(["-q", "-Y", "sign", "-n", NAMESPACE, "-f", str(key), str(manifest)])
    return signature_file(manifest)


def fingerprint(key: str) -> str:
    """Return the fingerprint of a public key: ``SHA256:`` and the unpadded base64 of the hash of its blob."""
    blob = base64.b64decode(key.split()[1])
    return "SHA256:" + base64.b64encode(hashlib.sha256(blob).digest()).decode().rstrip("=")


def signature_fault(manifest: Path, content: bytes, key: str | None) -> str | None:
    """Say what is wrong with a manifest's signature, None where nothing is.

    Args:
        manifest: the file.
        content: its bytes.
        key: the public key in it; None: it does not claim to be signed.
    """
    trusted = os.environ.get(SIGNERS_VARIABLE)
    if key is None and not trusted:
        return None
    if key is None:
        return f"it is not signed, and ${SIGNERS_VARIABLE} asks for a signature"
    try:
        signature = signature_file(manifest).read_bytes()
    except OSError:
        return f"its signature {signature_file(manifest).name} is missing"
    signers = f'{NAMESPACE} namespaces="{NAMESPACE}" {key}\n'
    if fault := _fault(content, signature, signers):
        return fault
    if not trusted:
        return None
    try:
        return _fault(content, signature, Path(trusted).read_text("utf-8"))
    except OSError as problem:
        return f"the keys that are trusted cannot be read: {problem}"


@lru_cache(maxsize=64)
def _fault(content: bytes, signature: bytes, signers: str) -> str | None:
    with tempfile.TemporaryDirectory(prefix="reclaim-signature-") as place:
        signed, allowed = Path(place) / "signature", Path(place) / "signers"
        signed.write_bytes(signature)
        allowed.write_text(signers, "utf-8")
        files = ["-s", str(signed), "-f", str(allowed)]
        try:
            who = _run(["-Y", "find-principals", *files]).splitlines()
        except CardError as problem:
            return f"it is signed with a key that is not trusted here ({problem})"
        try:
            _run(["-Y", "verify", "-n", NAMESPACE, "-I", who[0], *files], content)
        except CardError as problem:
            return f"its signature does not hold ({problem})"
    return None


def _run(words: list[str], content: bytes | None = None) -> str:
    try:
        done = subprocess.run(
            ["ssh-keygen", *words], input=content or b"", capture_output=True, timeout=_SECONDS, check=False
        )
    except (OSError, subprocess.SubprocessError) as problem:
        raise CardError(f"ssh-keygen, which makes and checks signatures, does not run: {problem}") from problem
    if done.returncode != 0:
        told = (done.stderr or done.stdout).decode("utf-8", "replace").strip()
        raise CardError(f"ssh-keygen: {' '.join(told.split())[:300] or f'exit code {done.returncode}'}")
    return done.stdout.decode("utf-8")
