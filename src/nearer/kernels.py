"""Compiled loops over comparisons.

The only module that imports Numba, and one file: Numba renews its disk cache when the file of a kernel changes, not
when a kernel it calls in another file does. A loss reaches a kernel as an integer code plus two numbers and is
chosen by an if/elif, which keeps the cache valid across processes. For a user's own loss, `with_formula` compiles the
same kernels around another scalar function. Kernels hold no state and draw no random numbers of their own: a stochastic
pass may be cut in two without changing its draws.

Conventions shared by all kernels
---------------------------------
index : ndarray of int32, shape (N, 3) or (N, 4), C-contiguous
    Three columns are ``i, j, k`` with ``l = i``.
scale : ndarray of float64, shape (N,) or (0,)
    Weights with mean one; empty where every comparison counts the same.
kind : int
param, lapse : float
    The loss, see `loss_terms`.
X : ndarray of float64, shape (n, d), C-contiguous
start, stop : int
    The rows start..stop - 1 of `index`.
seed, first, n_steps : int
    Steps first..first + n_steps - 1 of the draws of `seed`.
"""

from __future__ import annotations

import contextlib
import functools
import hashlib
import logging
import math
import pickle
import signal
import threading
from collections.abc import Callable, Iterator
from types import FunctionType, SimpleNamespace

import numpy as np
from llvmlite import ir
from numba import njit, types
from numba.core import cgutils, config, event
from numba.core.caching import FunctionCache, IndexDataCacheFile
from numba.core.dispatcher import Dispatcher
from numba.core.errors import NumbaError
from numba.extending import intrinsic

logger = logging.getLogger(__name__)

HINGE, CKL, STE, TSTE, SOE, SMOOTH_HINGE, SOFTPLUS = range(7)
_AT_ZERO = 1e-6  # keeps a distance differentiable where two objects coincide

# Enough freedom to vectorise sums; NaN and infinity keep their meaning, so divergence stays visible.
_OPTIONS = {"nogil": True, "error_model": "numpy", "fastmath": {"reassoc", "contract", "arcp", "nsz"}}
# A call that returns several numbers would prevent vectorisation.
_inlined = njit(inline="always", **_OPTIONS)
# What one kernel calls another with is `np.int64(0)` or `np.bool_(True)`: for a literal it would be compiled once more.

_TILE = 64  # comparisons whose losses full passes compute together
# Stochastic passes fetch comparisons 32 steps ahead, so that cache misses overlap, and prefetch their rows 4 ahead.
_AHEAD, _NEXT = 32, 4
# Full passes prefetch rows 8 comparisons ahead, if a map has more numbers than the caches of a core hold.
_NEXT_IN_FULL, _LARGE = 8, 1 << 18
SUFFICIENT, CURVATURE, MOST_TRIALS = 1e-4, 0.9, 25  # line search of L-BFGS: sufficient decrease, curvature, trials
_LOG2E = 1.4426950408889634
_LN2 = 0.6931471805599453


# ---- compiled once for all processes, where the disk allows it ----

_uncached = []  # the error, once it was reported
_sources = {}


class _CheckedFile(IndexDataCacheFile):
    """A cache file with a digest and its key.

    Processes that compile at the same time may give one file to two signatures; such code never runs, nor does damaged
    code.
    """

    def save(self, key, data):
        content = self._dump((key, data))
        super().save(key, hashlib.sha256(content).digest() + content)

    def load(self, key):
        found = super().load(key)
        if found is None:
            return None
        digest, content = found[:32], found[32:]
        if hashlib.sha256(content).digest() != digest:
            raise ValueError("damaged")
        owner, data = pickle.loads(content)
        return data if owner == key else None


class _Cache(FunctionCache):
    """Numba's cache on disk; where it fails, a kernel is compiled again."""

    def __init__(self, function):
        super().__init__(function)
        locator = self._impl.locator
        self._cache_file = _CheckedFile(self._cache_path, self._impl.filename_base, locator.get_source_stamp())

    def load_overload(self, sig, target_context):
        try:
            return super().load_overload(sig, target_context)
        except Exception as error:  # pickle and LLVM raise anything for damaged bytes
            logger.info("%s: cached code cannot be used (%r); compiling it again", self._name, error)
        with _reported():
            self.flush()
        return None

    def save_overload(self, sig, data):
        with _reported():
            super().save_overload(sig, data)


@contextlib.contextmanager
def _reported():
    """Warn, once per process, where compiled code cannot be kept."""
    try:
        yield
    except (RuntimeError, OSError) as error:  # no folder that can be written to, or a full disk
        if not _uncached:
            _uncached.append(error)
            logger.warning(
                "compiled code cannot be kept on this machine (%s), so every process spends some seconds compiling; "
                "set NUMBA_CACHE_DIR to a folder that can be written to",
                error,
            )


