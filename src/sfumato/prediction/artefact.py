"""A released model as one signed file, `.sfm`: canonical JSON, no code in it, checked in full when read.

    write(model, "diabetes.sfm", SigningKey.load("hospital.key"))
    model = load("diabetes.sfm", trusted=[public_key])

The file is {"sfumato_model": 1, "content": {...}, "checksum": ..., "signature": {...}} in exactly one
spelling: keys sorted, no spaces, ASCII. The checksum (SHA-256) and the signature (Ed25519) are over the
content in that spelling, and a file in any other spelling is refused, so that no byte can change unnoticed.
Reading makes plain numbers and texts only; it runs nothing. All faults are listed at once.
"""

from __future__ import annotations

import hashlib
import json
import stat
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

from sfumato.errors import ParameterError, SfumatoError, listed
from sfumato.features.inputs import Feature, FeatureError
from sfumato.io.atomic import atomic_file
from sfumato.prediction.content import content_of, model_of
from sfumato.prediction.models import ReleasedModel, Scored, ScoreExplanation
from sfumato.privacy.signatures import Purpose, SigningKey, Trust, canonical, signed

__all__ = [
    "ArtefactError",
    "Feature",
    "FeatureError",
    "ScoreExplanation",
    "Scored",
    "load",
    "load_model",
    "sign_again",
    "write",
]

FORMAT = 1
MOST_BYTES = 32 * 2**20
_KEYS = {"sfumato_model", "content", "checksum", "signature"}
_DOMAIN = b"sfumato model 1\n"  # a signature of a model is a signature of nothing else


class ArtefactError(SfumatoError):
    """A file that is no released model, or no longer the one that was signed. faults: all of them."""

    def __init__(
        self, name: str, faults: Sequence[str], hint: str = "get the file again from who made it"
    ) -> None:
        self.faults = list(faults)
        super().__init__(f"{name} is not accepted: {listed(self.faults, 20)}.", hint=hint)


def write(
    model: ReleasedModel, path: str | Path, key: SigningKey, *, overwrite: bool = False
) -> ReleasedModel:
    """Sign a model and write it, whole or not at all; gives back the model as it can now be loaded."""
    if not isinstance(key, SigningKey):
        raise ParameterError(
            "a released model is signed.", hint="SigningKey.load(path), or SigningKey.fresh()"
        )
    content = canonical(content_of(model))
    model = _parsed(json.loads(content), content)  # what would be refused on loading is never written
    document = (
        b'{"checksum":"' + _checksum(content).encode() + b'","content":' + content
        + b',"sfumato_model":%d,"signature":' % FORMAT
        + canonical({"algorithm": "ed25519", "key": key.public, "value": key.sign(_DOMAIN + content)})
        + b"}\n"
    )  # fmt: skip
    if len(document) > MOST_BYTES:
        raise ParameterError(
            f"the model is larger than {MOST_BYTES >> 20} MiB.", hint="fewer trees or levels"
        )
    with atomic_file(path, overwrite) as draft:
        draft.write_bytes(document)
    return replace(model, signer=key.public)


def load(path: str | Path, trusted: Trust | str | Path | Sequence[str | Path] | None = None) -> ReleasedModel:
    """Read a released model and check everything that can be checked.

    trusted: public keys, their files or trust files; a model signed by anybody else is refused. A model's
        signature bears no day, so a key counts while it is neither retired nor revoked. None accepts any
        signer, whom `model.signer` then names: the caller decides.

    >>> people = sf.samples.diabetes(600).select(["bmi", "glucose", "diabetes"])
    >>> key = sf.SigningKey.fresh()
    >>> score = sf.PrivateLogistic(epsilon=5.0, declared_rows=600).fit(people, "diabetes")
    >>> path = score.save("diabetes.sfm", key, name="diabetes-risk")
    >>> model = sf.load_model("diabetes.sfm", trusted=[key.public])
    >>> model.name, [feature.name for feature in model.features]
    ('diabetes-risk', ['bmi', 'glucose'])
    """
    trust = None if trusted is None else Trust.of(trusted)
    path = Path(path)
    raw = _bytes(path)
    document = _json(path, raw)
    faults = []
    if not isinstance(document, dict) or "sfumato_model" not in document:
        raise ArtefactError(path.name, ["it is not a released model of Sfumato"], "give a .sfm file")
    if type(document["sfumato_model"]) is not int or document["sfumato_model"] != FORMAT:
        raise ArtefactError(path.name, [f"its format is another than {FORMAT}"], "upgrade Sfumato")
    if set(document) != _KEYS:
        raise ArtefactError(path.name, ["its parts are not checksum, content, format and signature"])
    if canonical(document) + b"\n" != raw:
        faults.append("it was written anew or changed: not the one canonical spelling")
    content = canonical(document["content"])
    if document["checksum"] != _checksum(content):
        faults.append("the checksum is another: the content was changed")
    signer, unsigned = _signer(document["signature"], content)
    faults += unsigned
    if trust is not None:
        known = trust.find(signer)
        refusal = "" if known is None else known.refusal(Purpose.MODEL, None)
        if known is None or refusal:
            faults.append(f"its signer is not among the trusted keys{': ' * bool(refusal)}{refusal}")
    try:
        model = _parsed(document["content"], content)
    except ArtefactError as error:
        raise ArtefactError(path.name, [*faults, *error.faults]) from None
    if faults:
        raise ArtefactError(path.name, faults)
    return replace(model, signer=signer)


