"""Every tolerance, budget and tuned number of certificates: its unit, and why it has this value.

None of them decides whether a bound is valid: they decide what is tried and for how long. "Arithmetic" marks numbers
that follow from the precision of floats; the bounds allow for them. The others were chosen with
`benchmarks/certificates.py`, which reports gap and time of 74 problems.
"""

from __future__ import annotations

# --- what is tried, and in which order --------------------------------------------------------------------------------

GRAM_FEATURES = 1500
"""Features up to which the Gram matrix is made and searched, 18 MB: benchmarks/certificates.py."""
SEMIDEFINITE_FEATURES = 600
"""Features up to which the semidefinite dual is solved; a step is an n x n eigenproblem: benchmarks/certificates.py."""
SEMIDEFINITE_TOL = 1e-5
"""Relative gap at which the semidefinite dual stops; the bound holds at any time: benchmarks/certificates.py."""
SEMIDEFINITE_STEPS = 300
"""Steps of the semidefinite dual: benchmarks/certificates.py."""
SEMIDEFINITE_CHECK_STEPS = 10
"""Steps between two evaluations of its bound, which costs as much as a step: benchmarks/certificates.py."""
SURVIVORS = 4000
"""Features after one test up to which the next makes their Gram matrix, 128 MB: benchmarks/certificates.py."""
STEP_BY_STEP_MAX_K = 20
"""k up to which large data are certified feature by feature, k = 1, 2, 3, ...: benchmarks/certificates.py."""
STEP_BY_STEP_SHARE = 0.5
"""Share of the time that this may take: benchmarks/certificates.py."""
ROWS_FIRST_SHARE = 100
"""Features for each feature of k from which rows of X'X are bounded before its spectrum: benchmarks/certificates.py."""
CORE_FIRST_SHARE = 20
"""The same where a core of features can follow: not tuned."""
ROWS_MAX_SHARE = 4
"""Features for each feature of k below which bounds by rows of X'X are not tried: benchmarks/certificates.py."""
PENALTIES = 5
"""Penalties at which the dual in the scores is tried: benchmarks/certificates.py."""
HOPELESS_RATIO = 1.3
"""Multiple of the least bound above which the other penalties are not tried: benchmarks/certificates.py."""
HOPELESS_GAP = 3.0
"""Multiple of the least gap above which a rank ends the trial of larger ones: benchmarks/certificates.py."""
RANKS = (1, 2, 3, 4, 5, 6)
"""Ranks of the shifted low-rank bound; directions grow exponentially with the rank: benchmarks/certificates.py."""
FIRST_RANKS = 3
"""Ranks that are always tried, and the only ones in memory: benchmarks/certificates.py."""
RANK_MIN_FALL = 0.95
"""Ratio of following eigenvalues up to which a larger rank is tried: benchmarks/certificates.py."""
RANK_TOL = 1e-4
"""Relative gap at which the low-rank bound of large data stops: benchmarks/certificates.py."""
RANK_TIME, RANK_TIME_LARGE, LAST_RANK_TIME = 0.02, 0.1, 0.5
"""Shares of the time left for one rank: in memory, by products, and for the last one: benchmarks/certificates.py."""
THRESHOLD_TIME = 0.3
"""Share of the time left for the soft threshold, and for the semidefinite dual: benchmarks/certificates.py."""
SEARCH_TOL_SHARE = 10.0
"""The exact search closes nodes at this fraction of the tolerance, so that rounding fits into the rest: not tuned."""
VARIANCE_DUAL_PENALTY = 0.5
"""Penalty of the variance dual, as a multiple of the k-th largest variance: benchmarks/certificates.py."""
RELAXATION_TIME = 0.3
"""Share of the time left for the optimized dual in the scores: benchmarks/certificates.py."""
RELAXATION_REST = 0.6
"""Share of the time left for what remains of it after cheaper bounds, before the search: not tuned."""
LOW_RANK_TIME, STEPS_TIME = 0.3, 0.1
"""Shares of the time left that plans assume for the longer search of cones, and for a proof feature by feature: bounds
predicted to be faster come before them. Not tuned."""
URGENT_SHARE = 0.4
"""Share of the time left from which rows of X'X are read at once for few features, before other bounds leave no time
for them: not tuned."""
SPARSE_PRODUCT = 50.0
"""Operations that a multiplication of a sparse product takes as long as, for plans: not tuned."""
SPARSE_ROWS = 10.0
"""The same for a product of a sparse matrix and a dense one, for plans: not tuned."""
ROW_ENTRY = 100.0
"""Operations that selecting the largest entries takes as long as, for each entry of a row, for plans: not tuned."""
ROOT_OPERATIONS = 120.0
"""Operations for each coordinate of a column to find the roots of an evaluation, for plans: not tuned."""
DIRECTION_PRODUCTS = 12.0
"""Operations for each entry of a Gram matrix and each leading direction of it, for plans: not tuned."""
DIRECTION_MIN_WEIGHT = 0.05
"""Least weight of a column where leading directions are chosen: not tuned."""
CHECK_TIME, CHECK_LEVEL = 0.02, 0.01
"""Share of the time left above which checking a dual is costly, and level of the barrier from which it is checked in
any case: not tuned."""
SCORE_SEARCH_TIME, SCORE_SEARCH_FIRST_TIME = 0.4, 0.1
"""Shares of the time left for the search with the dual in memory before the bounds and the search by rows, without and
with a row dual to follow: not tuned."""
RELAXATION_EVALUATIONS = 60
"""Evaluations of the relaxation that plans assume; fifty are usual: benchmarks/certificates.py."""
CORE_FEATURES, CORE_SHARE, CORE_GROWTH = 200, 2.5, 1.6
"""Features of the first core, at least and for each feature of k, and the factor from one core to the next. HapMap3,
k = 20: 0.1 % with 200; HGDP, k = 100: 3.7 % with 250 and 1.5 % with 400: not tuned."""
CORES, CORE_MAX_FEATURES = 4, 1000
"""Cores that are tried, and features of one, at most; a step of its row dual is an n x n eigenproblem: not tuned."""
CORE_MAX_K = 500
"""k up to which a core is tried: half of its features: not tuned."""
CORE_RELAXATION_STEPS = 20
"""Steps of the semidefinite dual that the row dual of a core starts from; from 150 it is no better on Alon, Khan,
HapMap3 and HGDP: benchmarks/certificates.py."""
CORE_ROUNDS = 4
"""Row duals of one core, the first for k features, the others for as many as the bound hinges on: not tuned."""
CORE_TIME, CORE_ROUND_TIME = 0.5, 0.3
"""Shares of the time left for cores before other bounds have had theirs, and for one row dual: not tuned."""
CORE_LEAST_GAIN = 0.05
"""Share of the gap that a row dual must gain for the next one of the same core to be tried: not tuned."""
CORE_GRID = 24
"""Numbers of features for which row duals of a core are computed where the bound needs them; more follow from their
growth: not tuned."""
CORE_ROWS = 1000
"""Features outside of a core whose largest entries with each other are computed again: not tuned."""
CORE_EVALUATIONS = 100.0
"""Steps of the duals of a core that plans assume: not tuned."""
SEARCH_FIRST_FEATURES = 100
"""Features up to which the exact search comes before the optimized dual. 64 pixels of digits, k = 3 to 8: 0.1 to 0.3 s
instead of 0.4 to 4 s; k = 15 and 20 need the dual: benchmarks/certificates.py."""
SEARCH_FIRST_LEFT = 60
"""The same where an optimized dual left these features of more: it goes on well there: not tuned."""
SEARCH_FIRST_SHARE = 0.1
"""Share of the time left for an exact search that comes first and is followed by the dual: not tuned."""
SHRUNK = 0.8
"""Share of the features that must be left at most for bounds to be computed again on those alone: not tuned."""
SEARCH_SHARE = 0.5
"""Share of the time left for the exact search by rows, before that by the optimized dual: not tuned."""
SCORE_SEARCH_LENGTH = 1200
"""Length of columns up to which nodes are bounded by the optimized dual: not tuned."""
SCORE_COPIES = 4
"""Copies of all columns that such a search holds: counted, not tuned."""
CLIMB_STEPS = 30
"""Steps from a support that the relaxation points at to a better one: not tuned."""
PLAIN_DUALS = 5.0
"""Time of the duals that are not optimized relative to that of the spectrum, for plans: not tuned."""
MATRIX_SPEED = 2.0
"""Speed of products of large matrices relative to other work, for plans: not tuned."""
STEPS_POWER = 2.0
"""Power of the share of k that is certified up to which the share of the time used may grow; each step takes longer
than the one before, so that a proof that is behind will not arrive: not tuned."""
FLOPS = 1e10
"""Operations a second that plans assume, fewer than most machines do, so that plans end in time: not tuned."""