@contextlib.contextmanager
def _undisturbed():
    """Defer SIGINT during compilation; LLVM callbacks cannot be interrupted safely."""
    before = signal.getsignal(signal.SIGINT)
    if before is None or threading.current_thread() is not threading.main_thread():
        yield
        return
    pressed = []
    signal.signal(signal.SIGINT, lambda *_: pressed.append(True))
    try:
        yield
    finally:
        signal.signal(signal.SIGINT, before)
        for _ in pressed:
            signal.raise_signal(signal.SIGINT)


def _njit(function):
    """Compile a function on its first call, in this process alone."""
    kernel = njit(**_OPTIONS)(function)
    if isinstance(kernel, Dispatcher):  # not with NUMBA_DISABLE_JIT
        kernel.compile = _undisturbed()(kernel.compile)
    return kernel


def _jit(function):
    """Compile a kernel on its first call, or load it from the cache."""
    kernel = _njit(function)
    _sources[function.__name__] = function
    if isinstance(kernel, Dispatcher):
        with _reported():
            kernel._cache = _Cache(function)
    return kernel


# ---- exponential and logarithm as plain arithmetic, so that loops over them become vector instructions ----


@intrinsic
def _prefetch(typing_context, array, offset):
    """Prefetch the cache line of a C-contiguous float64 array at an offset counted in elements."""

    def codegen(context, builder, signature, args):
        data = context.make_array(signature.args[0])(context, builder, args[0]).data
        place = builder.bitcast(builder.gep(data, [args[1]]), ir.IntType(8).as_pointer())
        kind = ir.FunctionType(ir.VoidType(), [place.type, ir.IntType(32), ir.IntType(32), ir.IntType(32)])
        function = cgutils.get_or_insert_function(builder.module, kind, "llvm.prefetch.p0i8")
        builder.call(function, [place, *(ir.Constant(ir.IntType(32), v) for v in (1, 3, 1))])
        return context.get_dummy_value()

    return types.void(array, offset), codegen


if config.DISABLE_JIT:  # kernels as plain Python, to step through them or to have every index checked

    def _prefetch(array, offset):
        pass


@_jit
def _exp(x):
    """exp(x) for x <= 0, to about 1e-15 relative; below -708 it stays at exp(-708)."""
    x = max(x, -708.0)
    n = math.floor(x * _LOG2E + 0.5)
    r = x - n * _LN2
    # The series to r^13, summed by pairs: short chains, since a stochastic step waits for each of them.
    r2 = r * r
    r4 = r2 * r2
    low = (1.0 + r) + r2 * (0.5 + r * (1.0 / 6.0)) + r4 * (1.0 / 24.0 + r * (1.0 / 120.0))
    mid = (1.0 / 720.0 + r * (1.0 / 5040.0)) + r2 * (1.0 / 40320.0 + r * (1.0 / 362880.0))
    high = (1.0 / 3628800.0 + r * (1.0 / 39916800.0)) + r2 * (1.0 / 479001600.0 + r * (1.0 / 6227020800.0))
    p = low + r2 * r4 * (mid + r4 * high)
    # Adding 1.5 * 2^52 leaves n in the low bits; shifted up they are the exponent of 2^n.
    return p * np.int64((np.float64(n + 6755399441055744.0).view(np.int64) + 1023) << 52).view(np.float64)


@_jit
def _log(x):
    """log(x) for normal x > 0, to about 1e-15."""
    bits = np.float64(x).view(np.int64)
    n = (bits - 0x3FE6A09E667F3BCD) >> 52  # such that x / 2^n lies between sqrt(1/2) and sqrt(2)
    m = np.int64(bits - (n << 52)).view(np.float64)
    f = (m - 1.0) / (m + 1.0)
    g = f * f
    g2 = g * g
    g4 = g2 * g2
    low = (2.0 / 3.0 + g * (2.0 / 5.0)) + g2 * (2.0 / 7.0 + g * (2.0 / 9.0))
    high = (2.0 / 11.0 + g * (2.0 / 13.0)) + g2 * (2.0 / 15.0 + g * (2.0 / 17.0)) + g4 * (2.0 / 19.0 + g * (2.0 / 21.0))
    return n * _LN2 + f * (2.0 + g * (low + g4 * high))


# ---- losses: value, d value / d near, d value / d far; the formulas are in nearer.losses ----
# Free of branches, and `0 * (near + far)` makes a value NaN once a distance is not finite.


@_inlined
def _hinge(near, far):
    margin = 1.0 + near - far
    active = 1.0 if margin > 0.0 else 0.0
    return max(margin, 0.0) + 0.0 * (near + far), active, -active


@_inlined
def _ckl(delta, near, far):
    both = 1.0 / (near + far + 2.0 * delta)
    below = 1.0 / (far + delta)
    return _log((near + far + 2.0 * delta) * below) + 0.0 * (near + far), both, -(near + delta) * both * below


