import copy

import pytest

from training.profiling.advice import advice_on

GB = 10**9


def figures(**shares):
    """A run with nothing to say about it, but for what is given."""
    rows = {"data_wait": 0.1, "forward": 0.3, "backward": 0.4, "optimizer": 0.1, "other": 0.1} | shares
    return {
        "num_steps": 20,
        "num_traced": 0,
        "step_median_s": 1.0,
        "step_p90_s": 1.1,
        "phases": [{"name": name, "share": share, "median_s": share} for name, share in rows.items()],
        "devices": [
            {"name": "CPU", "kind": "cpu", "utilisation": 0.95, "idle": 0.05, "idle_s": 1.0,
             "memory_peak_bytes": GB, "memory_total_bytes": 8 * GB},
            {"name": "GPU 0", "kind": "gpu", "utilisation": 0.9, "idle": 0.1, "idle_s": 2.0,
             "memory_peak_bytes": 70 * GB, "memory_total_bytes": 80 * GB},
        ],
        "kernels": {"idle_between_kernels": 0.1},
        "machine": {"memory_peak_bytes": 4 * GB, "memory_total_bytes": 8 * GB},
    }  # fmt: skip


def changed(path, value):
    made = copy.deepcopy(figures())
    *folders, last = path
    place = made
    for folder in folders:
        place = place[folder]
    place[last] = value
    return made


def test_a_run_without_faults_gets_no_advice():
    assert advice_on(figures()) == []


@pytest.mark.parametrize(
    ("share", "silent", "told", "title"),
    [
        ("data_wait", 0.19, 0.21, "Waiting for data"),
        ("optimizer", 0.24, 0.26, "The optimiser"),
        ("checkpoint", 0.09, 0.11, "Checkpoints"),
        ("validation", 0.19, 0.21, "Validation and samples"),
        ("other", 0.19, 0.21, "Outside of phases"),
    ],
)
def test_a_phase_is_told_above_its_limit_with_its_share(share, silent, told, title):
    assert advice_on(figures(**{share: silent})) == []
    (advice,) = advice_on(figures(**{share: told}))
    assert advice["title"] == title
    assert f"{told:.0%}" in advice["sentence"]


@pytest.mark.parametrize(
    ("path", "silent", "told", "title", "figure"),
    [
        (("devices", 0, "idle"), 0.19, 0.45, "CPU idle", "45%"),
        (("devices", 1, "idle"), 0.19, 0.45, "GPU 0 idle", "45%"),
        (("devices", 1, "utilisation"), 0.02, 0.0, "GPU 0 unused", "2 s"),
        (("devices", 1, "memory_peak_bytes"), 49 * GB, 20 * GB, "GPU 0 has room", "20.0 of 80.0 GB"),
        (("devices", 1, "memory_peak_bytes"), 75 * GB, 78 * GB, "GPU 0 full", "98%"),
        (("kernels", "idle_between_kernels"), 0.19, 0.3, "Gaps between kernels", "30%"),
        (("machine", "memory_peak_bytes"), 7.5 * GB, 7.76 * GB, "The machine's memory", "97%"),
        (("step_p90_s",), 1.9, 3.0, "Uneven steps", "3.0 times"),
    ],
)
def test_a_figure_is_told_over_its_limit_only(path, silent, told, title, figure):
    assert advice_on(changed(path, silent)) == []
    (advice,) = advice_on(changed(path, told))
    assert advice["title"] == title
    assert figure in advice["sentence"]


def test_memory_of_the_cpu_calls_for_no_larger_batch():
    assert advice_on(changed(("devices", 0, "memory_peak_bytes"), 1)) == []


def test_what_could_not_be_read_gets_no_advice():
    made = figures()
    made["devices"][1] |= {"utilisation": None, "idle": None, "memory_peak_bytes": None, "memory_total_bytes": None}
    assert advice_on(made | {"machine": None, "kernels": None, "step_median_s": None, "step_p90_s": None}) == []
