"""Every tolerance, budget and tuned number of the algorithm: its unit, and why it has this value.

`benchmarks/budgets.py` runs the algorithm with each number as it is, halved and doubled, and writes variance, time and
passes to `benchmarks/results/budgets.csv`. Modules read `budgets.NAME` when they run, so that it can replace them.
"Arithmetic" marks numbers that follow from the precision of floats or from a formula; these are not tuned.
"""

from __future__ import annotations

import numpy as np

# --- defaults of the options ------------------------------------------------------------------------------------------

DRAWS = 16
"""Draws of stage 2. Polishing takes the most promising ones only, so more change little: benchmarks/budgets.py."""
MAX_ITER = 1000
"""Steps of stage 1. A limit that no data set reaches at the default tolerance: benchmarks/budgets.py."""
TOL = 1e-7
"""Relative gain of variance at which iterations stop; refits make up for what is left: benchmarks/budgets.py."""
PROJECTED_TOL = 1e-10
"""Relative change at which solver="projected" stops; the paper's table needs it: experiments/table1.py; not tuned."""

# --- the sketch, and stage 1 on it ------------------------------------------------------------------------------------

SKETCH_MIN_ENTRIES = 10**6
"""Entries of X above which iterations run on a sketch of X, not on X itself: benchmarks/budgets.py."""
SKETCH_ROWS = 40
"""Rows of a sketch at most. More cost memory and time for each step, fewer cost passes: benchmarks/budgets.py."""
SKETCH_ENTRIES = 2**23
"""Entries of a sketch at which it has fewer rows, 64 MB; no data set of the benchmarks is as wide: not tuned."""
SKETCH_MIN_ROWS = 16
"""Rows of a sketch however many features there are: not tuned."""
SKETCH_FIRST_ROWS = 10
"""Directions of the first block for several components, and two more for each of them: benchmarks/budgets.py."""
SKETCH_COLUMN_STEP = 32
"""Columns of X for each column from which the first rows are computed: benchmarks/budgets.py."""
SKETCH_MIN_COLUMNS = 512
"""Columns from which the first rows are computed, at least: benchmarks/budgets.py."""
SKETCH_POWER_STEPS = 2
"""Block power steps on these columns: benchmarks/budgets.py."""
SKETCH_START_NOISE = 0.5
"""Standard deviation, relative to each entry, of the noise in the first vector: benchmarks/budgets.py."""
SKETCH_RESIDUAL = 0.05
"""Relative residual at which the leading direction of the sketch is one of X: benchmarks/budgets.py."""
SKETCH_RESIDUAL_FIRST = 5e-3
"""The same for a first component of more than POOL_MAX_K features. With 0.05, 5 % of 37,493 simulated SNPs have 0.35 %
less variance and take two products with X less. For later components too, ten of HapMap3 take 5 to 10 % more time and
have no more variance: benchmarks/budgets.py."""
SKETCH_CLOSE_VARIANCE = 0.7
"""Share of the largest variance from which a direction is a start of its own: benchmarks/budgets.py."""
SKETCH_MAX_DIRECTIONS = 2
"""Directions that are starts, at most. With 6, ten components of 1 or 5 % of Classic-2, HapMap3 and Chowdary's data
have the same variance to 1e-5, and those of Classic-2 take a sixth more time: benchmarks/budgets.py."""
PROMISING_DIRECTIONS = 8
"""Directions, at most, among which the one is sought that promises most variance with k features: their number costs
little time. Without it, 1 % of HGDP Europeans, scaled, have less variance than other methods find, and 52 % more with
it: benchmarks/quality.py."""
FEW_SAMPLES = 256
"""Samples up to which a sketch begins with the leading directions of XX'. Where they are learned from products, 2 and
5 % of HGDP Europeans, scaled, have less variance than other methods find: benchmarks/quality.py."""
FEW_SAMPLES_ROWS = 16
"""Rows of a sketch that these directions are. With 32, ten components take a fifth more time and have no more variance;
with 8, one component of 0.6 % of HGDP Europeans has 4e-4 less: not tuned otherwise."""
FEW_SAMPLES_BYTES = 2**22
"""Bytes of the columns, in float64, whose products are added up to XX' at a time, in cache: not tuned."""
FEW_SAMPLES_IMAGE_BYTES = 2**25
"""Bytes of X'E, E some columns of the identity, from which XX' is made where columns are not read alone: limit of
memory. Not tuned."""
FEW_SAMPLES_FEATURES = 2**20
"""Features up to which XX' is made; for more of them it takes many products, or much memory: not tuned."""
SKETCH_STEPS = 12
"""Steps on the sketch between two products with X: benchmarks/budgets.py."""
SKETCH_STEP_TOL = 3.0
"""Multiple of the tolerance at which steps on the sketch stop; they are cheap. With 10, one component of 20 % of 37,493
simulated SNPs takes two more products with X and has 2e-6 less variance: benchmarks/budgets.py."""
SKETCH_FIRST_TOL = 1e-5
"""Relative gain at which the first steps stop, when the sketch is still inaccurate: benchmarks/budgets.py."""
SKETCH_GAIN_TOL = 100.0
"""Multiple of the tolerance: stage 1 stops when a product with X gains less: benchmarks/budgets.py."""
SKETCH_GAIN_TOL_LATER = 3000.0
"""The same for components after the first, which depend on those before them anyway: benchmarks/budgets.py."""
SKETCH_PRODUCTS_FEW = 2
"""Products with X for the leading direction, and again for stage 1, where k is at most POOL_MAX_K, at most:
benchmarks/budgets.py."""
SKETCH_GAIN_TOL_FEW = 1e5
"""The same where k is at most POOL_MAX_K, and a search in a pool follows: benchmarks/budgets.py."""
SKETCH_SPAN_ROUNDING = 1e-10
"""Arithmetic: share of the largest squared length below which a direction is left out of a basis; what is left of it
has lost ten digits of sixteen."""
SKETCH_ONCE_SHARE = 0.1
"""Arithmetic: share of the length of scores that must be new for them to be made orthogonal once, not twice: one digit
is lost."""
SKETCH_DIFFERENCE_DIGITS = 2 / 3
"""Arithmetic: share of the digits up to which new scores may cancel; below, their row is a product of its own."""
SKETCH_ROW_ERROR = 1e-2
"""Relative variance that a sketch may claim beyond that of X before its rows count as wrong: far above rounding, far
below what float32 rows reach that are differences of twenty others. Not tuned."""
SKETCHES_LOST = 8
"""Times that stage 1 goes on where wrong rows had led it below the best vector, at most: not tuned."""
SKETCH_FEATURES_PER_K = 2
"""Features in a step on the sketch, as a multiple of k; the largest gradients first: benchmarks/budgets.py."""
SKETCH_SPARE_FEATURES = 3
"""Non-zeros of a step for each spare feature: 3 means a third more than are used: benchmarks/budgets.py."""
SKETCH_MAX_SHARE = 0.8
"""Share of the features above which a step on the sketch takes all of them: benchmarks/budgets.py."""
NEAR_FEATURES_PER_K = 8
"""Features of largest gradients whose columns are copied for a later component, as a multiple of k: steps are confirmed
with these columns only. With 4 or 16, ten components of 1 % of HapMap3 have 3e-4 less variance (12 seeds):
benchmarks/users.py."""
NEAR_MIN_FEATURES_PER_K = 5
"""The same, at least; with fewer, all of X is read each time: not tuned."""
NEAR_MAX_SHARE = 0.1
"""Share of the features, as their number, at most. With 0.4, ten components of 5 % of 37,493 simulated SNPs have 7e-4
less variance, and copying columns takes as long as the products that it saves: benchmarks/users.py."""
NEAR_ENTRIES = 2**21
"""Entries of X above which that is done; reading fewer takes no more time than the steps: benchmarks/users.py."""
NEAR_BYTES = 2**24
"""Bytes of these columns at most, or NEAR_BYTES_SHARE of X if that is more: limit of memory."""
NEAR_BYTES_SHARE = 0.08
"""Share of X that these columns are at most, where it is more than NEAR_BYTES: limit of memory."""
NEAR_EXCHANGE_ROUNDS = 16
"""Exchanges of several features at once with these columns. With 0, ten components of 1 % of HapMap3 have 1.5e-3 less
variance: benchmarks/users.py."""
NEAR_LAST_EXCHANGES = 2
"""The same with all of X, after those with the columns of some features. With 4, ten components of 1 % of HapMap3 have
no more variance and take 7 % more time: benchmarks/users.py."""
LEADING_TOL = 1e-4
"""Residual of the leading eigenvector, relative to its eigenvalue; it is only a start: benchmarks/budgets.py."""
EXTRAPOLATION_MAX = 4.0
"""Length of the largest extrapolation of stage 1, in units of the last step: benchmarks/budgets.py."""
EXTRAPOLATION_SHARE = 0.5
"""Share of the step that would end a geometric sequence of gains: benchmarks/budgets.py."""
EXTRAPOLATION_MIN_RATE = 1e-3
"""Arithmetic: least 1 - rate in the denominator of that step, far above rounding; EXTRAPOLATION_MAX applies first."""
L1_ROUNDING = 1e-9
"""Arithmetic: relative rounding up to which an l1 norm counts as within sqrt(k)."""

