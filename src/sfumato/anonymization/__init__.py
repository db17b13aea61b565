"""Rows made alike until each person hides among others: from a table and a criterion to a release.

Start at `anonymize`, which reads as what is done: `request` (what is asked of which columns), `problem` (the
table, counted once), a search (what becomes of each combination), `suppression` (what does not satisfy is
withheld, and all is counted again), `writer` and `shuffle` (the rows of the file, in an order drawn anew),
`record` (what stays with the publisher).

Searches take a `Problem` and a criterion, and give back a `Recoding`:

- one level for a whole column: `optimal` (by `boundary`, `branch_and_bound` or in order), `datafly`;
- each class by itself: the rooms `local` and `greedy`, and `mondrian`.

`limits` says how far a search may go, `parameters` what several of them declare. What is lost is measured
by `loss`, `information`, `degradation` and `network`. Numbers and rows are exchanged instead in the rooms
`shape` and `microaggregation`. Around a release: `preparation`, `requirements`, `defence`, `explanation`
and `register`.

It may know no other method and no assessment: it asks the table for counts and `criteria` what satisfies,
and returns the release that `sfumato.release` defines. No noise is drawn here.
"""
