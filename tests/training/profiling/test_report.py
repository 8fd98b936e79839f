import json
import re
from html.parser import HTMLParser

import torch

from tests.training import tiny
from tests.training.profiling.fakes import Clock, Nvml
from training.profiling.devices import NvidiaDevices
from training.profiling.profiler import Profiler, new_profiler
from training.profiling.sampling import Sampler
from training.train_lora import train_lora


class Resources(HTMLParser):
    """Every address that a page would fetch, and its text."""

    def __init__(self):
        super().__init__()
        self.addresses, self.text = [], []

    def handle_starttag(self, tag, attrs):
        assert tag not in {"script", "link", "iframe"}
        self.addresses += [value for name, value in attrs if name in {"src", "href", "srcset", "data"}]

    def handle_data(self, data):
        self.text.append(data)


def test_the_report_of_a_cpu_run_opens_without_outside_resources(tmp_path):
    torch.set_num_threads(1)
    profiler = new_profiler(title="a run of drawn-64 & <ink>", interval_s=0.02, kernel_steps=[2])
    with profiler:
        train_lora(
            tiny.run(), dataset=tiny.dataset(tmp_path / "data"), base=tiny.drawn64(), run_dir=tmp_path / "run",
            watch=profiler.watch,
        )  # fmt: skip
    page = profiler.write(tmp_path / "out")
    told = page.read_text(encoding="utf-8")
    read = Resources()
    read.feed(told)
    assert read.addresses == []
    assert "http" not in told
    assert not re.search(r"url\(|@import", told)
    text = " ".join(read.text)
    assert "a run of drawn-64 & <ink>" in text
    for words in ("What to do", "Step by step", "Devices", "The machine", "aten::"):
        assert words in text
    figures = json.loads((tmp_path / "out" / "profile.json").read_text(encoding="utf-8"))
    assert figures["num_steps"] == 4
    names = {row["name"] for row in figures["phases"] if row["total_s"] > 0}
    assert names >= {"data_wait", "forward", "backward", "optimizer", "validation", "checkpoint"}


def test_the_page_shows_the_advice_and_each_gpu(tmp_path):
    clock = Clock()
    nvml = Nvml([(90, 60e9)] * 2, [(0, 0)] * 2)
    sampler = Sampler(None, NvidiaDevices(nvml), interval_s=3600, clock=clock)
    with Profiler(sampler=sampler, clock=clock, cpu_clock=clock) as profiler, profiler.step():
        with profiler.phase("data_wait"):
            clock.pass_(3)
        with profiler.phase("forward"):
            clock.pass_(7)
    read = Resources()
    read.feed(profiler.write(tmp_path).read_text(encoding="utf-8"))
    text = " ".join(read.text)
    assert "30% of the steps' time is waiting for data" in text
    assert "GPU 0, Fake H1" in text
    assert "GPU 1, Fake H1 computed nothing in 10 s" in text
