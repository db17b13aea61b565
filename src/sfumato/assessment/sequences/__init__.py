"""What linked tables say of a person, thing by thing, and what an intruder makes of a few of them.

`traces` reads the things of each person (codes, days, gaps, numbers of records, further values) on one scale
for original, control and release; `vocabulary` says which released values stand for a value of the original;
`linkage` looks for who fits a few known things, and `nearness` for the released person who is most like a
whole sequence, each beside people who are not in the data; `unicity` counts in the release alone. It knows
databases and scores; who decides what is asked, and in which words, is `assessment.database`.
"""
