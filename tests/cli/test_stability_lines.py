"""The table of stability that rspca fit prints."""

import re

from support.reports import WINE, fitted

from rspca.cli.support.results import stability_lines


def test_the_columns_of_the_terminal_stand_apart():
    head, *lines, end = stability_lines(fitted().stability(WINE.data, 1, 0))
    assert end.startswith("1 pair of halves. ")
    heads = [re.split(r"\s{2,}", line.strip()) for line in (head, *lines)]
    assert {len(cells) for cells in heads} == {6}
    assert {len(line) for line in (head, *lines)} == {len(head)}
