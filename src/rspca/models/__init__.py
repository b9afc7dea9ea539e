"""What the methods of the estimator do, as functions of a model: fit it, check data for it, score, measure."""