@_inlined
def _logistic(z):
    """log(1 + exp(z)) and its derivative."""
    e = _exp(-abs(z))
    s = 1.0 / (1.0 + e)
    return max(z, 0.0) + _log(1.0 + e), s if z >= 0.0 else s * e


@_inlined
def _ste(near, far):
    value, s = _logistic(near - far)
    return value + 0.0 * (near + far), s, -s


@_inlined
def _tste(alpha, near, far):
    h = 0.5 * (alpha + 1.0)
    by_near = 1.0 / (alpha + near)
    by_far = 1.0 / (alpha + far)
    value, s = _logistic(h * _log((alpha + near) * by_far))
    return value + 0.0 * (near + far), s * h * by_near, -s * h * by_far


@_inlined
def _soe(near, far):
    root_near = math.sqrt(near)
    root_far = math.sqrt(far)
    margin = max(1.0 + root_near - root_far, 0.0)
    d_near = margin / root_near if near > 0.0 else 0.0
    d_far = -margin / root_far if far > 0.0 else 0.0
    return margin * margin + 0.0 * (near + far), d_near, d_far


@_inlined
def _smooth_hinge(width, near, far):
    margin = max(1.0 + near - far, 0.0)
    slope = min(margin / width, 1.0)
    return slope * (margin - 0.5 * width * slope) + 0.0 * (near + far), slope, -slope


@_inlined
def _softplus(margin, near, far):
    root_near = math.sqrt(near + _AT_ZERO)
    root_far = math.sqrt(far + _AT_ZERO)
    value, s = _logistic(margin + root_near - root_far)
    return value + 0.0 * (near + far), 0.5 * s / root_near, -0.5 * s / root_far


@_inlined
def _with_lapses(lapse, value):
    """Minus the log of ``(1 - lapse) exp(-value) + lapse / 2``, and its derivative in the value."""
    known = (1.0 - lapse) * _exp(-value)
    either = known + 0.5 * lapse
    return 0.0 * value - _log(either), known / either


@_jit
def loss_terms(kind, param, lapse, near, far):
    """Value, d / d near, d / d far, with lapses if their rate is not 0."""
    value, d_near, d_far = _terms(kind, param, near, far)
    if lapse > 0.0:
        value, factor = _with_lapses(lapse, value)
        return value, factor * d_near, factor * d_far
    return value, d_near, d_far


@_jit
def _terms(kind, param, near, far):
    """Without lapses; param is delta (ckl), alpha (tste), width (smoothed hinge), margin (softplus)."""
    if kind == HINGE:
        return _hinge(near, far)
    if kind == CKL:
        return _ckl(param, near, far)
    if kind == STE:
        return _ste(near, far)
    if kind == TSTE:
        return _tste(param, near, far)
    if kind == SOE:
        return _soe(near, far)
    if kind == SOFTPLUS:
        return _softplus(param, near, far)
    return _smooth_hinge(param, near, far)


@_jit
def _half_power(x, twice):
    """x ** (twice / 2) for x > 0; by multiplication for whole `twice`, as for the default alpha of tste."""
    if twice > 128.0 or math.floor(twice) != twice:
        return math.exp(min(0.5 * twice * math.log(x), 700.0))
    count = np.int64(twice)
    result = math.sqrt(x) if count & 1 else 1.0
    count >>= 1
    while count > 0:
        if count & 1:
            result *= x
        x *= x
        count >>= 1
    return result


@_jit
def loss_slopes(kind, param, lapse, near, far):
    """The two derivatives of `loss_terms`, for single steps, where the library's exp and log have less latency."""
    if lapse > 0.0:
        _, d_near, d_far = loss_terms(kind, param, lapse, near, far)
        return d_near, d_far
    if kind == STE:
        s = 1.0 / (1.0 + math.exp(min(far - near, 700.0)))
        return s, -s
    if kind == TSTE:
        s = 0.5 * (param + 1.0) / (1.0 + _half_power((param + far) / (param + near), param + 1.0))
        return s / (param + near), -s / (param + far)
    _, d_near, d_far = _terms(kind, param, near, far)
    return d_near, d_far


@_inlined
def _put(q, terms, value, a, b, slopes):
    """Store value and slopes of entry q; if `slopes` is None, the compiler omits the slopes."""
    value[q] = terms[0]
    if slopes is not None:
        a[q] = terms[1]
        b[q] = terms[2]


