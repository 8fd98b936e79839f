"""What a person who keeps tables in a spreadsheet is told about a cell."""

from __future__ import annotations

import pytest

from services.domain.batch import BatchKind
from services.usecases.batch_objects import REPORT_CSV, answer_key


@pytest.mark.parametrize(
    ("column", "cell", "told"),
    [
        ("frame.aspect", "09:16:00", "format the column as text"),
        ("presenter.synthetic", "yes", "Input should be true or false; the cell holds 'yes'"),
        ("disclosure.visible_label", "0", "Input should be true or false; the cell holds '0'"),
    ],
)
def test_cell_of_another_form_is_told_with_the_form_that_is_wanted(world, column, cell, told):
    batch = world.submit_file(f"speech.text,{column}\nHello.,{cell}\n", kind=BatchKind.VIDEO)
    world.serve(batch)
    assert told in world.objects.get(answer_key(batch, REPORT_CSV)).decode("utf-8-sig")
