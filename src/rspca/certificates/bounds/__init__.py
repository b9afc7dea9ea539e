"""Upper bounds on the variance of any k features, one family a file, each with its proof."""
