"""Slow, independent re-derivations of what the engine computes, in plain NumPy.

Nothing here is taken from `nearer`: losses are written from their definitions in extended precision, slopes come from
complex-step differentiation instead of formulas, and every sum is over explicit rows. Comparisons are quadruplets
(N, 4) of i, j, l, k meaning d(i, j) < d(l, k); a triplet (a, b, c) is (a, b, a, c).
"""

from __future__ import annotations

import numpy as np

LOSSES = ("hinge", "ckl", "ste", "tste", "soe", "softplus")


def as_quadruplets(index):
    """Rows (N, 3) or (N, 4) as quadruplets (N, 4)."""
    index = np.asarray(index, dtype=int)
    return index if index.shape[1] == 4 else np.column_stack([index[:, 0], index[:, 1], index[:, 0], index[:, 2]])


def _softplus(z):
    """log(1 + exp(z)) for real or complex z, without overflow."""
    return np.where(z.real > 0, z, 0) + np.log1p(np.exp(np.where(z.real > 0, -z, z)))


def loss(name, near, far, param):
    """One loss at squared distances near, far (arrays, real or complex)."""
    if name == "hinge":
        margin = 1 + near - far
        return np.where(margin.real > 0, margin, 0)
    if name == "ckl":
        return np.log1p((near + param) / (far + param))
    if name == "ste":
        return _softplus(near - far)
    if name == "tste":
        return _softplus((param + 1) / 2 * np.log((1 + near / param) / (1 + far / param)))
    if name == "soe":
        margin = 1 + np.sqrt(near) - np.sqrt(far)
        return np.where(margin.real > 0, margin, 0) ** 2
    if name == "softplus":
        return _softplus(param + np.sqrt(near + np.longdouble(1e-6)) - np.sqrt(far + np.longdouble(1e-6)))
    raise KeyError(name)


def with_lapses(value, lapse):
    """Minus the log-likelihood `value` of an answer (real or complex) if it may be a guess."""
    return value if lapse == 0 else -np.log((1 - lapse) * np.exp(-value) + np.longdouble(lapse) / 2)


def terms(name, near, far, param, lapse=0):
    """Value and both slopes (by complex steps) at squared distances; float64 arrays."""
    near = np.atleast_1d(np.asarray(near, dtype=np.longdouble))
    far = np.atleast_1d(np.asarray(far, dtype=np.longdouble))
    h = np.longdouble(1e-30)
    value = with_lapses(loss(name, near, far, param), lapse)
    with np.errstate(all="ignore"):  # sqrt has no slope at 0; that case is set below
        d_near = with_lapses(loss(name, near + 1j * h, far + 0j, param), lapse).imag / h
        d_far = with_lapses(loss(name, near + 0j, far + 1j * h, param), lapse).imag / h
    if name == "soe":  # by convention a distance of zero has no direction
        d_near, d_far = np.where(near == 0, 0, d_near), np.where(far == 0, 0, d_far)
    return tuple(np.asarray(a, dtype=float) for a in (value.real, d_near, d_far))


def squared_distances(X, Q):
    """Squared distances (N,), (N,) of the near and far pairs of Q (N, 4) at points X (n, d)."""
    near = np.array([np.sum((X[i] - X[j]) ** 2) for i, j, _, _ in Q])
    far = np.array([np.sum((X[l] - X[k]) ** 2) for _, _, l, k in Q])  # noqa: E741
    return near, far


def shares(weights, n):
    """Weights (n,) divided by their mean; ones for None."""
    return np.ones(n) if weights is None else np.asarray(weights, float) / np.mean(weights)


def value(name, param, Q, weights, X):
    """F(X), the weighted mean of the losses."""
    return float(np.mean(shares(weights, len(Q)) * terms(name, *squared_distances(X, Q), param)[0]))


def row_gradient(name, param, row, X):
    """Gradient (n, d) of the loss of one comparison, dense."""
    i, j, l, k = row  # noqa: E741
    near, far = squared_distances(X, [row])
    _, a, b = terms(name, near, far, param)
    g = np.zeros_like(X)
    g[i] += 2 * a[0] * (X[i] - X[j])
    g[j] += 2 * a[0] * (X[j] - X[i])
    g[l] += 2 * b[0] * (X[l] - X[k])
    g[k] += 2 * b[0] * (X[k] - X[l])
    return g


def gradient(name, param, Q, weights, X):
    """Gradient (n, d) of F."""
    scale = shares(weights, len(Q))
    return sum(s * row_gradient(name, param, row, X) for s, row in zip(scale, Q)) / len(Q)


def error(Q, weights, X):
    """Weighted share of comparisons without near < far."""
    near, far = squared_distances(X, Q)
    return float(np.mean(shares(weights, len(Q)) * ~(near < far)))