# --- stage 2: rounding ------------------------------------------------------------------------------------------------

EMPTY_DRAWS_MAX = 1000
"""Empty Bernoulli draws in a row before an error; at s >= 1 less than 0.37 of all draws are empty: not tuned."""
POLISHED_DRAWS = 2
"""Draws that are polished, next to the k largest entries: benchmarks/budgets.py."""
SEVERAL_STARTS_SHARE = 0.1
"""Share of the features, as k, above which candidates on a sketch end at the same support: benchmarks/budgets.py."""
SEVERAL_STARTS_SHARE_LATER = 0.03
"""The same for later components where k is more than POOL_MAX_K. With 0.1, ten components of 5 % of Classic-2, HapMap3
and Chowdary's data have at most 3e-5 more variance, and those of Classic-2 take a quarter more time. With 0.03 the
first component of 5 % of Gordon's genes has 4e-7 less than a rival's: benchmarks/budgets.py, benchmarks/quality.py."""

# --- polishing --------------------------------------------------------------------------------------------------------

POLISH_ROUNDS = 30
"""Products with X that confirm polishing on a sketch, at most: benchmarks/budgets.py."""
POLISH_TOL = 0.01
"""Multiple of the tolerance: polishing stops when a product with X gains less: benchmarks/budgets.py."""
POLISH_TOL_LATER = 100.0
"""The same for components after the first. With 1000, ten components of 1 % of Chowdary's data have 7e-5 less variance:
benchmarks/budgets.py."""
POLISH_FEATURES_PER_K = 2
"""Features of the sketch on which candidates are polished, as a multiple of k: benchmarks/budgets.py."""
POLISH_FINALISTS = 10
"""Candidates that climb separately; more of them are reduced by joint power steps: benchmarks/budgets.py."""
POLISH_POWER_STEPS = 30
"""Joint truncated power steps of all candidates, at most: benchmarks/budgets.py."""
FIRST_CLIMB_STEPS = 6
"""Steps that each candidate climbs before only the best continues: benchmarks/budgets.py."""
CLIMB_STEPS = 100
"""Steps of a climb, at most; supports repeat long before: benchmarks/budgets.py."""
CLIMB_REFIT_TOL = 1e-3
"""Residual, relative to the eigenvalue, of refits during a climb: benchmarks/budgets.py."""
EXCHANGE_REFIT_TOL = 1e-4
"""The same between exchanges of several features, whose gains are compared to second order: benchmarks/budgets.py."""
SWAP_REFIT_TOL = 1e-7
"""The same after single swaps: benchmarks/budgets.py."""
START_ENTRIES = 2 * 10**7
"""Entries read in a step from all coordinate starts: n max(m, k) for each start: benchmarks/budgets.py."""
EXCHANGE_ROUNDS = 4
"""Exchanges of several features at once after a climb; each costs a pass over X: benchmarks/budgets.py."""
EXCHANGE_MIN_GAIN = 1e-5
"""Relative gain of such an exchange below which no other is tried: benchmarks/budgets.py."""
EXCHANGE_ROUNDING = 1e-12
"""Arithmetic: relative rounding of the ratio of worths, so that the least clear pair is exchanged too."""
EXCHANGE_MIN_WORTH = 1e-100
"""Arithmetic: least worth inside, relative to that outside, in the denominator of this ratio: far above underflow."""
SWAP_STARTS = 3
"""Ends of polishing from which single swaps are tried: benchmarks/budgets.py."""
SWAP_STARTS_MAX_K = 50
"""k up to which swaps start from several ends, and not only from the best: benchmarks/budgets.py."""
SWAP_MAX_PAIRS = 5 * 10**6 // 4
"""Pairs (feature out, feature in) up to which all single swaps are examined: benchmarks/budgets.py."""
SWAP_MAX_ENTRIES = 4 * 10**6
"""Entries of the k rows of X'X that swaps need, at most; it matters for k close to n: benchmarks/budgets.py."""
SWAP_BYTES = 2**19
"""Bytes of the products of a support with features that may enter, examined at a time: in cache; not tuned."""
SWAPS_MAX = 500
"""Single swaps of one support, at most; no data set of the benchmarks reaches it: benchmarks/budgets.py."""
SWAP_MIN_GAIN = 1e-10
"""Arithmetic: relative gain above the rounding of eigenvalues, about 1e-13, below which a swap is no gain."""
SWAP_MIN_LOADING = 1e-100
"""Arithmetic: loading that takes the place of a smaller one in a quotient, so that it stays inside float range."""
SWAP_LEFT_SHARE, SWAP_LEFT_BYTES = 1 / 3, 2**24
"""Features outside a pool, left by the bound on swaps, whose columns are compared with a support: as a share of all,
above which products with all of X take no longer, and bytes of these columns, a limit of memory. Not tuned."""
SWAP_TRIES = 8
"""Most promising swaps that are tried until one gains more than rounding; the first nearly always does. With the best
of 32 the variance is the same: not tuned."""