@_jit
def tile_terms(kind, param, lapse, a, b, value, n, slopes):
    """`loss_terms` of the first n entries: a and b hold near and far, then the slopes unless `slopes` is None."""
    # One loop for each loss, and in place: with more arrays the loops would not be vectorised.
    if kind == HINGE:
        for q in range(n):
            _put(q, _hinge(a[q], b[q]), value, a, b, slopes)
    elif kind == CKL or (kind == TSTE and param == 1.0):  # with one degree of freedom these are the same
        for q in range(n):
            _put(q, _ckl(param, a[q], b[q]), value, a, b, slopes)
    elif kind == STE:
        for q in range(n):
            _put(q, _ste(a[q], b[q]), value, a, b, slopes)
    elif kind == TSTE:
        for q in range(n):
            _put(q, _tste(param, a[q], b[q]), value, a, b, slopes)
    elif kind == SOE:
        for q in range(n):
            _put(q, _soe(a[q], b[q]), value, a, b, slopes)
    elif kind == SOFTPLUS:
        for q in range(n):
            _put(q, _softplus(param, a[q], b[q]), value, a, b, slopes)
    else:
        for q in range(n):
            _put(q, _smooth_hinge(param, a[q], b[q]), value, a, b, slopes)
    if lapse > 0.0:
        for q in range(n):
            value[q], factor = _with_lapses(lapse, value[q])
            if slopes is not None:
                a[q] *= factor
                b[q] *= factor


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
def _prefetch_ends(rows, index, p):
    """Prefetch both ends of the rows of triplet p, hence whole rows of up to about ten numbers."""
    length = rows.shape[1]
    for e in range(3):
        start = index[p, e] * length
        _prefetch(rows, start)
        _prefetch(rows, start + length - 1)


@_jit
def squared_distances(index, X, start, near, far):
    """Squared distances of the comparisons from start on, written to near and far, float64 of one length."""
    n = near.shape[0]
    if index.shape[1] == 3:
        fetched = index.shape[0] - _NEXT_IN_FULL if X.size > _LARGE else 0
        for q in range(n):
            if start + q < fetched:
                _prefetch_ends(X, index, start + q + _NEXT_IN_FULL)
            i, j, k = index[start + q, 0], index[start + q, 1], index[start + q, 2]
            near_sum = 0.0
            far_sum = 0.0
            for c in range(X.shape[1]):
                u = X[i, c] - X[j, c]
                v = X[i, c] - X[k, c]
                near_sum += u * u
                far_sum += v * v
            near[q] = near_sum
            far[q] = far_sum
    else:
        for q in range(n):
            i, j, l, k = _objects(index, start + q)  # noqa: E741
            near[q], far[q] = _squared_distances(X, i, j, l, k)


@_jit
def _tile_gradient(index, X, start, n, d_near, d_far, G):
    """Add to G (n, d) the gradient of n comparisons from start on, given their slopes."""
    if index.shape[1] == 3:
        fetched = index.shape[0] - _NEXT_IN_FULL if X.size > _LARGE else 0
        for q in range(n):
            if start + q < fetched:
                _prefetch_ends(G, index, start + q + _NEXT_IN_FULL)
            a = 2.0 * d_near[q]
            b = 2.0 * d_far[q]
            if a == 0.0 and b == 0.0:
                continue
            i, j, k = index[start + q, 0], index[start + q, 1], index[start + q, 2]
            for c in range(X.shape[1]):
                u = a * (X[i, c] - X[j, c])
                v = b * (X[i, c] - X[k, c])
                G[i, c] += u + v
                G[j, c] -= u
                G[k, c] -= v
    else:
        for q in range(n):
            a = 2.0 * d_near[q]
            b = 2.0 * d_far[q]
            i, j, l, k = _objects(index, start + q)  # noqa: E741
            for c in range(X.shape[1]):
                u = a * (X[i, c] - X[j, c])
                v = b * (X[l, c] - X[k, c])
                G[i, c] += u
                G[j, c] -= u
                G[l, c] += v
                G[k, c] -= v


@_jit
def value_block(index, scale, kind, param, lapse, X, start, stop):
    """Sum of the scaled losses of the comparisons start..stop - 1."""
    nothing = np.empty(0)
    return gradient_block(index, scale, kind, param, lapse, X, start, stop, None, nothing, nothing)


@_jit
def gradient_block(index, scale, kind, param, lapse, X, start, stop, G, d_near, d_far):
    """As `value_block`; adds the gradient to G (n, d), unless None, and stores slopes in d_near, d_far unless empty."""
    total = 0.0
    weighted = scale.shape[0] > 0
    keep = d_near.shape[0] > 0
    value, a, b = np.empty(_TILE), np.empty(_TILE), np.empty(_TILE)
    for t in range(start, stop, _TILE):
        n = min(_TILE, stop - t)
        squared_distances(index, X, t, a[:n], b[:n])
        tile_terms(kind, param, lapse, a, b, value, n, np.bool_(True))
        if weighted:
            for q in range(n):
                value[q] *= scale[t + q]
                a[q] *= scale[t + q]
                b[q] *= scale[t + q]
        for q in range(n):
            total += value[q]
        if keep:
            for q in range(n):
                d_near[t + q] = a[q]
                d_far[t + q] = b[q]
        if G is not None:
            _tile_gradient(index, X, t, n, a, b, G)
    return total


@_jit
def _dot(a, b):
    total = 0.0
    for q in range(a.shape[0]):
        total += a[q] * b[q]
    return total


