"""The hot path: compiled loops over comparisons.

The only module that imports Numba. A loss reaches a kernel as an integer code plus one float parameter and is chosen
by an if/elif in one scalar function, because that is what keeps Numba's disk cache valid across processes.

Conventions shared by all kernels
---------------------------------
index : int32 (N, 3) or (N, 4), C-contiguous. Three columns are ``i, j, k`` with ``l = i``.
scale : float64 (N,) weights with mean one, or an empty array when every comparison counts the same.
kind, param : the loss, see `loss_terms`.
X : float64 (n, d), C-contiguous.

Kernels hold no state and draw no random numbers of their own: a stochastic pass gets a seed and a first step for the
counter-based generator `draw`, so a pass may be cut in two without changing its draws.
"""

from __future__ import annotations

import math

import numpy as np
from numba import njit

HINGE, CKL, STE, TSTE, SOE, SMOOTH_HINGE = range(6)

# Enough freedom to vectorise sums; NaN and infinity keep their meaning, so divergence stays visible.
_jit = njit(cache=True, nogil=True, error_model="numpy", fastmath={"reassoc", "contract", "arcp", "nsz"})


@_jit
def loss_terms(kind, param, near, far):
    """One loss at two squared distances: value, d value / d near, d value / d far.

    The formulas are in `nearer.losses`; `param` is delta (ckl), alpha (tste) or the width (smoothed hinge).
    """
    if kind == HINGE:
        margin = 1.0 + near - far
        if margin > 0.0:
            return margin, 1.0, -1.0
        return 0.0 * margin, 0.0, 0.0  # 0 * margin keeps NaN visible
    if kind == CKL:
        both = 1.0 / (near + far + 2.0 * param)
        return math.log1p((near + param) / (far + param)), both, -(near + param) * both / (far + param)
    if kind == STE:
        z = near - far
        e = math.exp(-abs(z))
        s = 1.0 / (1.0 + e)
        if z < 0.0:
            s *= e
        return max(z, 0.0) + math.log1p(e), s, -s
    if kind == TSTE:
        h = 0.5 * (param + 1.0)
        z = h * math.log((param + near) / (param + far))
        e = math.exp(-abs(z))
        s = 1.0 / (1.0 + e)
        if z < 0.0:
            s *= e
        return max(z, 0.0) + math.log1p(e), s * h / (param + near), -s * h / (param + far)
    if kind == SOE:
        root_near = math.sqrt(near)
        root_far = math.sqrt(far)
        margin = 1.0 + root_near - root_far
        if margin > 0.0:
            d_near = margin / root_near if near > 0.0 else 0.0
            d_far = -margin / root_far if far > 0.0 else 0.0
            return margin * margin, d_near, d_far
        return 0.0 * margin, 0.0, 0.0
    margin = 1.0 + near - far  # SMOOTH_HINGE: quadratic for 0 < margin < param
    if margin <= 0.0:
        return 0.0, 0.0, 0.0
    if margin < param:
        return 0.5 * margin * margin / param, margin / param, -margin / param
    return margin - 0.5 * param, 1.0, -1.0


@_jit
def loss_terms_many(kind, param, near, far, value, d_near, d_far):
    """`loss_terms` for arrays (N,), written into the last three arguments."""
    for p in range(near.shape[0]):
        value[p], d_near[p], d_far[p] = loss_terms(kind, param, near[p], far[p])


