"""Documents to matrices: counts of words and tf-idf weights, as in the paper."""

from rspca.formats.term_weights import TermWeights
from rspca.formats.tf_idf import Terms, term_counts, term_matrix, tf_idf

__all__ = ["TermWeights", "Terms", "term_counts", "term_matrix", "tf_idf"]
