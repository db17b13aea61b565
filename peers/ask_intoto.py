"""Whether others' tools read and check a signature: {"line", "key"} in, what they found out.

line: an envelope as a release holds it. key: the PEM of the public key. securesystemslib checks the DSSE
envelope, in-toto-attestation reads the statement in it.
"""

import json
import sys

from cryptography.hazmat.primitives.serialization import load_pem_public_key
from google.protobuf import json_format
from in_toto_attestation.v1 import statement_pb2
from in_toto_attestation.v1.statement import Statement
from securesystemslib.dsse import Envelope
from securesystemslib.exceptions import VerificationError
from securesystemslib.signer import SSlibKey

question = json.load(sys.stdin)
document = json.loads(question["line"])
named = document["signatures"][0]["keyid"]
envelope = Envelope.from_dict(document)
signer = SSlibKey.from_crypto(load_pem_public_key(question["key"].encode()), keyid=named)
try:
    accepted = list(envelope.verify([signer], 1))
except VerificationError:
    accepted = []
read = Statement.copy_from_pb(json_format.Parse(envelope.payload, statement_pb2.Statement()))
read.validate()
answer = {
    "accepted": accepted,
    "type": envelope.payload_type,
    "predicate": read.pb.predicate_type,
    "subjects": {s.name: s.digest["sha256"] for s in read.pb.subject},
}
json.dump(answer, sys.stdout)