def numeric_gradient(f, X, h=1e-5):
    """Central differences of a scalar function of X (n, d), fourth order."""
    G = np.empty_like(X)
    for at in np.ndindex(X.shape):
        E = np.zeros_like(X)
        E[at] = h
        G[at] = (8 * (f(X + E) - f(X - E)) - (f(X + 2 * E) - f(X - 2 * E))) / (12 * h)
    return G


def part_gradient(name, param, Q, weights, rows, X):
    """Mean over some rows of their scaled gradients at X (n, d)."""
    scale = shares(weights, len(Q))
    return np.mean([scale[p] * row_gradient(name, param, Q[p], X) for p in rows], axis=0)


def dense_svrg(name, param, Q, weights, X, snapshot, step, draws, covered=None):
    """All iterates (T + 1, n, d) of SVRG from X, every step applied to the whole matrix.

    `covered` are the rows of which the snapshot consists (None: all); draws of other rows make plain steps.
    """
    scale = shares(weights, len(Q))
    covered = range(len(Q)) if covered is None else covered
    g = part_gradient(name, param, Q, weights, covered, snapshot)
    path = [X]
    for p in draws:
        here = scale[p] * row_gradient(name, param, Q[p], path[-1])
        correction = g - scale[p] * row_gradient(name, param, Q[p], snapshot) if p in covered else 0.0
        path.append(path[-1] - step * (here + correction))
    return np.array(path)


def sgd(name, param, Q, weights, X, steps, draws):
    """All iterates (T + 1, n, d) of stochastic gradient descent with the given steps (T,)."""
    scale = shares(weights, len(Q))
    path = [X]
    for eta, p in zip(steps, draws):
        path.append(path[-1] - eta * scale[p] * row_gradient(name, param, Q[p], path[-1]))
    return np.array(path)


def pair_matrix(i, j, n):
    """E (n, n) with <E, K> = K_ii + K_jj - 2 K_ij for symmetric K."""
    e = np.zeros(n)
    e[i] += 1
    e[j] -= 1
    return np.outer(e, e)


def gram_value_and_gradient(name, param, Q, weights, K):
    """The objective as a function of a Gram matrix K (n, n): value, gradient (n, n), slopes (N,)."""
    scale = shares(weights, len(Q))
    n = len(K)
    near = np.array([np.sum(pair_matrix(i, j, n) * K) for i, j, _, _ in Q])
    far = np.array([np.sum(pair_matrix(l, k, n) * K) for _, _, l, k in Q])  # noqa: E741
    f, a, b = terms(name, near, far, param)
    G = np.zeros((n, n))
    for s, slope_near, slope_far, (i, j, l, k) in zip(scale, a, b, Q):  # noqa: E741
        G += s * (slope_near * pair_matrix(i, j, n) + slope_far * pair_matrix(l, k, n))
    return float(np.mean(scale * f)), G / len(Q), a


def hessian(gradient_of, X, h=1e-5):
    """Hessian (nd, nd) by central differences of a gradient function."""
    H = np.empty((X.size, X.size))
    for column, at in enumerate(np.ndindex(X.shape)):
        E = np.zeros_like(X)
        E[at] = h
        H[:, column] = ((gradient_of(X + E) - gradient_of(X - E)) / (2 * h)).ravel()
    return 0.5 * (H + H.T)


def largest_curvature(objective, X):
    """Largest absolute eigenvalue of the Hessian at X."""
    return np.abs(np.linalg.eigvalsh(hessian(lambda at: objective.value_and_gradient(at)[1], X))).max()


def adagrad(name, param, Q, weights, X, memory, step, draws):
    """Point, memory (n,) of squared pulls and mean scaled loss after stochastic steps that adapt to each object."""
    scale = shares(weights, len(Q))
    X, memory, total = X.copy(), np.array(memory, float), 0.0
    for p in draws:
        i, j, l, k = Q[p]  # noqa: E741
        f, a, b = terms(name, *squared_distances(X, [Q[p]]), param)
        total += scale[p] * f[0]
        near_pull = 2 * scale[p] * a[0] * (X[i] - X[j])
        far_pull = 2 * scale[p] * b[0] * (X[l] - X[k])
        for at, pull in ((i, near_pull), (j, near_pull), (l, far_pull), (k, far_pull)):
            memory[at] += np.sum(pull**2)
        new = X.copy()
        for at, pull in ((i, near_pull), (j, -near_pull), (l, far_pull), (k, -far_pull)):
            if memory[at] > 0:
                new[at] -= step / np.sqrt(memory[at]) * pull
        X = new
    return X, memory, total / len(draws)