# --- the search in a Gram matrix --------------------------------------------------------------------------------------

GROWTH_STARTS = 256
"""Features from which supports grow; 128 sufficed on 26 chromosomes of HapMap 3 and HGDP: benchmarks/budgets.py."""
GROWTH_MIN_STARTS = 64
"""The same, at least: benchmarks/budgets.py."""
GROWTH_FEATURES_A_START = 8
"""Features of the Gram matrix for each of them, between these limits: benchmarks/budgets.py."""
GROWTH_NARROWING = 2
"""Starts for each growing support that continues, at least; 2 starts / size continue if that is more:
benchmarks/budgets.py."""
GROWTH_PAIRS_MAX_K = 8
"""Features of a component up to which supports also grow from the best pairs of all: two features that are copies of
each other, and of no other, are seldom among the features from which supports grow. Not tuned; 50 ms for 4,000."""
GROWTH_SAME_REGION = 0.5
"""Correlation above which only one of two features is a start at first: benchmarks/budgets.py."""
GROWTH_SINGLE_SIZE = 4
"""Size up to which supports grow by one feature at a time: not tuned."""
GROWTH_RATIO = 2
"""Ratio of the sizes of growing supports beyond it: not tuned."""
CORE_FEATURES, CORE_SHARE = 768, 3
"""Features of a large Gram matrix among which supports begin, at least, and as a share of all. Supports of 30 of 2,000
genes have features up to place 570 in this order (cells of benchmarks/users.py, one seed). With 512 of the 1,100
features of a pool, ten components of 20 SNPs of HapMap3 have 0.1 % less variance: not tuned otherwise."""
CORE_PAYS = 2
"""Features for each one of the core, from which a search in the core is faster: not tuned."""
EXCHANGE_STEPS = 12
"""Steps in which many candidates exchange several features at once, at most: not tuned."""
EXCHANGE_LEAST = 12
"""Candidates that continue to exchange features, at least: not tuned."""
PERTURB_SHARE = 1 / 3
"""Share of the features that random changes remove from good supports: not tuned."""
PERTURBED_SUPPORTS = 6
"""Good supports that are changed at random: not tuned."""
PERTURB_COPIES = 6
"""Random changes of each of them: not tuned."""
WORTH_BYTES = 2**20
"""Bytes of gradients that are compared at a time, in cache. With half or twice as many, a search in 2,000 or 1,100
features takes 1 to 6 % more time: not tuned otherwise."""
GROWTH_MIN_DENOMINATOR = 0.5
"""Share of the variance l: least l - a_jj in the predicted gain of feature j: benchmarks/budgets.py."""
SEARCH_DIRECTIONS = 8
"""Leading eigenvectors whose combinations are starts: benchmarks/budgets.py."""
SEARCH_COMBINATIONS = 64
"""Random combinations of these eigenvectors that are starts: benchmarks/budgets.py."""
SEARCH_SUBSPACE_STEPS = 3
"""Block power steps that compute these eigenvectors; they are only starts: benchmarks/budgets.py."""
SEARCH_POWER_STEPS = 10
"""Truncated power steps of all candidates together, at most: benchmarks/budgets.py."""
SEARCH_REFIT_STEPS = 6
"""Power steps of a refit before the last comparison, which is exact: benchmarks/budgets.py."""
SEARCH_FINALISTS = 6
"""Candidates that single swaps improve, as more than one region is worth a look; with 3, 50 SNPs of HGDP Europeans have
2.6 % less variance, 50 genes of lymphoma 1.5e-5 less than a rival's (tools/rivals_small_k.py), and ten components of 20
or 50 SNPs of HapMap3 0.1 %: benchmarks/budgets.py."""
IMPROVED_FINALISTS = 3
"""The same where only known supports are improved: benchmarks/budgets.py."""
SEARCH_DENSE_FEATURES = 256
"""Features up to which candidates are multiplied by A as dense vectors: benchmarks/budgets.py."""
SEARCH_SEED = 64
"""Seed of the random combinations, so that the search is a function of the data: not tuned."""
SEARCH_BLOCK_ENTRIES = 2**18
"""Entries of A that are squared at a time, 2 MB, so that they stay in cache: benchmarks/budgets.py."""
SEARCH_SAFE_VARIANCES = (1e-60, 1e60)
"""Arithmetic: variances whose fourth powers are far inside float range; others are divided by a power of two."""