# --- spectra and bounds -----------------------------------------------------------------------------------------------

SPECTRUM_PAIRS = 40
"""Leading eigenpairs that the spectral bounds of large data use: benchmarks/certificates.py."""
SPECTRUM_SIDE = 6000
"""Smaller side of X up to which its square Gram matrix is made, 290 MB: limit of memory, not tuned."""
SPECTRUM_COPIES = 5
"""Matrices of that size that exist at once while the spectrum is proven: counted, not tuned."""
SPECTRUM_TOL = 1e-13
"""Arithmetic: relative residual of the leading pairs, near the rounding of products in float64."""
SPECTRUM_MIN_VALUE = 1e-9
"""Arithmetic: share of the largest eigenvalue below which a vector is rounding, and part of the rest."""
CHOLESKY_FACTORS = (1e-3, 1e-2, 0.05, 0.2, 1.0, 4.0)
"""Relative excess over an estimate of the largest eigenvalue at which Cholesky factorizations are tried: not tuned."""
CHOLESKY_START_TOL = 1e-6
"""Relative residual of that estimate, far below the first excess: not tuned."""
EIGENVALUE_SIDE = 1200
"""Side of a matrix up to which its largest eigenvalue is computed, not bounded: benchmarks/certificates.py."""
FROBENIUS_SHIFTS = 24
"""Values of the shift at which the Frobenius bound is evaluated: benchmarks/certificates.py."""
NODE_SHIFTS = 8
"""The same at each node of the exact search, where it is most of the work: benchmarks/certificates.py."""
THRESHOLD_GRID = 8
"""Levels of the soft threshold on the first, coarse grid: benchmarks/certificates.py."""
THRESHOLD_STEPS = 12
"""Golden sections of the level after that; the interval shrinks by 300: benchmarks/certificates.py."""
CORE_CLEAR = 1e-3
"""Arithmetic: share of a bound that a difference from it must exceed to be divided by."""
CORE_STEP, CORE_BISECTIONS = 1e-3, 12
"""First step, relative, of the search for the least value that what is outside of a core allows, and its halvings: the
value is found to 2.5e-7: not tuned."""
KEPT_ENTRIES = 8_000_000
"""Entries of the Gram matrix that are kept for the soft threshold, 200 MB: limit of memory, not tuned."""
KEPT_LEVEL = 0.5
"""Share of the mean variance of k features above which entries are kept; the best levels are from 0.65 to 0.95 of
it: benchmarks/certificates.py."""
THRESHOLD_LEVELS = 24
"""Levels of the soft threshold by blocks on the first grid: benchmarks/certificates.py."""
THRESHOLD_REFINEMENTS = 4
"""Halvings of the steps between these levels around the best: benchmarks/certificates.py."""
BLOCK_FEATURES = 2500
"""Features of a block up to which its largest eigenvalue is computed, 50 MB: benchmarks/certificates.py."""
ROWS_BYTES = 1 << 26
"""Bytes of the pieces of the Gram matrix that exist at a time: limit of memory, not tuned."""
CONE_MIN_EIGENVALUE = 1e-7
"""Arithmetic: least eigenvalue of the products of corners that is not rounding; narrower cones are not split."""
SCORE_LOADINGS_TOL = 1e-9
"""Relative residual of loadings whose scores define a dual; any direction gives a valid bound: not tuned."""
MAX_STRETCH = 1.001
"""Arithmetic: factor by which a term of the dual in the scores is raised to cover rounding, at most."""

