"""A script as a user of ACRO writes it; run with the import as it stands, and with ours."""

import pandas as pd
from acro import ACRO

data = pd.read_csv(file)  # type: ignore[name-defined]  # noqa: F821
acro = ACRO(suppress=True)
two = acro.crosstab(data["ward"], data["smokes"])
one = acro.crosstab(data["ward"], data["all"])
other = acro.crosstab(data["smokes"], data["all"])
means = acro.pivot_table(data, index=["ward"], columns=["smokes"], values="cost", aggfunc="mean")
acro.add_comments("output_0", "wards by smoking")
acro.rename_output("output_1", "wards")
acro.add_exception("wards", "agreed with the ward")
acro.remove_output("output_3")
acro.olsr("cost ~ age", data)
acro.logit((data["smokes"] == "never").astype(int), data[["age"]].assign(constant=1.0))
acro.disable_suppression()
acro.print_outputs()
acro.finalise(folder, "json")  # type: ignore[name-defined]  # noqa: F821
answer = {
    name: {str(i): {str(j): None if v != v else float(v) for j, v in row.items()} for i, row in t.iterrows()}
    for name, t in (("two", two), ("one", one), ("other", other), ("means", means))
}