SMALL_FEATURES = 100
"""Features up to which supports grow from every one of them, as dense rows: benchmarks/budgets.py."""
SMALL_MAX_K = 24
"""k up to which that takes less time than the search for more features: benchmarks/budgets.py."""
SMALL_GROWTH_STEPS = 1
"""Power steps after each feature that joins a support there: benchmarks/budgets.py."""
SMALL_REFIT_STEPS = 6
"""Power steps before these supports are compared: benchmarks/budgets.py."""
SMALL_FINALISTS = 16
"""Supports whose single features are swapped there, all at once, at most: benchmarks/budgets.py."""
SMALL_MIN_FINALISTS = 4
"""The same, at least: benchmarks/budgets.py."""
SMALL_FEATURES_A_FINALIST = 3
"""Features for each of them, between these limits. With 8 of them, whatever the features, 900 x 40 normal numbers lose
1.7e-4 of their variance in two components of 4: benchmarks/budgets.py."""
SMALL_NEAR_BEST = 1e-6
"""Arithmetic: relative distance to the best variance up to which a support is compared again, in more digits."""

# --- the pool of features that is searched ----------------------------------------------------------------------------

POOL_MAX_K = 64
"""k up to which a pool is searched; its cost grows with k, its gain falls: benchmarks/budgets.py."""
POOL_COMPLETE_FEATURES = 5500
"""Features up to which all are in the pool, 240 MB as a Gram matrix. With 2048, 5 of 72 cases (18 chromosomes of HGDP
Europeans, k = 5 to 50) lose 0.4 to 10 % of the variance: benchmarks/budgets.py."""
POOL_COMPLETE_PRODUCTS = 15 * 10**9
"""Multiplications m n^2 of the Gram matrix of all features, 0.4 s in one thread: benchmarks/budgets.py."""
POOL_FEATURES = 2048
"""Features of a pool without all features, at most; 32 MB: benchmarks/budgets.py."""
POOL_MIN_FEATURES = 512
"""The same, at least, however many samples there are: benchmarks/budgets.py."""
POOL_PRODUCTS = 2 * 10**9
"""Multiplications m p^2 of the Gram matrix of such a pool, 0.05 s in one thread: benchmarks/budgets.py."""
POOL_COUNTED_BYTES = 2**20
"""Bytes of a pool's Gram matrix below which the check of free memory ignores it: not tuned."""
POOL_COPIED_BYTES = 2**20
"""Bytes of a part of a Gram matrix, or of random signs, copied at a time: little beside the whole; not tuned."""
POOL_PRODUCTS_BYTES = 2**21
"""Bytes of the products of new features with all of a pool that are made at a time, each time with a read of its
columns: 2 MB beside the Gram matrix, where all products would take 6 MB. Limit of memory."""
POOL_NEAR_BEST = 1e-4
"""Arithmetic: relative distance to the best variance up to which a support is compared again, from columns in float64;
products of float32 data differ by less."""
POOL_KEPT_FEATURES = 800
"""Features of a pool around supports, at most, whose Gram matrix is kept for the next pool of the same component, which
mostly has half to nine tenths of them; 5 MB, less than a first pool has. Limit of memory."""
LEFT_KEPT_FEATURES = 2048
"""Features of a Gram matrix in memory, at most, of which what a component leaves is kept for the next one to update; as
many as a pool has. Limit of memory, 32 MB between searches, which take more."""
POOL_PROBES = 32
"""Random sign vectors from which lengths of rows of X'X are estimated, for several components. Without them, ten
components of 50 SNPs of HapMap3, nine tenths of the people at random, have 0.15 % less variance: not tuned
otherwise."""
POOL_MIN_PROBES = 4
"""The same, at least, however many features there are: benchmarks/budgets.py."""
POOL_PROBE_ENTRIES = 2**25
"""Entries of all these vectors, or of projections, together, at most, 256 MB: benchmarks/budgets.py."""
POOL_LEADING = 16
"""Leading directions that are removed from X'X to see correlations which they hide; with 8, the third component of 50
genes of Chowdary's data has 1.2 % less variance: benchmarks/budgets.py."""
POOL_DIRECTIONS = 512
"""Directions of the leading part of X'X that choose features, at most: benchmarks/budgets.py."""
POOL_MIN_DIRECTIONS = 8
"""The same, at least: benchmarks/budgets.py."""
POOL_DIRECTION_ENTRIES = 2**18
"""Projections of features on these directions, at most: benchmarks/budgets.py."""
POOL_DIRECTION_FEATURES = 2048
"""Features, those with most in the leading directions, among which directions choose: benchmarks/budgets.py."""
POOL_DIRECTION_BLOCK = 64
"""Directions that are projected on at a time: benchmarks/budgets.py."""
POOL_DIRECTION_SUPPORTS = 32
"""Best supports of these directions that go into the pool: benchmarks/budgets.py."""
POOL_DIRECTION_STEPS = 2
"""Times that each direction chooses k features: benchmarks/budgets.py."""
LIMITED_LOOKS = 4
"""Largest entries that are looked at first for each one that is wanted, where groups limit the choice: not tuned."""
POOL_DIRECTION_SHARE = 4
"""Features of the pool for each one that directions choose: benchmarks/budgets.py."""
POOL_PROJECTIONS = 64
"""Random directions on which columns are projected; correlations are then seen to 1/8: benchmarks/budgets.py."""
POOL_PROJECTION_ENTRIES = 2**21
"""Entries of projections at a time, 16 MB, of data where a block of products takes as long as one after another; with
more than 32768 features they are made in several: not tuned."""
POOL_LINKAGE_PAIRS = 8 * 10**6
"""Pairs of features up to which all are compared by these projections, 0.05 s: benchmarks/budgets.py."""
POOL_LINKAGE_BYTES = 2**20
"""Bytes of the pieces of that comparison, so that they stay in cache: benchmarks/budgets.py."""
POOL_LINKAGE_NEAREST = 16
"""Features on each side with which each is compared if all pairs are too many: benchmarks/budgets.py."""
POOL_PROBE_SEED, POOL_PROJECTION_SEED = 32, 64
"""Seeds of the random vectors, so that the pool is a function of the data: not tuned."""
POOL_SHARED_FEATURES = 4000
"""Features whose Gram matrix is shared by all components, at most (128 MB): benchmarks/budgets.py."""
HASH_SIGNS = 64
"""Arithmetic: signs of a column in one word."""
HASH_TABLES = 16
"""Orders of the features by their signs on some random directions, in which neighbors are compared:
benchmarks/budgets.py."""
HASH_SHUFFLES = 8
"""Orders of features with the same signs, which are taken in turn; so many times HASH_REACH of a large group of equal
columns become neighbors of each: benchmarks/budgets.py."""
HASH_MAX_BITS = 16
"""Signs that order them, at most; as many as 2 to this power are features: not tuned."""
HASH_REACH = 4
"""Places up to which features are compared in each order: benchmarks/budgets.py."""
HASH_DIFFERING = 16
"""Signs of 64 that may differ, cosine 0.7; of unrelated features one pair in 10,000 has so few:
benchmarks/budgets.py."""
HASH_PAIRS, HASH_FEATURES_A_PAIR = 1024, 32
"""Pairs that are kept of each comparison, at least, and one for so many features: where nearly all features are alike,
those most alike. Limit of memory and time; not tuned."""
HASH_NEAR = 64
"""Arithmetic: features of a neighborhood, as many as POOL_MAX_K."""
HASH_SIZES = (3, 8, 24, 64)
"""Sizes of supports for which the best features in the middle are chosen: not tuned."""
HASH_TRIED = 16
"""Features, for each that is chosen, of which those not alike an earlier one are: benchmarks/budgets.py."""
HASH_SEED = 16
"""Seed of the choice of directions: not tuned."""
ALIKE_SETS, ALIKE_SETS_LATER = 18, 5
"""Sets of features that projections show to be alike, in X and again without its leading directions: for the first
component, and more for each later one. With 9 for the first, one of 18 first components of few SNPs of HGDP Europeans,
nine tenths of the people at random, has 40 % less variance; with 36 one of scaled genes of Gordon's data has 3 % more.
Not tuned otherwise."""
ALIKE_BLOCKS, ALIKE_BLOCKS_LATER = 3, 2
"""The best of these sets, counted likewise, that become blocks: not tuned."""
ALIKE_NEAR = 32
"""Features of such a set; of 64 projections, half of them are linked if the block has 20: not tuned."""
ALIKE_SHARE = 0.5
"""Product with the feature in the middle of a set, relative to its square, from which one is no middle itself; by
chance, products of 64 projections reach a quarter of that: not tuned."""
ALIKE_LEFT = 1e-3
"""Share of the variance of a feature without the leading directions, below which it is like no other: not tuned."""
ALIKE_STARTS = 3
"""Best blocks of each component that are compared with what a search found, as many as the next pool is made around:
not tuned."""
ALIKE_POWER_STEPS = 5
"""Power steps with Gram matrices of blocks, only to compare them; exchanges follow: not tuned."""
ALIKE_GRADIENT_ENTRIES = 2**21
"""Entries of gradients at the blocks that are computed at a time, 16 MB: limit of memory."""
ALIKE_BYTES = 2**23
"""Bytes of columns of blocks at a time: limit of memory."""
ALIKE_COLUMNS_SHARE = 0.02
"""The same as a share of X, where that is more, so that large files are read a few times only: limit of memory."""
NEXT_POOLS = 4
"""Pools around the best supports after an incomplete first one, at most: benchmarks/budgets.py."""
NEXT_POOL_SUPPORTS = 3
"""Best supports around which the next pool is made, at least, and around which pools after that one are made:
benchmarks/budgets.py."""
NEXT_POOL_K_A_SUPPORT = 8
"""Features of a support for each support around which the next pool is made, if these are more. With 3 supports, ten
components of 50 SNPs of HapMap3 have 0.1 % less variance, the mean of five seeds that vary by 0.1 %; ten components of
20 have as much, in less time. Where this asks for more supports, the next pool is searched in any case. If that were
done only after exchanges that gain, ten of 50 would have 0.07 % less variance, and ten of 20 as much: not tuned
otherwise."""
NEXT_POOL_WORTH = 0.25
"""Worth of features near such a support, as a share of its feature that is worth least: not tuned."""
NEXT_POOL_FEATURES = 256
"""Features of largest gradient at each of these supports, at least: benchmarks/budgets.py."""
NEXT_POOL_PER_K = 10
"""The same, as a multiple of k: benchmarks/budgets.py."""