RELAXATION_LEVELS = (0.1, 0.03, 0.01, 0.003, 0.001, 0.0003, 0.0001)
"""Levels of the barrier, as shares of the variance, one after the other: benchmarks/certificates.py."""
RELAXATION_NEAR_LEVELS = (0.01, 0.003, 0.001, 0.0003, 0.0001)
"""The same where a dual for other features or another k is the start: not tuned."""
RELAXATION_TOL = 0.01
"""Gain of a step, relative to the level, below which the next level begins: benchmarks/certificates.py."""
SCORE_CUTS = (0.5, 0.25, 0.0)
"""Shares of the expected penalty below which columns are left out at first: benchmarks/certificates.py."""
SCORE_CUT_SLACK = 1.05
"""Multiple of the longest column left out that the penalty must exceed, else more columns are used: not tuned."""
PLAIN_ROOTS_CALL = 20_000
"""Terms that take as long as the calls of NumPy themselves: counted on 61 features of digits."""
PLAIN_ROOTS = 1e8
"""Terms of sums for the relaxation that a process computes with NumPy before it compiles, two seconds: not tuned."""
RELAXATION_STEPS = 150
"""Steps of L-BFGS at one level of the barrier: benchmarks/certificates.py."""
RELAXATION_LEVEL_STEPS = 12
"""Steps, at most, to the penalties of groups; from those of the last matrix it takes about three: not tuned."""
RELAXATION_PENALTY_STEPS = 30
"""Values of the penalty tried to take k features in all: lines need about five, halving thirty: not tuned."""
RELAXATION_PENALTY_TOL = 1e-8
"""Relative gain of the relaxation below which the penalty is not improved: far below what a step gains, not tuned."""
RELAXATION_NEWTON_STEPS = 60
"""Steps of Newton for one eigenvalue, which converges quadratically: not tuned."""
DUAL_CLEAR = 20.0
"""Arithmetic: multiple of its rounding error that a difference must exceed to be divided by."""
DUAL_CHOLESKY_FACTORS = (1e-5, 1e-4, 1e-3, 1e-2, 0.05, 0.2, 1.0)
"""Relative excess over an estimate of l_1 at which Cholesky factorizations are tried for a dual: not tuned."""
SCORE_DIRECTIONS = 250
"""Leading directions of scores in which the relaxation has a matrix: benchmarks/certificates.py."""
MORE_DIRECTIONS = 600
"""The same where time is left after that: not tuned."""
SCORE_DIRECTIONS_TOL = 1e-3
"""Relative residual of these directions; any directions give a valid bound: not tuned."""
SCORE_MIN_VALUE = 1e-12
"""Arithmetic: share of the largest eigenvalue below which a direction of a factor is left out, and added instead."""
NODE_LEVELS = (0.01, 0.001)
"""Levels of the barrier at a node of the search with this relaxation, relative to the variance: not tuned."""
NODE_SHORT = 0.5
"""Share of the last penalty up to which columns are left out of the relaxation at a node: not tuned."""
NODE_STEPS = 10
"""Steps of L-BFGS at each of them: benchmarks/certificates.py."""