@_jit
def _add(to, factor, vector):
    for q in range(to.shape[0]):
        to[q] += factor * vector[q]


@_jit
def _copy(to, vector):
    # A loop: assigning to a slice would compile the message of an error, which takes a second.
    for q in range(to.shape[0]):
        to[q] = vector[q]


@_jit
def _mean_gradient(index, scale, kind, param, lapse, X, G):
    """Mean scaled loss of all comparisons; its gradient is written to G (n, d)."""
    n = index.shape[0]
    nothing = np.empty(0)
    G[:] = 0.0
    first = np.int64(0)
    value = gradient_block(index, scale, kind, param, lapse, X, first, n, G, nothing, nothing) / n
    G /= n
    return value


@_jit
def descend(index, scale, kind, param, lapse, X, least, patience, memory, most):
    """L-BFGS of `nearer.solvers.lbfgs` in one call, X in place, until `patience` iterations gain at most `least`."""
    size = X.size
    here = X.reshape(size)
    tried, tried_gradient = np.empty(X.shape), np.empty(X.shape)
    new, new_gradient = np.empty(size), np.empty(size)
    direction = np.empty(size)
    S, Y = np.empty((memory, size)), np.empty((memory, size))
    rho, a = np.empty(memory), np.empty(memory)
    values = np.empty(most + 1)
    count, newest = 0, -1

    value = _mean_gradient(index, scale, kind, param, lapse, X, tried_gradient)
    gradient = tried_gradient.reshape(size).copy()
    evaluations = 1
    values[0] = value
    length = math.sqrt(_dot(gradient, gradient))
    trial = 1e-2 * max(math.sqrt(_dot(here, here)), 1e-3) / length if length > 0.0 else 1.0
    iteration = 0
    while iteration < most and length > 0.0:
        _copy(direction, gradient)
        for back in range(count):
            q = (newest - back) % memory
            a[q] = rho[q] * _dot(S[q], direction)
            _add(direction, -a[q], Y[q])
        if count > 0:
            direction /= rho[newest] * _dot(Y[newest], Y[newest])
        for back in range(count - 1, -1, -1):
            q = (newest - back) % memory
            _add(direction, a[q] - rho[q] * _dot(Y[q], direction), S[q])
        direction *= -1.0
        slope = _dot(direction, gradient)
        if not slope < 0.0:  # lost curvature: start again from the gradient
            count = 0
            _copy(direction, -gradient)
            slope = -length * length
        low, high, step, new_value = 0.0, np.inf, 0.0, value
        for used in range(1, MOST_TRIALS + 1):
            flat = tried.reshape(size)
            _copy(flat, here)
            _add(flat, trial, direction)
            tried_value = _mean_gradient(index, scale, kind, param, lapse, tried, tried_gradient)
            evaluations += 1
            if not tried_value <= value + SUFFICIENT * trial * slope:
                high = trial
            else:
                step, new_value = trial, tried_value
                _copy(new, flat)
                _copy(new_gradient, tried_gradient.reshape(size))
                if _dot(new_gradient, direction) >= CURVATURE * slope:
                    break
                low = trial
            trial = 0.5 * (low + high) if high < np.inf else 2.0 * trial
            if step > 0.0 and used >= MOST_TRIALS // 4:
                break
        if step == 0.0:
            if count == 0:
                break
            count = 0
            trial = 1e-2 * math.sqrt(_dot(here, here)) / max(length, 1e-300)
            continue
        trial = 1.0
        curvature, squared = 0.0, 0.0
        for q in range(size):
            y = new_gradient[q] - gradient[q]
            curvature += (new[q] - here[q]) * y
            squared += y * y
        if curvature > 1e-14 * squared:
            newest = (newest + 1) % memory
            _copy(S[newest], new - here)
            _copy(Y[newest], new_gradient - gradient)
            rho[newest] = 1.0 / curvature
            count = min(count + 1, memory)
        _copy(here, new)
        _copy(gradient, new_gradient)
        value = new_value
        length = math.sqrt(_dot(gradient, gradient))
        iteration += 1
        values[iteration] = value
        if iteration >= patience and not values[iteration - patience] - value > least:
            break
    return value, evaluations


@_jit
def weighted_distances(index, X, W, person, start, near, far):
    """As `squared_distances`, with axis weights W (n_people, d); person (N,), int32, is who answered."""
    for q in range(near.shape[0]):
        i, j, l, k = _objects(index, start + q)  # noqa: E741
        p = person[start + q]
        near_sum = 0.0
        far_sum = 0.0
        for c in range(X.shape[1]):
            u = X[i, c] - X[j, c]
            v = X[l, c] - X[k, c]
            near_sum += W[p, c] * u * u
            far_sum += W[p, c] * v * v
        near[q] = near_sum
        far[q] = far_sum