# --- the longest columns, where features differ much in variance ------------------------------------------------------

LONGEST_FEATURES = 1024
"""Longest columns that are searched alone, at most, and no more than a pool has; where more matter, a pool is as fast:
benchmarks/users.py."""
LONGEST_LEAST = 512
"""The same, at least. With 256, five components of 20 of simulated genes of unequal variances have 1.3 % less variance
in one of three cases, and five of 5 or 8 words of KOS, tf-idf, 1 %: not tuned otherwise."""
LONGEST_PER_K = 8
"""The same, as a multiple of k: not tuned."""
LONGEST_TRIED = 256
"""Longest columns in which a first support is sought, whose variance tells how many matter: not tuned."""
LONGEST_POWER_STEPS, LONGEST_TRUNCATED_STEPS = 8, 4
"""Power steps, and truncated ones after them, to that support: not tuned."""
LONGEST_MAX_SHARE = 0.5
"""Share of the squared lengths of the k longest columns that components of k features seldom exceed: where k columns
left out may have as much, nothing is tried. Not tuned."""

# --- the working set, where there are very many features --------------------------------------------------------------

WORKING_SET_FEATURES = 2**16
"""Features of a working set, at least; a sketch of them takes 30 MB, whatever n: not tuned."""
WORKING_SET_PER_K = 4
"""The same, as a multiple of k: twice as many as steps of stage 1 and polishing look at: not tuned."""
WORKING_SET_SHARE = 4
"""Features for each one of the working set, at least; with fewer, searching in all costs little more:
not tuned."""
WORKING_SET_VECTORS = 4
"""Vectors of n + m numbers whose memory the columns of a working set may take: few of the allowance; not tuned."""
WORKING_SET_SEARCHES = 3
"""Searches, each in the working set and in the features that are worth more than those found: not tuned."""
WORKING_SET_JOINING = 4
"""Features of a working set for each one that joins it, at least: not tuned."""

