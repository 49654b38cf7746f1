"""Optimizers of SciPy and of the package cma on an objective, until it is 0 or the CPU time is over.

Starts are +-10^u of a uniform u from -3 to 5, and integers uniform over their type. All settings that are not named are the packages'
defaults. Restarts are independent.
"""

import random
import time
import warnings

warnings.filterwarnings("ignore", message="Could not import matplotlib")  # of cma, for plots

import cma
import numpy
import scipy.optimize

from blackbox import LIMITS

BOUND = 1e5  # of a floating-point coordinate for differential evolution, which needs one; all witnesses are within


class End(Exception):
    """The goal is met, or time is over."""


class Counted:
    """An objective that counts its calls, and ends a method by an exception."""

    def __init__(self, objective, seconds):
        self.objective, self.seconds = objective, seconds
        self.evaluations, self.solved, self.begun = 0, False, time.process_time()

    @property
    def spent(self):
        return time.process_time() - self.begun

    def __call__(self, x):
        self.evaluations += 1
        r = self.objective(x)
        if r == 0:
            self.solved = True
            raise End
        if self.evaluations % 64 == 0 and self.spent > self.seconds:
            raise End
        return r


def start(kinds, rng):
    one = lambda kind: rng.uniform(*LIMITS[kind]) if kind in LIMITS else rng.choice([-1, 1]) * 10 ** rng.uniform(-3, 5)
    return numpy.array([one(kind) for kind in kinds])


def lbfgsb(f, kinds, rng):
    scipy.optimize.minimize(f, start(kinds, rng), method="L-BFGS-B")


def basinhopping(f, kinds, rng):
    scipy.optimize.basinhopping(f, start(kinds, rng), rng=rng.getrandbits(32))


def coverme(f, kinds, rng):
    """CoverMe's settings: five rounds of basinhopping over Powell's method from each start."""
    scipy.optimize.basinhopping(f, start(kinds, rng), niter=5, minimizer_kwargs={"method": "Powell"}, rng=rng.getrandbits(32))


def cma_es(f, kinds, rng):
    """The population doubles from restart to restart. The method needs two coordinates at least."""
    padded = kinds if len(kinds) > 1 else [*kinds, "double"]
    x0 = start(padded, rng)
    options = {"verbose": -9, "seed": rng.getrandbits(31) + 1, "CMA_stds": list(0.3 * numpy.maximum(abs(x0), 1))}
    cma.fmin2(lambda x: f(x[: len(kinds)]), x0, 1.0, options, restarts=9, incpopsize=2)


def evolution(f, kinds, rng):
    bounds = [LIMITS.get(kind, (-BOUND, BOUND)) for kind in kinds]
    scipy.optimize.differential_evolution(f, bounds, maxiter=10**6, rng=rng.getrandbits(32))


METHODS = {"L-BFGS-B": lbfgsb, "basinhopping": basinhopping, "CoverMe": coverme, "CMA-ES": cma_es, "DE": evolution}


def run(method, objective, seconds, seed):
    """Restarts the method until the goal is met: (met, evaluations, CPU seconds)."""
    rng, f = random.Random(seed), Counted(objective, seconds)
    with warnings.catch_warnings(), numpy.errstate(all="ignore"):
        warnings.simplefilter("ignore")
        try:
            while f.spent < seconds:
                METHODS[method](f, objective.kinds, rng)
        except End:
            pass
    return f.solved, f.evaluations, f.spent