# --- bounds of several components -------------------------------------------------------------------------------------

JOINT_FEATURES = 600
"""Features up to which duals of several components are optimized; a step is an n x n eigenproblem: not tuned."""
SET_DUAL_TIME = 0.6
"""Share of the time left for one dual of several components: not tuned."""
SET_VIOLATION = 1e-8
"""Arithmetic: largest |cosine| of given loadings or scores that still count as orthogonal or uncorrelated."""
SET_THRESHOLDS = 12
"""Levels of the soft threshold of several components: tools/joint_bounds.py; not tuned."""
LEAST_START_LEVEL = 0.02
"""Share of the largest entry off the diagonal from which a dual starts, where no threshold is better: not tuned."""
SMOOTHINGS = (0.1, 0.03, 0.01, 0.003, 0.001)
"""Widths to which sums of largest values are smoothed, as shares of the largest: tools/joint_bounds.py; not tuned."""
ROW_DUAL_FEATURES = 600
"""Features up to which the row dual of one component is optimized; a step is an n x n eigenproblem: not tuned."""
ROW_DUAL_SMOOTHINGS = (1e-2, 3e-3, 1e-3, 3e-4, 1e-4)
"""Widths of smoothing for the row dual of one component, which starts near its best: not tuned."""
ROW_DUAL_UNIT = 5.0
"""Unit of the row dual, as a multiple of its first theta. 200 features of Khan, k = 50, after 1.5 s: gap 1.9 % at 0.1,
0.5 % at 1, 0.3 % at 3 and at 10: benchmarks/certificates.py."""
ROW_DUAL_STEPS = 60
"""Steps of L-BFGS at each of them. 200 features of Khan, k = 50: gap 0.19 % after 3 s; with 200 steps 0.12 % after 11;
of HapMap3, k = 20: 0.026 % after 4 s, and 0.015 % after 8: benchmarks/certificates.py."""
ROW_DUAL_LEAST_GAIN = 0.05
"""Share of the gap that a finer smoothing must gain for the next to be tried: not tuned."""
ROW_DUAL_TIME = 0.5
"""Share of the time left for the row dual, after the exact search: not tuned."""
SMOOTHED_STEPS = 40
"""Steps of L-BFGS at each smoothing: tools/joint_bounds.py; not tuned."""
SMOOTHED_RANGE = 20.0
"""Logarithms by which a positive parameter of a dual may move at one smoothing, far more than it does: not tuned."""
SMOOTHED_BISECTIONS = 40
"""Arithmetic: halvings of the interval of a level; the value that depends on it is of second order: not tuned."""
SMOOTHED_ENTRIES = 4
"""Entries for each feature of k among which the smoothed sum of the k largest is sought first: not tuned."""
RATIO_STARTS = (0.05, 0.1, 0.2, 0.4, 0.7)
"""Levels of the soft threshold from which the ratio bound starts, as shares of the largest entry: not tuned."""
RATIO_DESCENTS = 1
"""Starts from which it descends: tools/joint_bounds.py; not tuned."""
RATIO_ROOM = 1.3
"""Factor by which the first comparison exceeds the least that is at least A: not tuned."""
RATIO_BARRIER = 0.1
"""Weight of the barrier of the ratio bound, relative to the smoothing: not tuned."""