# --- normalization, deflation and rounding errors ---------------------------------------------------------------------

NORMALIZE_TOL = {np.dtype(np.float32): 1e-7, np.dtype(np.float64): 1e-9}
"""Arithmetic: residual of the last refit, which products in the precision of the data can reach."""
NORMALIZE_NOISE = 1e4
"""Arithmetic: length of the noise in the start of that refit, in units of its residual: far above it, and small."""
TIED_VARIANCE_EPS = 1e3
"""Arithmetic: multiples of machine epsilon up to which column norms tie, whatever the order of summation."""
NO_VARIANCE_EPS = 64
"""Arithmetic: multiples of machine epsilon, times the total variance, that count as nothing left to explain."""
NO_LENGTH = 1e-12
"""Arithmetic: length of the rest of a unit vector, less its projection, that is rounding."""
EXPLAINED_SCORES = 1e-3
"""Arithmetic: share of the length of scores below which their unexplained part is computed again: three digits lost."""
RESIDUAL_STEPS = 4
"""Arithmetic: times that this is done; each step restores at least four of sixteen digits."""
SCORES_ROUNDING_EPS = 64.0
"""Arithmetic: multiples of machine epsilon, times the terms of a sum, up to which a length is rounding."""

# --- several components together --------------------------------------------------------------------------------------

JOINT_SWEEPS = 8
"""Sweeps of block steps over all components, at most; most gain is in the first two: benchmarks/joint.py."""
JOINT_MIN_GAIN = 1e-4
"""Relative gain of a sweep below which no other follows: benchmarks/joint.py."""
JOINT_SWEEP_REFIT_TOL = 1e-6
"""Relative gain of a step at which a refit of all loadings stops between sweeps: benchmarks/joint.py."""
JOINT_REFIT_TOL = 1e-12
"""Arithmetic: relative gain at which a refit of all loadings stops."""
JOINT_REFIT_STEPS = 50
"""Quasi-Newton steps of a refit of all loadings, at most: benchmarks/joint.py."""
JOINT_SWAP_PRODUCTS = 10**7
"""Multiplications k^2 n of examining all single swaps in a Gram matrix, at most; beyond, several features are exchanged
at once: benchmarks/joint.py."""
JOINT_STARTS = 20
"""Random rotations of the leading directions that are starts, at most: benchmarks/joint.py."""
JOINT_FINALISTS = 6
"""Starts that climb further than one sweep, at most: benchmarks/joint.py."""
JOINT_REPLACEMENTS = 20
"""Times that one or two of the best components are replaced by random ones, at most: benchmarks/joint.py."""
JOINT_MORE_DIRECTIONS = 2
"""Leading directions beyond the number of components that starts combine: benchmarks/joint.py."""
JOINT_SEARCH_ENTRIES = 2**13
"""n times all features of the components, up to which that many are tried, and in proportion beyond:
benchmarks/joint.py."""
JOINT_SEARCH_LEAST = 5
"""Part of these numbers that is tried beyond, at least: a fifth: benchmarks/joint.py."""
JOINT_SEARCH_MAX_ENTRIES = 2**19
"""n times all features of the components, above which only components found one by one are improved:
benchmarks/joint.py."""
JOINT_POOL_FEATURES = 128
"""Features of largest gradient for each component in a pool, at least: benchmarks/joint.py."""
JOINT_POOL_PER_K = 2
"""The same, as a multiple of k: benchmarks/joint.py."""
JOINT_POOLS = 4
"""Pools, at most; the supports stay after two or three: benchmarks/joint.py."""
JOINT_SINGULAR = 1e-12
"""Arithmetic: relative size of eigenvalues of V'AV that are rounding."""
NONNEGATIVE_STEPS = 200
"""Power steps of a refit of nonnegative loadings, at most: not tuned."""
NONNEGATIVE_LEAVING = 3
"""Features of smallest loading that single swaps of nonnegative components try to replace: not tuned."""
SHARED_MAX_SETS = 10**4
"""Sets of k features up to which all are tried for a shared support, 0.1 s: benchmarks/joint.py."""
SHARED_STARTS = 8
"""Random starts of a shared support on small data: benchmarks/joint.py."""
SHARED_REPLACEMENTS = 12
"""Times that one to three features of the best shared support are replaced by random ones, on small data:
benchmarks/joint.py."""
SHARED_SEARCH_ENTRIES = 2**13
"""n k up to which a shared support has random starts and replacements: benchmarks/joint.py."""
SHARED_ROUNDS = 200
"""Steps and exchanges of a shared support, at most: not tuned."""
SHARED_JOINING = 16
"""Features that single exchanges of a shared support try to add: benchmarks/joint.py."""
SHARED_LEAVING = 16
"""Features that they try to remove: benchmarks/joint.py."""
SHARED_POOL_FEATURES = 256
"""Features of the largest rows of AV in a pool for a shared support, at least: benchmarks/joint.py."""

