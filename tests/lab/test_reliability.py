from __future__ import annotations

import xml.etree.ElementTree as ET

import numpy as np
import pytest

from btm.lab.calibration import Calibration
from btm.lab.forecasts import Method
from btm.lab.reliability import bins, calibration_error, draw


def calibration(said: list[float], happened: list[float]) -> Calibration:
    forecasts = {method: np.array(said) for method in Method}
    return Calibration(1, 1, False, (), np.array(happened), forecasts)


def test_forecasts_fall_into_bins_of_equal_width_and_empty_ones_are_left_out() -> None:
    first, last = bins(np.array([0.02, 0.04, 1.0]), np.array([0.0, 1.0, 1.0]))
    assert (first.n, first.foretold, first.happened) == (2, pytest.approx(0.03), 0.5)
    assert (last.n, last.foretold, last.happened) == (1, 1.0, 1.0)
    assert first.interval.low < 0.5 < first.interval.high


def test_the_calibration_error_weighs_bins_by_their_attempts() -> None:
    found = bins(np.array([0.1] * 9 + [0.9]), np.array([0.0] * 9 + [0.0]))
    assert calibration_error(found) == pytest.approx(0.9 * 0.1 + 0.1 * 0.9)
    assert calibration_error(()) == 0.0


def test_the_diagram_is_well_formed_and_holds_every_bin() -> None:
    svg = draw(calibration([0.1, 0.1, 0.95], [0.0, 1.0, 1.0]), 'a <b> & "c".jsonl')
    root = ET.fromstring(svg)
    circles = [e for e in root.iter() if e.tag.endswith("circle")]
    assert len(circles) == 2 + 1  # a bin each, and the legend's
    assert any('a <b> & "c".jsonl' in (e.text or "") for e in root.iter())


def test_a_long_list_of_logs_does_not_run_out_of_the_picture() -> None:
    svg = draw(calibration([0.5], [1.0]), ", ".join(f"log{n}.jsonl" for n in range(100)))
    assert max(len(e.text or "") for e in ET.fromstring(svg).iter()) < 80