@_jit
def weighted_gradient_block(index, scale, kind, param, lapse, X, W, person, start, stop, G, H):
    """As `gradient_block` at weighted distances: adds the gradients in X to G (n, d), in W to H (n_people, d)."""
    total = 0.0
    weighted = scale.shape[0] > 0
    value, a, b = np.empty(_TILE), np.empty(_TILE), np.empty(_TILE)
    for t in range(start, stop, _TILE):
        n = min(_TILE, stop - t)
        weighted_distances(index, X, W, person, t, a[:n], b[:n])
        tile_terms(kind, param, lapse, a, b, value, n, np.bool_(True))
        for q in range(n):
            s = scale[t + q] if weighted else 1.0
            total += s * value[q]
            i, j, l, k = _objects(index, t + q)  # noqa: E741
            p = person[t + q]
            for c in range(X.shape[1]):
                u = X[i, c] - X[j, c]
                v = X[l, c] - X[k, c]
                H[p, c] += s * (a[q] * u * u + b[q] * v * v)
                u *= 2.0 * s * a[q] * W[p, c]
                v *= 2.0 * s * b[q] * W[p, c]
                G[i, c] += u
                G[j, c] -= u
                G[l, c] += v
                G[k, c] -= v
    return total


@_jit
def satisfied_block(index, scale, X, start, stop):
    """Scaled count of the comparisons start..stop - 1 with near < far (ties and NaN are not satisfied)."""
    total = 0.0
    weighted = scale.shape[0] > 0
    for p in range(start, stop):
        i, j, l, k = _objects(index, p)  # noqa: E741
        near, far = _squared_distances(X, i, j, l, k)
        if near < far:
            total += scale[p] if weighted else 1.0
    return total


@_jit
def _prefetch_rows(rows, length, objects, q):
    """Prefetch the rows (each `length` numbers long) of the objects of step q."""
    for e in range(4):
        if e != 2 or objects[q, 2] != objects[q, 0]:
            start = objects[q, e] * length
            for offset in range(0, length, 8):
                _prefetch(rows, start + offset)


@_jit
def svrg_pass(index, scale, kind, param, lapse, rows, d_near, d_far, step, seed, first, n_steps):
    """Inner SVRG steps at O(d) a step, whatever the number of objects; returns r, how many were variance-reduced.

    A step is ``X -= step * (grad f_p(X) - grad f_p(S) + g)``, or ``X -= step * grad f_p(X)`` where the slopes d_near,
    d_far (N,) at S are NaN: not covered. The dense term g is never applied here: the kernel has ``Z = X + r * step *
    g``, which changes only in the rows of the comparison. ``rows`` (n, 3, d) holds X (Z at the end), g and S side by
    side.
    """
    reduced = 0
    n = index.shape[0]
    n_components = rows.shape[2]
    weighted = scale.shape[0] > 0
    near_diff = np.empty(n_components)
    far_diff = np.empty(n_components)
    objects = np.empty((_AHEAD, 4), dtype=np.int64)
    slopes = np.empty((_AHEAD, 3))
    for t0 in range(0, n_steps, _AHEAD):
        n_fetched = min(_AHEAD, n_steps - t0)
        for q in range(n_fetched):
            p = draw(seed, first + t0 + q, n)
            objects[q, 0], objects[q, 1], objects[q, 2], objects[q, 3] = _objects(index, p)
            slopes[q, 0] = d_near[p]
            slopes[q, 1] = d_far[p]
            slopes[q, 2] = scale[p] if weighted else 1.0
        for q in range(n_fetched):
            if q + _NEXT < n_fetched:
                _prefetch_rows(rows, 3 * n_components, objects, q + _NEXT)
            i, j, l, k = objects[q, 0], objects[q, 1], objects[q, 2], objects[q, 3]  # noqa: E741
            shift = step * reduced
            near = 0.0
            far = 0.0
            for c in range(n_components):
                u = rows[i, 0, c] - rows[j, 0, c] - shift * (rows[i, 1, c] - rows[j, 1, c])
                v = rows[l, 0, c] - rows[k, 0, c] - shift * (rows[l, 1, c] - rows[k, 1, c])
                near_diff[c] = u
                far_diff[c] = v
                near += u * u
                far += v * v
            a, b = loss_slopes(kind, param, lapse, near, far)
            a *= 2.0 * step * slopes[q, 2]
            b *= 2.0 * step * slopes[q, 2]
            a0 = 2.0 * step * slopes[q, 0]
            b0 = 2.0 * step * slopes[q, 1]
            if math.isnan(a0):
                a0 = b0 = 0.0
            else:
                reduced += 1
            if a == 0.0 and b == 0.0 and a0 == 0.0 and b0 == 0.0:
                continue
            if i == l:
                for c in range(n_components):
                    u = a * near_diff[c] - a0 * (rows[i, 2, c] - rows[j, 2, c])
                    v = b * far_diff[c] - b0 * (rows[i, 2, c] - rows[k, 2, c])
                    rows[i, 0, c] -= u + v
                    rows[j, 0, c] += u
                    rows[k, 0, c] += v
            else:
                for c in range(n_components):
                    u = a * near_diff[c] - a0 * (rows[i, 2, c] - rows[j, 2, c])
                    v = b * far_diff[c] - b0 * (rows[l, 2, c] - rows[k, 2, c])
                    rows[i, 0, c] -= u
                    rows[j, 0, c] += u
                    rows[l, 0, c] -= v
                    rows[k, 0, c] += v
    return reduced