# --- loadings that are not negative -----------------------------------------------------------------------------------

NONNEGATIVE_DIRECTIONS = 4
"""Leading directions from both signs of which stage 1 starts; signs exclude most of each: not tuned."""
NONNEGATIVE_TRIAL_STEPS, NONNEGATIVE_KEPT = 6, 3
"""Steps of stage 1 from all starts, and how many starts go on after them: not tuned."""
NONNEGATIVE_TOL = 1e-5
"""Relative gain at which stage 1 stops; polishing follows: not tuned."""
NONNEGATIVE_POOL, NONNEGATIVE_POOL_BYTES = 512, 2**28
"""Features from each of which power steps start where X has more, and bytes of their columns: not tuned."""
NONNEGATIVE_DENSE = 1000
"""Features up to which loadings are refitted by eigendecompositions of their Gram matrix, 8 MB: not tuned."""
NONNEGATIVE_REFIT_STEPS = 200
"""Power steps of a refit of more features: not tuned."""
NONNEGATIVE_SWAPS = 200
"""Swaps of single features, far more than there are: not tuned."""
NONNEGATIVE_TRIED = 8
"""Swaps that are refitted in each round, the most promising: not tuned."""


# --- several components under a constraint ----------------------------------------------------------------------------

SQP_DAMPING = 0.1
"""First damping of a step, as a share of the largest eigenvalue: benchmarks/joint_constrained.py."""
SQP_DAMPING_LEAST = 1e-3
"""Least damping after a step that gained nothing, in the same unit: benchmarks/joint_constrained.py."""
SQP_DAMPING_FALL = 0.2
"""Factor of the damping after a step that gained: benchmarks/joint_constrained.py."""
SQP_DAMPING_RISE = 8.0
"""Factor of the damping after a step that gained nothing: benchmarks/joint_constrained.py."""
SQP_REJECTED = 3
"""Steps in a row without a gain that end a refit: benchmarks/joint_constrained.py."""
SQP_TOL = 1e-10
"""Relative gain at which a refit ends: benchmarks/joint_constrained.py."""
RESTORED = 1e-14
"""Arithmetic: violation of the constraints that Newton steps aim at."""
RESTORE_RIDGE = 1e-12
"""Arithmetic: added to the diagonal of the normal equations of the constraints, which may be dependent."""
RESTORE_HOPELESS = 1e3
"""Violation at which Newton steps have diverged: not tuned."""
RESTORE_STEPS = 16
"""Newton steps that make a start feasible, at most: benchmarks/joint_constrained.py."""
RESTORE_STEPS_AFTER = 4
"""Newton steps after each step of a refit, at most; they converge quadratically: benchmarks/joint_constrained.py."""
FEASIBLE = 1e-11
"""Arithmetic: largest violation of loadings that count as feasible; the last restoration reaches 1e-13."""
EXCHANGE_ENTERING = 256
"""Features of largest slope that may enter a component in the model of exchanges: benchmarks/joint_constrained.py."""
EXCHANGE_LEAST_REST = 1e-9
"""Arithmetic: least curvature by which the model of exchanges divides, as a share of the largest eigenvalue."""
ROUND_WORK = (2100.0, 400.0, 1.5, 1e-4, 4.0, 7.5e-3, 1e-5)
"""Microseconds of one core for a round of exchanges, a component, a feature and an entry of its model, a small system,
and the square and the cube of its size, fitted to 587 rounds with an error of 15 %: benchmarks/joint_constrained.py."""
EXCHANGE_CLIMB_MOVES = 20
"""Most promising exchanges of a solution that are made feasible: benchmarks/joint_constrained.py."""
EXCHANGE_CLIMB_REFITS = 2
"""The best of these, whose loadings are refitted: benchmarks/joint_constrained.py."""
EXCHANGE_CLIMB_STEPS = 12
"""Steps of such a refit, at most: benchmarks/joint_constrained.py."""
EXCHANGE_CLIMB_DAMPING = 1e-3
"""Damping of its first step, which starts close to its end: benchmarks/joint_constrained.py."""
EXCHANGE_CLIMB_LEAST_GAIN = 1e-9
"""Relative gain of an exchange, at least; less is rounding of refits: not tuned."""
EXCHANGE_CLIMB_CHAINS = 12
"""Best starts from which exchanges climb: benchmarks/joint_constrained.py."""
START_REFIT_STEPS = 10
"""Steps of the refit of a start or of a random change, at most: benchmarks/joint_constrained.py."""
PERTURB_FEATURES = 5
"""Features that a random change replaces, at most: benchmarks/joint_constrained.py."""
PERTURB_LOADING = 0.3
"""Standard deviation of the loading that a random feature starts with: not tuned."""
PERTURB_ELITES = 4
"""Best solutions that are changed at random: benchmarks/joint_constrained.py."""
PERTURB_CHAINS = 8
"""Random changes of them at once: benchmarks/joint_constrained.py."""
NONNEGATIVE_REFITS = 8
"""Times that negative loadings are fixed at zero before a start is given up: not tuned."""
NO_LOADING = 1e-7
"""Size of a loading that counts as zero: the square of it is rounding; not tuned."""
ZERO_LOADING_COST = 5e-3
"""Share of the value that a missing feature costs a solution during the search. With 0.02 six orthogonal components of
five of the 13 pitprops have 0.7 % less variance, because too little is tried: benchmarks/joint_constrained.py."""
ZERO_LOADING_LAST_COST = 1e-2
"""The same in the last comparison, so that components have k features where that costs little: not tuned."""
PERTURB_PATIENCE = 8
"""Rounds of random changes without a gain that end a search: benchmarks/joint_constrained.py."""
RESTORE_PATIENCE = 10
"""Newton steps that may raise the violation before the restoration is given up: benchmarks/joint_constrained.py."""
RESTORE_LONGEST = 1.0
"""Length of a Newton step at most, all loadings together: benchmarks/joint_constrained.py."""
PERTURB_ENTERING = 64
"""Features of largest slope from which random ones are drawn: benchmarks/joint_constrained.py."""
CONSTRAINED_WORK = 115 * 10**4
"""Work of a search, in these microseconds; with more of it few results change: benchmarks/joint_constrained.py."""
CHAIN_ENTRIES = 2**20
"""Entries of all KKT systems that are solved at once, 8 MB: benchmarks/joint_constrained.py."""
START_BATCH = 4
"""Starts that are refitted for each solution that climbs, at most: benchmarks/joint_constrained.py."""
FEASIBILITY_ROUNDS = 8
"""Times that random support sets are tried where no start is feasible: not tuned."""
FEASIBILITY_SETS = 64
"""Random support sets of each time, at most: not tuned."""
CONSTRAINED_STARTS = 16
"""Random rotations of the leading directions that are starts: benchmarks/joint_constrained.py."""
CONSTRAINED_DIRECTIONS = 3
"""Leading directions beyond the number of components that starts combine: benchmarks/joint_constrained.py."""
CONSTRAINED_POOL_COMPLETE = 1024
"""Features up to which all are searched, an array of 8 MB: benchmarks/joint_constrained.py."""
CONSTRAINED_POOLS = 3
"""Pools of promising features, at most; each adds those of largest gradient: benchmarks/joint_constrained.py."""
CONSTRAINED_NEXT_WORK = 0.25
"""Work in each pool after the first, as a share: benchmarks/joint_constrained.py."""
LAST_REFIT_STEPS = 40
"""Steps of the last refit, at most: not tuned."""
DISJOINT_ENTRIES = 2**16
"""n times all features of the components, for each start and replacement that is tried:
benchmarks/joint_constrained.py."""
DISJOINT_STARTS = 16
"""Random rotations that are starts, and replacements, at most: benchmarks/joint_constrained.py."""
DISJOINT_FINALISTS = 4
"""Starts that climb further than one sweep: benchmarks/joint_constrained.py."""

