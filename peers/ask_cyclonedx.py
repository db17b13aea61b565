"""Whether CycloneDX's own schema takes a bill of materials: {"bill"} in, its complaint out.

bill: the document as text. The strict schema of version 1.6, as the makers of CycloneDX ship it.
"""

import json
import sys

from cyclonedx.schema import SchemaVersion
from cyclonedx.validation.json import JsonStrictValidator

question = json.load(sys.stdin)
fault = JsonStrictValidator(SchemaVersion.V1_6).validate_str(question["bill"])
json.dump({"fault": None if fault is None else str(fault)[:2000]}, sys.stdout)
