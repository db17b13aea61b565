"""Judge a release: what it keeps, what it gives away, and the map between the two.

Start with `assess`: it takes a `subject` (what the user gave), opens it as a `case`, runs every check on it,
holds the scores against `thresholds`, and gives back a `judgement` with its `pictures`. `aggregates` judges
published averages, `tables` published counts, instead of rows. The inner rooms, each importing only those
below it:

    frontier                          many methods and settings on one map
    assess                            one release
    checks                            what is examined: what each check needs, and what it gives
    attacks | risk | utility | audit  what is measured (attacks take their exact intervals from audit)
    reading                           any two files on one scale

It imports no method, nor finds one by its name: it takes any two files, whoever made them, however.
"""