# --- the exact search -------------------------------------------------------------------------------------------------

PART_MAX_GAP = 1.5
"""Multiple of the least gap at the root up to which a part of A is used at the nodes: benchmarks/certificates.py."""
PLAIN_FEATURES = 20_000
"""Features of nodes, summed over nodes, that a process examines with NumPy before it compiles. Each takes 0.1 ms more
than compiled; loading machine code takes 1.3 s, making it 20 s: benchmarks/certificates.py."""
COLLINEAR = 1e-9
"""Arithmetic: 1 - cos^2 of the angle above which two features surely have different directions."""
EXCHANGE_LOSS = 1e-11
"""Arithmetic: share of the largest variance that exchanging a feature for a multiple of it may lose by rounding."""

# --- rounding ---------------------------------------------------------------------------------------------------------

CANCELED_NORM = 1e4
"""Arithmetic: ratio of terms to their difference above which squared norms are computed again from the columns."""
LOWER_SLACK = 1e-10
"""Arithmetic: relative amount by which a known variance is lowered before features are eliminated by it."""
FOUND_ROUNDING = 64.0
"""Arithmetic: multiple of the rounding of products that the variance must exceed for the default method to use them."""
CONTRADICTION = 1e-9
"""Arithmetic: relative excess of a variance over a bound that cannot be rounding, and is reported as an error."""
FORMED_ERROR = 1e-7
"""Arithmetic: error of a formed Gram matrix, relative to the variance of a component, above which X itself is used for
a proof: a tenth of the usual tolerance."""
