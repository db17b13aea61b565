"""What a method declares, once: from it come plans, the command line, the map and the tables of the pages.

shapes.py        what a plain value may be: the check and the JSON Schema of it
parameters.py    a field that carries its own words: Annotated[float, Parameter(...)]
declaration.py   what a method is, does, needs, claims and spends
settings.py      plain values to a method, and back
names.py         the one table of names; a method is loaded when it is first asked for
requests.py      what is asked beside the method: k, rows, a target

Start with `declaration.py`. This room knows no method: ours are named in `names.py` as text, those of other
packages are found by `sfumato.plugins`.
"""