# --- topics: nonnegative parts and what rebuilds X --------------------------------------------------------------------

PARTS_STEPS = 100
"""Steps of the factorization, at most; Classic-3 takes 28: benchmarks/text.py."""
PARTS_TOL = 1e-6
"""Relative gain of a step at which the factorization stops; the ten top words change until then: benchmarks/text.py."""
PARTS_POWER_STEPS = 6
"""Block power steps to the start. With 2, the start and the topics depend on the seed: benchmarks/text.py."""
PARTS_MORE_DIRECTIONS = 10
"""Vectors of that block beyond the number of topics: benchmarks/text.py."""
REBUILT_STEPS = 8
"""Steps of the ascent that chooses the words; more gain little and cost coherence: benchmarks/text.py."""
REBUILT_FIRST_STEP = 1.2
"""First step, in units of 1 / (squared length of the longest column), so that a tenth of the words change:
benchmarks/text.py."""
REBUILT_STEP_GROWS = 2.0
"""Factor of the step after one that gained: not tuned."""
REBUILT_STEP_FALLS = 3.0
"""Divisor of the step after one that gained nothing: not tuned."""
REBUILT_HALVINGS = 6
"""Divisions of the step without gain at which the ascent ends: not tuned."""

# --- many fits of the same data ---------------------------------------------------------------------------------------

MANY_FITS_BYTES = 1 << 27
"""Bytes of the gradients, or columns, of fits that are multiplied together: limit of memory."""
MANY_FITS_DENSE = 256
"""Features, or samples, up to which loadings are refitted by a dense eigendecomposition: benchmarks/resampling.py."""
MANY_FITS_ROUNDS = 30
"""Rounds of the climbs of many fits; most end after 5 to 10: benchmarks/resampling.py."""
MANY_FITS_MIN_GAIN = 1e-9
"""Relative gain of variance at which the climb of one of many fits continues: benchmarks/resampling.py."""
MANY_FITS_POWER_STEPS = 3
"""Power steps from random signs that give each of many fits a start of its own: benchmarks/resampling.py."""
