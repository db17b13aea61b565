"""Numbers rounded to multiples of a base, as a guest of Sfumato: one small part of each kind.

method.py     what is done: values of numeric columns become multiples of a base
claim.py      what is promised of the file, and how it is counted again
loss.py       a measure of loss: what the worst cell has lost
check.py      a check of the assessment: how many numbers are round
criterion.py  something asked of every class: that it is a share of the file
source.py     an address of its own: made-up://...

Sfumato loads each by its entry point, when it is first asked for.
"""