@_jit
def draw(seed, step, n):
    """The comparison for one stochastic step: uniform on 0..n-1, a pure function of (seed, step) (SplitMix64)."""
    z = np.uint64(seed) + np.uint64(step + 1) * np.uint64(0x9E3779B97F4A7C15)
    z = (z ^ (z >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
    z = (z ^ (z >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
    z = z ^ (z >> np.uint64(31))
    return np.int64(np.float64(z >> np.uint64(11)) * 1.1102230246251565e-16 * n)


@_jit
def draw_many(seed, first, n_steps, n):
    """The draws of steps first..first+n_steps-1, as int64 (n_steps,)."""
    out = np.empty(n_steps, dtype=np.int64)
    for t in range(n_steps):
        out[t] = draw(seed, first + t, n)
    return out


@_jit
def _objects(index, p):
    i = index[p, 0]
    j = index[p, 1]
    if index.shape[1] == 3:
        return i, j, i, index[p, 2]
    return i, j, index[p, 2], index[p, 3]


@_jit
def _squared_distances(X, i, j, l, k):  # noqa: E741
    near = 0.0
    far = 0.0
    for c in range(X.shape[1]):
        a = X[i, c] - X[j, c]
        b = X[l, c] - X[k, c]
        near += a * a
        far += b * b
    return near, far


@_jit
def value_block(index, scale, kind, param, X, start, stop):
    """Sum of scaled losses of the comparisons start..stop-1."""
    total = 0.0
    weighted = scale.shape[0] > 0
    for p in range(start, stop):
        i, j, l, k = _objects(index, p)  # noqa: E741
        near, far = _squared_distances(X, i, j, l, k)
        value, _, _ = loss_terms(kind, param, near, far)
        total += value * scale[p] if weighted else value
    return total


@_jit
def gradient_block(index, scale, kind, param, X, start, stop, G, d_near, d_far):
    """Sum of scaled losses of the comparisons start..stop-1; their gradient is added to G (n, d).

    The scaled slopes are kept in d_near, d_far (N,) for a later `svrg_pass`, unless those are empty.
    """
    total = 0.0
    weighted = scale.shape[0] > 0
    keep = d_near.shape[0] > 0
    for p in range(start, stop):
        i, j, l, k = _objects(index, p)  # noqa: E741
        near, far = _squared_distances(X, i, j, l, k)
        value, a, b = loss_terms(kind, param, near, far)
        if weighted:
            value *= scale[p]
            a *= scale[p]
            b *= scale[p]
        total += value
        if keep:
            d_near[p] = a
            d_far[p] = b
        if a == 0.0 and b == 0.0:
            continue
        a *= 2.0
        b *= 2.0
        for c in range(X.shape[1]):
            u = a * (X[i, c] - X[j, c])
            v = b * (X[l, c] - X[k, c])
            G[i, c] += u
            G[j, c] -= u
            G[l, c] += v
            G[k, c] -= v
    return total


@_jit
def satisfied_block(index, scale, X, start, stop):
    """Scaled count of the comparisons start..stop-1 with near < far (ties and NaN are not satisfied)."""
    total = 0.0
    weighted = scale.shape[0] > 0
    for p in range(start, stop):
        i, j, l, k = _objects(index, p)  # noqa: E741
        near, far = _squared_distances(X, i, j, l, k)
        if near < far:
            total += scale[p] if weighted else 1.0
    return total


@_jit
def svrg_pass(index, scale, kind, param, rows, d_near, d_far, step, seed, first, n_steps):
    """Inner SVRG steps at O(d) a step, whatever the number of objects.

    Step t is ``X -= step * (grad f_p(X) - grad f_p(S) + g)``. The dense term g is the same at every step, so it is
    never applied here: the kernel keeps ``Z = X + t * step * g``, which changes only in the rows of the comparison.

    Parameters
    ----------
    rows : float64 (n, 3, d), in place. ``rows[:, 0]`` is X at the start and Z at the end (the caller subtracts
        ``n_steps * step * g``), ``rows[:, 1]`` is g, ``rows[:, 2]`` is S; side by side, since they are read together.
    d_near, d_far : float64 (N,), scaled slopes at S, kept by `gradient_block`.
    """
    n = index.shape[0]
    n_components = rows.shape[2]
    weighted = scale.shape[0] > 0
    near_diff = np.empty(n_components)
    far_diff = np.empty(n_components)
    # Comparisons are fetched some steps ahead: independent loads overlap their cache misses.
    ahead = 32
    objects = np.empty((ahead, 4), dtype=np.int64)
    slopes = np.empty((ahead, 3))
    for t0 in range(0, n_steps, ahead):
        n_fetched = min(ahead, n_steps - t0)
        for q in range(n_fetched):
            p = draw(seed, first + t0 + q, n)
            objects[q, 0], objects[q, 1], objects[q, 2], objects[q, 3] = _objects(index, p)
            slopes[q, 0] = d_near[p]
            slopes[q, 1] = d_far[p]
            slopes[q, 2] = scale[p] if weighted else 1.0
        for q in range(n_fetched):
            i, j, l, k = objects[q, 0], objects[q, 1], objects[q, 2], objects[q, 3]  # noqa: E741
            shift = step * (t0 + q)
            near = 0.0
            far = 0.0
            for c in range(n_components):
                u = rows[i, 0, c] - rows[j, 0, c] - shift * (rows[i, 1, c] - rows[j, 1, c])
                v = rows[l, 0, c] - rows[k, 0, c] - shift * (rows[l, 1, c] - rows[k, 1, c])
                near_diff[c] = u
                far_diff[c] = v
                near += u * u
                far += v * v
            _, a, b = loss_terms(kind, param, near, far)
            a *= 2.0 * step * slopes[q, 2]
            b *= 2.0 * step * slopes[q, 2]
            a0 = 2.0 * step * slopes[q, 0]
            b0 = 2.0 * step * slopes[q, 1]
            if a == 0.0 and b == 0.0 and a0 == 0.0 and b0 == 0.0:
                continue
            for c in range(n_components):
                u = a * near_diff[c] - a0 * (rows[i, 2, c] - rows[j, 2, c])
                v = b * far_diff[c] - b0 * (rows[l, 2, c] - rows[k, 2, c])
                rows[i, 0, c] -= u
                rows[j, 0, c] += u
                rows[l, 0, c] -= v
                rows[k, 0, c] += v


@_jit
def sgd_pass(index, scale, kind, param, X, step, decay, power, seed, first, n_steps):
    """Plain stochastic steps on X, in place; step t of the run has size ``step / (1 + decay * t) ** power``."""
    n = index.shape[0]
    weighted = scale.shape[0] > 0
    for t in range(first, first + n_steps):
        p = draw(seed, t, n)
        i, j, l, k = _objects(index, p)  # noqa: E741
        near, far = _squared_distances(X, i, j, l, k)
        _, a, b = loss_terms(kind, param, near, far)
        if a == 0.0 and b == 0.0:
            continue
        eta = 2.0 * step
        if decay > 0.0:
            eta /= (1.0 + decay * t) ** power
        if weighted:
            eta *= scale[p]
        a *= eta
        b *= eta
        for c in range(X.shape[1]):
            u = a * (X[i, c] - X[j, c])
            v = b * (X[l, c] - X[k, c])
            X[i, c] -= u
            X[j, c] += u
            X[l, c] -= v
            X[k, c] += v


@_jit
def gram_block(index, scale, kind, param, K, start, stop, G, slopes):
    """As `gradient_block` for the Gram matrix K (n, n): losses of the distances ``K_ii + K_jj - 2 K_ij``.

    The gradient is added to G (n, n), symmetric; d value / d near, not scaled, goes to slopes (N,).
    """
    total = 0.0
    weighted = scale.shape[0] > 0
    for p in range(start, stop):
        i, j, l, k = _objects(index, p)  # noqa: E741
        near = K[i, i] + K[j, j] - 2.0 * K[i, j]
        far = K[l, l] + K[k, k] - 2.0 * K[l, k]
        value, a, b = loss_terms(kind, param, near, far)
        slopes[p] = a
        if weighted:
            value *= scale[p]
            a *= scale[p]
            b *= scale[p]
        total += value
        G[i, i] += a
        G[j, j] += a
        G[i, j] -= a
        G[j, i] -= a
        G[l, l] += b
        G[k, k] += b
        G[l, k] -= b
        G[k, l] -= b
    return total
