"""AIM and MST, restated on mbi's estimator: synthetic codes, and the CPU seconds they took.

Question: {"codes": file.npy of (rows, columns), "sizes": [...], "rho": ..., "method": "aim" or "mst",
"seed": ..., "out": file.npy}. The noise is numpy's: this is for comparing accuracy, not for release.
"""

import itertools
import json
import sys
import time
import warnings

import numpy as np

warnings.filterwarnings("ignore")
from mbi import Domain, LinearMeasurement, estimation, junction_tree  # noqa: E402

ROOT = np.sqrt(2 / np.pi)
SIZE_LIMIT = 80.0  # megabytes of a junction tree, as AIM's authors chose
ITERATIONS = 500


class Data:
    """Codes, their tables, and what the method has spent."""

    def __init__(self, codes, sizes, rho, seed):
        self.codes, self.sizes, self.rho, self.used = codes, dict(enumerate(sizes)), rho, 0.0
        self.domain = Domain([str(j) for j in self.sizes], list(sizes))
        self.random = np.random.default_rng(seed)
        self.measured = []

    def table(self, clique):
        shape = [self.sizes[j] for j in clique]
        keys = np.ravel_multi_index([self.codes[:, j] for j in clique], shape)
        return np.bincount(keys, minlength=int(np.prod(shape))).astype(float)

    def measure(self, clique, sigma):
        self.used += 1 / (2 * sigma**2)
        noisy = self.table(clique) + self.random.normal(scale=sigma, size=self.cells(clique))
        self.measured.append(LinearMeasurement(noisy, named(clique), stddev=sigma))

    def cells(self, clique):
        return int(np.prod([self.sizes[j] for j in clique]))

    def choose(self, scores, sensitivity, epsilon):
        """The exponential mechanism, which costs epsilon^2 / 8 of rho."""
        self.used += epsilon**2 / 8
        noisy = 0.5 * epsilon / sensitivity * np.array(list(scores.values()))
        return list(scores)[int(np.argmax(noisy + self.random.gumbel(size=len(noisy))))]

    def estimate(self, before=None):
        estimator = estimation.MirrorDescent()
        return estimator.estimate(self.domain, self.measured, iters=ITERATIONS, warm_start=before)


def named(clique):
    return tuple(str(j) for j in clique)


def shown(model, clique):
    """The model's table of some columns, by eliminating all others in numpy.

    `model.project` gives the same, but has every new shape compiled: most of a minute for all pairs, in each
    round. That would be the compiler's time and not the method's.
    """
    wanted = named(clique)
    tables = [
        (factor.domain.attributes, np.asarray(factor.values, float))
        for factor in model.potentials.tables.values()
    ]
    covered = {name for names, _ in tables for name in names}
    domain = model.potentials.domain
    tables += [((name,), np.zeros(domain.size([name]))) for name in wanted if name not in covered]
    kept = [names for names, _ in tables]
    others = [name for name in covered if name not in wanted]
    order, _ = junction_tree.greedy_order(domain, [*kept, wanted], elim=others)
    for name in order:
        met = [t for t in tables if name in t[0]]
        tables = [t for t in tables if name not in t[0]] + [without(name, met)]
    summed = added(wanted, tables)
    shares = np.exp(summed - summed.max())
    return (shares * (float(model.total) / shares.sum())).ravel()


def added(names, tables):
    """The sum of log-tables over the given columns."""
    out = np.zeros(())
    for own, values in tables:
        order = sorted(range(len(own)), key=lambda i: names.index(own[i]))
        shape = [values.shape[own.index(n)] if n in own else 1 for n in names]
        out = out + values.transpose(order).reshape(shape)
    return out


def without(name, tables):
    """The log-table of what the given tables say when a column is summed out."""
    names = (name, *dict.fromkeys(n for own, _ in tables for n in own if n != name))
    summed = added(names, tables)
    top = summed.max(axis=0)
    return names[1:], np.log(np.exp(summed - top).sum(axis=0)) + top


def aim(data):
    """Measure what the model shows worst, again and again; anneal the noise when nothing new is learnt."""
    d = len(data.sizes)
    pairs = list(itertools.combinations(data.sizes, 2))
    candidates = {c: sum(len({*c} & {*p}) for p in pairs) for c in [*pairs, *((j,) for j in data.sizes)]}
    rounds = 16 * d
    sigma, epsilon = np.sqrt(rounds / (2 * 0.9 * data.rho)), np.sqrt(8 * 0.1 * data.rho / rounds)
    for j in data.sizes:
        data.measure((j,), sigma)
    model = data.estimate()
    exact = {c: data.table(c) for c in candidates}
    last = False
    while not last:
        if data.rho - data.used < 2 * (0.5 / sigma**2 + epsilon**2 / 8):
            left = data.rho - data.used
            sigma, epsilon, last = np.sqrt(1 / (2 * 0.9 * left)), np.sqrt(8 * 0.1 * left), True
        have = [m.clique for m in data.measured]
        limit = SIZE_LIMIT * data.used / data.rho
        size = junction_tree.hypothetical_model_size
        fits = {
            c: w
            for c, w in candidates.items()
            if named(c) in have or size(data.domain, [*have, named(c)]) <= limit
        }
        scores = {
            c: w * (np.abs(exact[c] - shown(model, c)).sum() - ROOT * sigma * data.cells(c))
            for c, w in fits.items()
        }
        chosen = data.choose(scores, max(fits.values()), epsilon)
        before = shown(model, chosen)
        data.measure(chosen, sigma)
        model = data.estimate(model)
        if np.abs(shown(model, chosen) - before).sum() <= ROOT * sigma * data.cells(chosen):
            sigma, epsilon = sigma / 2, epsilon * 2
    return model


def mst(data):
    """Single columns, then a spanning tree of pairs chosen privately: a third of the budget for each."""
    d = len(data.sizes)
    for j in data.sizes:
        data.measure((j,), np.sqrt(3 * d / (2 * data.rho)))
    model = data.estimate()
    worth = {}
    for a, b in itertools.combinations(data.sizes, 2):
        alone = np.outer(shown(model, (a,)), shown(model, (b,))).ravel()
        worth[a, b] = np.abs(data.table((a, b)) - alone / max(alone.sum() ** 0.5, 1)).sum()
    group = {j: j for j in data.sizes}
    epsilon = np.sqrt(8 * data.rho / (3 * (d - 1)))
    for _ in range(d - 1):
        open_ = {pair: w for pair, w in worth.items() if group[pair[0]] != group[pair[1]]}
        a, b = data.choose(open_, 1.0, epsilon)
        group = {j: group[a] if g == group[b] else g for j, g in group.items()}
        data.measure((a, b), np.sqrt(3 * (d - 1) / (2 * data.rho)))
    return data.estimate(model)


question = json.load(sys.stdin)
data = Data(np.load(question["codes"]), question["sizes"], question["rho"], question["seed"])
start = time.process_time()
model = {"aim": aim, "mst": mst}[question["method"]](data)
rows = model.synthetic_data(len(data.codes)).to_dict()
np.save(question["out"], np.stack([np.asarray(rows[str(j)]) for j in data.sizes], axis=1).astype(np.int64))
json.dump({"seconds": time.process_time() - start, "measured": len(data.measured)}, sys.stdout)