@_jit
def sgd_pass(index, scale, kind, param, lapse, X, step, decay, power, seed, first, n_steps):
    """Plain stochastic steps on X, in place; step t of the run has size ``step / (1 + decay * t) ** power``.

    The power is 1; as an argument it keeps the rounding, and so the bits, of earlier maps.
    """
    n = index.shape[0]
    weighted = scale.shape[0] > 0
    for t in range(first, first + n_steps):
        p = draw(seed, t, n)
        i, j, l, k = _objects(index, p)  # noqa: E741
        near, far = _squared_distances(X, i, j, l, k)
        a, b = loss_slopes(kind, param, lapse, near, far)
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
def adagrad_pass(index, scale, kind, param, lapse, rows, step, seed, first, n_steps):
    """AdaGrad steps in place; returns the sum of losses. The last column of rows (n, d + 1) sums squared gradients."""
    n = index.shape[0]
    total = 0.0
    n_components = rows.shape[1] - 1
    weighted = scale.shape[0] > 0
    objects = np.empty((_AHEAD, 4), dtype=np.int64)
    weights = np.ones(_AHEAD)
    for t0 in range(0, n_steps, _AHEAD):
        n_fetched = min(_AHEAD, n_steps - t0)
        for q in range(n_fetched):
            p = draw(seed, first + t0 + q, n)
            objects[q, 0], objects[q, 1], objects[q, 2], objects[q, 3] = _objects(index, p)
            if weighted:
                weights[q] = scale[p]
        for q in range(n_fetched):
            if q + _NEXT < n_fetched:
                _prefetch_rows(rows, n_components + 1, objects, q + _NEXT)
            i, j, l, k = objects[q, 0], objects[q, 1], objects[q, 2], objects[q, 3]  # noqa: E741
            near = 0.0
            far = 0.0
            for c in range(n_components):
                u = rows[i, c] - rows[j, c]
                v = rows[l, c] - rows[k, c]
                near += u * u
                far += v * v
            value, a, b = loss_terms(kind, param, lapse, near, far)
            total += value * weights[q]
            a *= 2.0 * weights[q]
            b *= 2.0 * weights[q]
            near_pull = a * a * near
            far_pull = b * b * far
            if near_pull == 0.0 and far_pull == 0.0:
                continue
            rows[i, n_components] += near_pull
            rows[j, n_components] += near_pull
            rows[l, n_components] += far_pull
            rows[k, n_components] += far_pull
            at_i = step / math.sqrt(rows[i, n_components] + 1e-300)
            at_j = step / math.sqrt(rows[j, n_components] + 1e-300)
            at_l = step / math.sqrt(rows[l, n_components] + 1e-300)
            at_k = step / math.sqrt(rows[k, n_components] + 1e-300)
            for c in range(n_components):
                u = a * (rows[i, c] - rows[j, c])
                v = b * (rows[l, c] - rows[k, c])
                rows[i, c] -= at_i * u
                rows[j, c] += at_j * u
                rows[l, c] -= at_l * v
                rows[k, c] += at_k * v
    return total


@_jit
def best_places(index, scale, kind, param, lapse, X, offsets, rows, order, places, least):
    """Coordinate descent on a 1-D map (n, 1), in place: move each object in turn to the candidate of lowest loss.

    The comparisons of object o are ``rows[offsets[o]:offsets[o + 1]]``, the candidates `places` (n_places, 1); it moves
    if that lowers the sum of its scaled losses by more than `least`. Returns how many moved.
    """
    weighted = scale.shape[0] > 0
    most = 0
    for o in order:
        most = max(most, offsets[o + 1] - offsets[o])
    # Separate arrays, not rows of one, so that the loops are vectorised.
    near_fixed, near_moves, near_other = np.empty(most), np.empty(most), np.empty(most)
    far_fixed, far_moves, far_other = np.empty(most), np.empty(most), np.empty(most)
    near, far, value, weight = np.empty(most), np.empty(most), np.empty(most), np.ones(most)
    moved = 0
    for o in order:
        n = offsets[o + 1] - offsets[o]
        for r in range(n):
            p = rows[offsets[o] + r]
            i, j, l, k = _objects(index, p)  # noqa: E741
            near_fixed[r], near_moves[r], near_other[r] = _pair_without(X, o, i, j)
            far_fixed[r], far_moves[r], far_other[r] = _pair_without(X, o, l, k)
            if weighted:
                weight[r] = scale[p]
        best, stay, lowest = -1, 0.0, 0.0
        for q in range(-1, places.shape[0]):  # first its own position
            place = X[o, 0] if q < 0 else places[q, 0]
            _distances_from(place, near_fixed, near_moves, near_other, n, near)
            _distances_from(place, far_fixed, far_moves, far_other, n, far)
            tile_terms(kind, param, lapse, near, far, value, n, None)
            total = 0.0
            for r in range(n):
                total += weight[r] * value[r]
            if q < 0:
                stay = lowest = total
            elif total < lowest:
                best, lowest = q, total
        if lowest < stay - least:
            moved += 1
            X[o, 0] = places[best, 0]
    return moved