def sign_again(
    path: str | Path, key: SigningKey, trusted: Trust | str | Path | Sequence[str | Path] | None = None
) -> ReleasedModel:
    """Sign a model with another key, in its place: what it is, and its version, stay the same.

    For keys that were rotated. Its signer so far must be among the trusted; a key that was retired is good
    enough, a revoked one is not: whoever has it may have signed another model.
    """
    path, trust = Path(path), Trust.of(trusted)
    model = load(path)
    known = trust.find(model.signer)
    if known is None or known.revoked is not None or Purpose.MODEL not in known.signs:
        why = "is not among those you trust" if known is None else "does not count for models any more"
        raise ParameterError(
            f"{path.name} was signed with a key that {why}: {model.signer}.",
            hint="make sure that it is the model you mean, and name its key: --trusted KEY",
        )
    again = write(model, path, key, overwrite=True)
    assert again.version == model.version
    return again


load_model = load  # its name among the package's own


def _checksum(content: bytes) -> str:
    return f"sha256:{hashlib.sha256(content).hexdigest()}"


def _parsed(content: object, spelled: bytes) -> ReleasedModel:
    model, faults = model_of(content)
    if model is None or faults:
        raise ArtefactError("the model", faults)
    return replace(model, version=hashlib.sha256(spelled).hexdigest()[:16])


def _signer(signature: object, content: bytes) -> tuple[str, list[str]]:
    """Whose signature it is, and what is wrong with it."""
    if not isinstance(signature, dict) or set(signature) != {"algorithm", "key", "value"}:
        return "", ["it is not signed"]
    if signature["algorithm"] != "ed25519":
        return "", ["it is signed by another algorithm than ed25519"]
    key, value = signature["key"], signature["value"]
    if not (_hex(key, 64) and _hex(value, 128)):
        return "", ["its signature cannot be read"]
    if not signed(key, value, _DOMAIN + content):
        return "", ["the signature does not fit the content"]
    return key, []


def _hex(text: object, length: int) -> bool:
    """Lower-case hex of this length: one spelling for each key."""
    return isinstance(text, str) and len(text) == length and set(text) <= set("0123456789abcdef")


def _bytes(path: Path) -> bytes:
    try:
        about = path.stat()
        if not stat.S_ISREG(about.st_mode):  # a device or a pipe has no end
            raise ArtefactError(path.name, ["it is not an ordinary file"], "give a .sfm file")
        if about.st_size > MOST_BYTES:
            raise ArtefactError(path.name, [f"it is larger than {MOST_BYTES >> 20} MiB"], "give a .sfm file")
        with path.open("rb") as source:
            return source.read(MOST_BYTES + 1)[: MOST_BYTES + 1]
    except OSError as error:
        reason = "there is no such file" if isinstance(error, FileNotFoundError) else str(error.strerror)
        raise ArtefactError(path.name, [reason], "correct the path") from None
    except ValueError:  # a path with a NUL
        raise ArtefactError("the model", ["the path cannot be read"], "correct the path") from None


def _json(path: Path, raw: bytes) -> object:
    """The document; lists in lists in lists, numbers of thousands of digits and NaN are refused."""

    def no_constant(_: str) -> None:
        raise ValueError

    try:
        return json.loads(raw.decode("ascii"), parse_constant=no_constant)
    except (ValueError, RecursionError):
        raise ArtefactError(
            path.name, ["it is not valid JSON of finite numbers"], "give a .sfm file"
        ) from None
