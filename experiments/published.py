"""What the paper prints: Table 1, the terms of Table 2, the counts of its text, and the sizes of its matrices."""

from __future__ import annotations

KS = (100, 500, 1000, 1500, 2000, 4000, 8000, 10500)
TABLE1 = {
    "pca": ((0.4351,) * 8, (0.6802,) * 8),
    "cvx": (
        (0.3077, 0.3880, 0.4136, 0.4242, 0.4295, 0.4350, 0.4351, 0.4351),
        (0.4897, 0.6073, 0.6486, 0.6649, 0.6730, 0.6801, 0.6802, 0.6802),
    ),
    "rspca": (
        (0.2942, 0.3728, 0.4005, 0.4120, 0.4190, 0.4278, 0.4324, 0.4332),
        (0.4680, 0.5864, 0.6294, 0.6470, 0.6572, 0.6700, 0.6764, 0.6776),
    ),
    "maxcomp": (
        (0.1955, 0.3353, 0.3825, 0.4013, 0.4133, 0.4284, 0.4326, 0.4333),
        (0.3391, 0.5399, 0.6074, 0.6342, 0.6503, 0.6710, 0.6768, 0.6778),
    ),
    "spasm": (
        (0.2768, 0.3601, 0.3912, 0.4039, 0.4131, 0.4271, 0.4316, 0.4324),
        (0.4227, 0.5701, 0.6163, 0.6361, 0.6491, 0.6690, 0.6752, 0.6764),
    ),
}
"""Column -> its values for the top component and for the top two, at the eight k."""
SPARSITY = {  # percent of zeros, as printed
    "cvx": ((99, 95, 90, 84, 75, 6, 0, 0), (99, 95, 90, 82, 70, 3, 0, 0)),
    "rspca": ((99, 98, 95, 93, 91, 81, 68, 63), (99, 98, 95, 93, 91, 81, 69, 64)),
}
COUNTS = (
    (68, 290, 573, 842, 1155, 2395, 3915, 4519),
    (78, 282, 568, 867, 1172, 2418, 3817, 4377),
)
"""Non-zeros of either component, inferred: at these MaxComp and Spasm both have the values of Table 1. Not printed."""

FIRST_TERMS = """
    boundary layer heat flow transfer laminar plate shock turbulent hypersonic pressure temperature wall flat surface
    mach friction compressible velocity reynolds stagnation skin number stream equations transition solution viscous
    layers separation solutions gradient injection dimensional incompressible fluid edge cylinder shear point
    interaction numbers body wave method leading region bodies supersonic gas measurements approximate local equation
    case constant"""
SECOND_TERMS = """
    information library retrieval systems system scientific science libraries research layer services boundary
    indexing search literature heat university documents users classification technology"""
TERMS = tuple(text.split() for text in (FIRST_TERMS, SECOND_TERMS))
"""Table 2: the terms of the first and of the second component at k = 100, by weight."""
DOCUMENTS = {"boundary": (1, 459), "information": (664, 44)}
"""Term -> appearances in CISI and in CRANFIELD, as the text has them."""