@_jit
def _pair_without(X, o, i, j):
    """For a pair on a line: squared distance (0 if object o is in it), whether o is in it, position of the other."""
    if (i == o) == (j == o):
        return (X[i, 0] - X[j, 0]) ** 2, 0.0, X[i, 0]
    return 0.0, 1.0, X[j, 0] if i == o else X[i, 0]


@_jit
def _distances_from(place, fixed, moves, other, n, out):
    """Squared distances of n pairs on a line when the moving object is at a given position."""
    for r in range(n):
        out[r] = fixed[r] + moves[r] * (place - other[r]) ** 2


@_jit
def gram_block(index, scale, kind, param, lapse, K, start, stop, G, slopes):
    """As `gradient_block` at a Gram matrix K (n, n), with G (n, n); slopes (N,) receive d / d near, not scaled."""
    total = 0.0
    weighted = scale.shape[0] > 0
    for p in range(start, stop):
        i, j, l, k = _objects(index, p)  # noqa: E741
        near = K[i, i] + K[j, j] - 2.0 * K[i, j]
        far = K[l, l] + K[k, k] - 2.0 * K[l, k]
        value, a, b = loss_terms(kind, param, lapse, near, far)
        slopes[p] = a
        if weighted:
            value *= scale[p]
            a *= scale[p]
            b *= scale[p]
        total += value
        for u, v, slope in ((i, j, a), (l, k, b)):
            G[u, u] += slope
            G[v, v] += slope
            G[u, v] -= slope
            G[v, u] -= slope
    return total


def check_inside(index, n_objects):
    """Refuse comparisons of objects that a map does not have: compiled loops would read out of bounds."""
    if index.size and index.view(np.uint32).max() >= n_objects:  # negative numbers are large unsigned ones
        worst = int(index.min()) if index.min() < 0 else int(index.max())
        raise ValueError(
            f"comparisons: got object {worst:,}, expected 0 to {n_objects - 1:,}; "
            "were they changed after they had been checked?"
        )


@functools.cache
def with_formula(formula):
    """The kernels of this module for a formula ``(near, far, param) -> value, d_near, d_far``.

    `kind` and `lapse` are ignored.
    """
    own = _njit(getattr(formula, "py_func", formula))
    try:
        answer = own(1.0, 2.0, 1.0)
    except NumbaError as error:
        raise ValueError(
            f"formula: Numba cannot compile it ({error}); use only scalars and the functions of math"
        ) from error
    if not isinstance(answer, tuple) or len(answer) != 3:
        raise ValueError(f"formula: got {answer!r} at (1.0, 2.0, 1.0), expected three numbers: value, d_near, d_far")

    def _terms(kind, param, near, far):
        return own(near, far, param)

    def tile_terms(kind, param, lapse, a, b, value, n, slopes):
        for q in range(n):
            _put(q, own(a[q], b[q], param), value, a, b, slopes)

    names = dict(globals())
    swapped = {function.__name__: function for function in (_terms, tile_terms)}
    for name, source in _sources.items():
        if "kind" in source.__code__.co_varnames:
            # The same source; the names in it are looked up here instead of in the module.
            names[name] = _njit(swapped.get(name) or FunctionType(source.__code__, names, name))
    return SimpleNamespace(**names)


@functools.cache
def _log_compilation() -> None:
    # A warning, since without logging set up, as in a notebook, lower levels are not shown.
    logger.warning("compiling the inner loops for this machine, once: some seconds")


_tellers: list[Callable[[], None]] = [_log_compilation]  # the last one is called


class _Compilations(event.Listener):
    """Reports that Numba begins to compile a kernel of ours."""

    def on_start(self, started: event.Event) -> None:
        if started.data["dispatcher"].py_func.__module__ == __name__:  # others may use Numba too
            _tellers[-1]()

    def on_end(self, _ended: event.Event) -> None:
        pass


event.register("numba:compile", _Compilations())


@contextlib.contextmanager
def while_compiling(tell: Callable[[], None]) -> Iterator[None]:
    """Call `tell` once, instead of the log, if a block compiles kernels that are not in the disk cache."""
    _tellers.append(functools.cache(tell))
    try:
        yield
    finally:
        _tellers.pop()
