"""CUDIA's two ways to fit: greedy with one-hot U, and Monte Carlo EM. Symbols as in section 4.2."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from sfumato.progress import report

if TYPE_CHECKING:
    Generator = np.random.Generator

Real = NDArray[np.float64]
Index = NDArray[np.int64]

_SMALLEST = 1e-3  # variance of a standardized number within a cluster
_PRIOR = 0.5  # added to each cell of a category within a cluster
_PATIENCE = 3  # rounds of EM without a better likelihood before it stops


@dataclass(frozen=True, eq=False)
class Individuals:
    """numbers: (n, d), standardized, NaN where missing.  codes: (n, c).  sizes: codes of each category.
    group: (n,) the row of A of each person, -1 for none."""

    numbers: Real
    codes: Index
    sizes: tuple[int, ...]
    group: Index

    @classmethod
    def joined(cls, parts: Sequence[Individuals]) -> Individuals:
        """Batches together."""
        return cls(
            np.concatenate([p.numbers for p in parts]),
            np.concatenate([p.codes for p in parts]),
            parts[0].sizes,
            np.concatenate([p.group for p in parts]),
        )


@dataclass(frozen=True, eq=False)
class Theta:
    """p(x | z).  mu, var: (K, d).  phi: per category (K, levels), logs of probabilities."""

    mu: Real
    var: Real
    phi: tuple[Real, ...]

    @classmethod
    def of(cls, people: Individuals, gamma: Real) -> Theta:
        """M-step: weighted means, variances and shares, from memberships (n, K)."""
        there = ~np.isnan(people.numbers)
        x = np.where(there, people.numbers, 0.0)
        weight = gamma.T @ there + 1e-9
        mu = gamma.T @ x / weight
        var = np.maximum(gamma.T @ x**2 / weight - mu**2, _SMALLEST)
        phi = []
        for j, size in enumerate(people.sizes):
            cells = np.stack([np.bincount(people.codes[:, j], g, size) for g in gamma.T]) + _PRIOR
            phi.append(np.log(cells / cells.sum(axis=1, keepdims=True)))
        return cls(mu, var, tuple(phi))

    def log_likelihood(self, people: Individuals) -> Real:
        """log p(x | z = k), (n, K); what is missing is left out."""
        out = np.zeros((len(people.group), len(self.mu)))
        there = ~np.isnan(people.numbers)
        x = np.where(there, people.numbers, 0.0)
        for k in range(len(self.mu)):
            terms = (x - self.mu[k]) ** 2 / self.var[k] + np.log(2 * math.pi * self.var[k])
            out[:, k] = -0.5 * np.where(there, terms, 0.0).sum(axis=1)
        for j, phi in enumerate(self.phi):
            out += phi[:, people.codes[:, j]].T
        return out


@dataclass(frozen=True, eq=False)
class MixtureFit:
    """What was found.  eta: (K, k).  pi: (P, K).  pull: (P, K), see `ClusterRule`.  within: (k,), T^2."""

    theta: Theta
    eta: Real
    pi: Real
    pull: Real
    within: Real
    trace: tuple[float, ...]


def solve_eta(pi: Real, s: Real, w: Real, centre: Real, ridge: float) -> Real:
    """Algorithm 1: (Pi'W Pi + lambda I)^-1 (Pi'W s + lambda centre), column by column of s."""
    out = np.empty((pi.shape[1], s.shape[1]))
    for j in range(s.shape[1]):
        left = pi.T @ (w[:, j, None] * pi)
        penalty = ridge * np.trace(left) / len(left)
        right = pi.T @ (w[:, j] * (s[:, j] - centre[j]))
        out[:, j] = centre[j] + np.linalg.solve(left + penalty * np.eye(len(left)), right)
    return out


def _between(s: Real, sizes: Real) -> tuple[Real, Real]:
    """The overall mean and the mean square between groups."""
    centre = sizes @ s / sizes.sum()
    square = sizes @ (s - centre) ** 2 / max(len(s) - 1, 1)
    return centre, np.maximum(square, np.finfo(float).tiny)


# -- one-hot U ---------------------------------------------------------------------------------------


def greedy(
    people: Individuals, s: Real, sizes: Real, z: Index, *, ridge: float, floor: float, iterations: int
) -> MixtureFit:
    """Sweeps of moves, then theta, eta and T^2; each lowers the objective, so that it never rises."""
    from sfumato.reconstruction._kernels import reassign

    clusters = int(z.max()) + 1
    z = z.copy()
    centre, square = _between(s, sizes)
    within = square.copy()
    theta = Theta.of(people, np.eye(clusters)[z])
    members = _members(people.group, z, len(sizes), clusters)
    weight = sizes[:, None] / square
    ridges = _fixed_ridge(members / sizes[:, None], weight, ridge)
    eta = _centres(members / sizes[:, None], s, sizes[:, None] / within, centre, ridges)
    trace = [_objective(people, theta, z, members, s, sizes, eta, within, centre, ridges)]
    for done in range(iterations):
        cost = -theta.log_likelihood(people)
        moves = reassign(cost, people.group, s, eta, sizes[:, None] / (2 * within), members, z)
        theta = Theta.of(people, np.eye(clusters)[z])
        eta = _centres(members / sizes[:, None], s, sizes[:, None] / within, centre, ridges)
        miss = s - members @ eta / sizes[:, None]
        within = np.maximum((sizes[:, None] * miss**2).mean(axis=0), floor * square)
        trace.append(_objective(people, theta, z, members, s, sizes, eta, within, centre, ridges))
        report("clustering", done + 1, iterations)
        if not moves:
            break
    miss = s - members @ eta / sizes[:, None]
    pull = (miss / within) @ eta.T  # the change of (s - mean)^2 / (2 T^2 / N) by one person, without 1/N^2
    return MixtureFit(theta, eta, members / sizes[:, None], pull, within, tuple(trace))


def _members(group: Index, z: Index, groups: int, clusters: int) -> Real:
    there = group >= 0
    flat = np.bincount(group[there] * clusters + z[there], minlength=groups * clusters)
    return flat.reshape(groups, clusters).astype(np.float64)


def _fixed_ridge(pi: Real, weight: Real, ridge: float) -> Real:
    """One penalty per column for the whole run, so that all rounds lower the same objective."""
    return np.array([ridge * np.trace(pi.T @ (w[:, None] * pi)) / pi.shape[1] for w in weight.T])


def _centres(pi: Real, s: Real, w: Real, centre: Real, ridges: Real) -> Real:
    out = np.empty((pi.shape[1], s.shape[1]))
    for j, penalty in enumerate(ridges):
        left = pi.T @ (w[:, j, None] * pi) + penalty * np.eye(pi.shape[1])
        out[:, j] = centre[j] + np.linalg.solve(left, pi.T @ (w[:, j] * (s[:, j] - centre[j])))
    return out


def _objective(
    people: Individuals, theta: Theta, z: Index, members: Real, s: Real, sizes: Real, eta: Real, within: Real,
    centre: Real, ridges: Real,
) -> float:  # fmt: skip
    """-log p(x | z) - log p(s | z), the ridge and the priors of the categories included."""
    own = theta.log_likelihood(people)[np.arange(len(z)), z].sum()
    own += sum(_PRIOR * phi.sum() for phi in theta.phi)
    miss = s - members @ eta / sizes[:, None]
    fit = 0.5 * (sizes[:, None] * miss**2 / within + np.log(within)).sum()
    return float(fit - own + 0.5 * (ridges * (eta - centre) ** 2).sum())


# -- Monte Carlo EM ------------------------------------------------------------------------------------


def monte_carlo(
    people: Individuals, s: Real, sizes: Real, z: Index, *, ridge: float, floor: float, iterations: int,
    draws: int, generator: Generator,
) -> MixtureFit:  # fmt: skip
    """Algorithm 1: E-step by Gibbs sampling, M-step for theta, alpha, eta and T^2."""
    clusters = int(z.max()) + 1
    centre, square = _between(s, sizes)
    within = square.copy()
    theta = Theta.of(people, np.eye(clusters)[z])
    alpha = np.ones(clusters)
    pi = (_members(people.group, z, len(sizes), clusters) + 1.0) / (sizes[:, None] + clusters)
    eta = solve_eta(pi, s, sizes[:, None] / within, centre, ridge)
    trace: list[float] = []
    best, waited = -math.inf, 0
    for done in range(iterations):
        log_x = theta.log_likelihood(people)
        gamma, mean_pi, log_pi, pi, likelihood = _e_step(
            people.group, log_x, s, sizes, pi, alpha, eta, within, draws, generator
        )
        trace.append(-likelihood)
        theta = Theta.of(people, gamma)
        alpha = _dirichlet(alpha, log_pi.mean(axis=0))
        w = 1.0 / variance_of(mean_pi, eta, within, sizes)
        eta = solve_eta(mean_pi, s, w, centre, ridge)
        mixing = (mean_pi @ eta**2) - (mean_pi @ eta) ** 2
        own = sizes[:, None] * (s - mean_pi @ eta) ** 2 - mixing
        within = np.maximum(own.mean(axis=0), floor * square)
        report("sampling", done + 1, iterations)
        waited = 0 if likelihood > best + 1e-3 * abs(best) else waited + 1
        best = max(best, likelihood)
        if waited >= _PATIENCE and done >= _PATIENCE:
            break
    return MixtureFit(theta, eta, mean_pi, np.log(mean_pi + 1e-12), within, tuple(trace))


def variance_of(pi: Real, eta: Real, within: Real, sizes: Real) -> Real:
    """Equation 4.4: Sigma_p^2 = [pi_p (eta^2 + T^2) - mu_p^2] / N_p, (P, k)."""
    out: Real = np.maximum(pi @ eta**2 - (pi @ eta) ** 2 + within, within) / sizes[:, None]
    return out


def _e_step(
    group: Index, log_x: Real, s: Real, sizes: Real, pi: Real, alpha: Real, eta: Real, within: Real,
    draws: int, generator: Generator,
) -> tuple[Real, Real, Real, Real, float]:  # fmt: skip
    """Expectations of z, pi and log pi given x and s; where the chain is; the mean log-likelihood."""
    groups, clusters = pi.shape
    shifted = np.exp(log_x - log_x.max(axis=1, keepdims=True))
    gamma, mean_pi, log_pi, likelihood = np.zeros_like(log_x), np.zeros_like(pi), np.zeros_like(pi), 0.0
    burn = max(draws // 5, 1)
    current = _log_s(s, pi, eta, within, sizes)
    for sweep in range(burn + draws):
        padded = np.vstack([pi, alpha / alpha.sum()])  # people of no group follow the prior
        share = shifted * padded[group]
        total = share.sum(axis=1, keepdims=True)
        share /= total
        z = (generator.random((len(group), 1)) > np.cumsum(share, axis=1)[:, :-1]).sum(axis=1)
        members = _members(group, z, groups, clusters)
        raw = np.maximum(generator.gamma(alpha + members), 1e-300)
        proposed = raw / raw.sum(axis=1, keepdims=True)
        their = _log_s(s, proposed, eta, within, sizes)
        taken = np.log(generator.random(groups)) < their - current
        pi = np.where(taken[:, None], proposed, pi)
        current = np.where(taken, their, current)
        if sweep >= burn:
            gamma += share / draws
            mean_pi += pi / draws
            log_pi += np.log(np.maximum(pi, 1e-12)) / draws
            likelihood += (float(np.log(total).sum()) + float(current.sum())) / draws
    return gamma, mean_pi, log_pi, pi, likelihood + float(log_x.max(axis=1).sum())


def _log_s(s: Real, pi: Real, eta: Real, within: Real, sizes: Real) -> Real:
    variance = variance_of(pi, eta, within, sizes)
    return np.asarray(-0.5 * ((s - pi @ eta) ** 2 / variance + np.log(variance)).sum(axis=1))


def _dirichlet(alpha: Real, log_mean: Real) -> Real:
    """alpha by Minka's fixed point for the mean of log pi."""
    from scipy.special import digamma, polygamma

    for _ in range(100):
        target = digamma(alpha.sum()) + log_mean
        new = np.where(target >= -2.22, np.exp(target) + 0.5, -1.0 / (target - digamma(1.0)))
        for _ in range(5):  # the inverse of digamma, by Newton
            new = new - (digamma(new) - target) / polygamma(1, new)
        new = np.clip(new, 1e-3, 1e4)
        if np.max(np.abs(new - alpha)) < 1e-6:
            return np.asarray(new)
        alpha = new
    return np.asarray(alpha)
