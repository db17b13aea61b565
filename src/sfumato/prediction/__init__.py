"""Prediction: risk scores learnt from persons, and what their answers give away.

Three families. Private scores whose promise is proved: `logistic` (on `basis`, `objective` with its proof,
`solver`, `group_calibration`, `uncertainty`), `additive` and `forest`, on what `estimator` shares, with
`fit_budget` (one debit, divided), `private_tree`, `impurity`, `shrinkage`, `calibration`, `rule`; the room
`features` has their public grids and inputs. What they publish: `models`, `card`, and as a signed file
`artefact` (its `content`). The dissertation's trees: `tree`, `ensemble` and `dpat` (which promises
nothing), on `learner`, `variables`, `structures`, `perturbation`, drawn by `tree_figures`, kept by
`confidential`. `sklearn_api` is scikit-learn's interface for all of them. Start at `logistic`. It knows no
service and no assessment: a released model is scored by arithmetic on public numbers.
"""
