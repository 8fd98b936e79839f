import json

import pytest

from tests.training.profiling.fakes import Clock, MachineOf, Nvml, machine
from training.profiling.devices import NvidiaDevices
from training.profiling.profiler import NullProfiler, Profiler
from training.profiling.sampling import Sampler


def profiler_of(clock, cpu=None, **changes):
    return Profiler(clock=clock, cpu_clock=cpu or (lambda: 0.0), **changes)


def phases(figures):
    return {row["name"]: row["total_s"] for row in figures["phases"]}


def test_phases_add_up_to_the_step_and_what_lies_in_none_is_other():
    clock = Clock()
    profiler = profiler_of(clock)
    profiler.start()
    clock.pass_(2)  # before the first step
    with profiler.step():
        with profiler.phase("data_wait"):
            clock.pass_(1)
        with profiler.phase("forward"):
            clock.pass_(3)
        clock.pass_(0.5)
        with profiler.phase("backward"):
            clock.pass_(4)
    profiler.stop()
    figures = profiler.figures()
    assert phases(figures) == {"data_wait": 1, "forward": 3, "backward": 4, "other": 0.5}
    assert figures["steps_s"] == 8.5
    assert figures["wall_s"] == 10.5
    assert figures["between"]["other"] == 2


def test_a_phase_inside_of_a_phase_is_charged_once():
    clock = Clock()
    profiler = profiler_of(clock)
    profiler.start()
    with profiler.step(), profiler.phase("forward"):
        clock.pass_(1)
        with profiler.phase("data_wait"):
            clock.pass_(2)
        clock.pass_(4)
    profiler.stop()
    assert phases(profiler.figures()) == {"data_wait": 2, "forward": 5, "other": 0}


def test_a_phase_that_raises_is_closed():
    clock = Clock()
    profiler = profiler_of(clock)
    profiler.start()
    with pytest.raises(ZeroDivisionError), profiler.step(), profiler.phase("forward"):
        clock.pass_(1 / 0)
    with profiler.step(), profiler.phase("forward"):
        clock.pass_(1)
    with profiler.step():
        clock.pass_(2)
    profiler.stop()
    assert phases(profiler.figures()) == {"forward": 1, "other": 2}


def test_watching_tells_steps_apart_with_accumulation_and_a_checkpoint_after_the_step():
    clock = Clock()
    profiler = profiler_of(clock)
    profiler.start()
    with profiler.watch("validation"):  # of the base, before any step
        clock.pass_(7)
    for _step in range(2):
        for _part in range(2):
            with profiler.watch("data"):
                clock.pass_(1)
            with profiler.watch("forward"):
                clock.pass_(2)
            with profiler.watch("backward"):
                clock.pass_(3)
        with profiler.watch("optimizer"):
            clock.pass_(4)
        with profiler.watch("checkpoint"):
            clock.pass_(5)
    profiler.stop()
    figures = profiler.figures()
    assert figures["num_steps"] == 2
    assert figures["step_median_s"] == 2 * (1 + 2 + 3) + 4 + 5
    assert phases(figures)["validation"] == 0
    assert figures["between"]["validation"] == 7


def test_idle_of_the_cpu_is_the_wall_time_that_its_threads_did_not_compute():
    clock, cpu = Clock(), Clock()
    profiler = profiler_of(clock, cpu, num_threads=2)
    profiler.start()
    for wall, computed in ((10, 8), (10, 20)):  # of 20 thread-seconds each: 8 and all
        with profiler.step():
            clock.pass_(wall)
            cpu.pass_(computed)
    profiler.stop()
    device = profiler.figures()["devices"][0]
    assert device["idle_s"] == 10 - 8 / 2
    assert device["idle"] == pytest.approx(6 / 20)
    assert device["utilisation"] == pytest.approx(28 / 40)


def sampled(nvml, pauses, *readings):
    """A sampler's readings at the beginning and after each pause, without its thread."""
    clock = Clock()
    sampler = Sampler(MachineOf(*readings) if readings else None, NvidiaDevices(nvml), clock=clock)
    sampler._began = clock.now
    sampler.read()
    for pause in pauses:
        clock.pass_(pause)
        sampler.read()
    return sampler


def test_idle_time_of_a_gpu_weighs_each_reading_by_the_time_since_the_one_before():
    sampler = sampled(Nvml([(100, 10e9), (100, 20e9), (50, 30e9), (0, 25e9)]), (1, 2, 1))
    device = Profiler(sampler=sampler).figures()["devices"][1]
    assert device["name"] == "GPU 0, Fake H1"
    assert device["idle_s"] == pytest.approx(0 * 1 + 0.5 * 2 + 1 * 1)
    assert device["idle"] == pytest.approx(2 / 4)
    assert (device["memory_peak_bytes"], device["memory_total_bytes"]) == (30_000_000_000, 80_000_000_000)


def test_a_gpu_that_does_not_tell_how_busy_it_is_still_tells_its_memory():
    device = Profiler(sampler=sampled(Nvml([(None, 10e9), (None, 12e9)]), (1,))).figures()["devices"][1]
    assert device["idle"] is None
    assert device["memory_peak_bytes"] == 12_000_000_000


def test_disk_and_network_are_what_was_moved_between_first_and_last_reading():
    sampler = sampled(
        Nvml(), (1, 3),
        machine(disk_read_bytes=1000, sent_bytes=5, cpu=0.9),
        machine(disk_read_bytes=3000, sent_bytes=5, cpu=0.2),
        machine(disk_read_bytes=9000, sent_bytes=45, cpu=0.6),
    )  # fmt: skip
    found = Profiler(sampler=sampler).figures()["machine"]
    assert (found["disk_read_bytes"], found["sent_bytes"]) == (8000, 40)
    assert found["series"]["disk_read_bytes_s"] == [2000, 2000]
    assert found["cpu"] == pytest.approx((1 * 0.2 + 3 * 0.6) / 4)


class Tracer:
    def __init__(self, clock):
        self.clock, self.started = clock, 0

    def start(self):
        self.started += 1

    def stop(self):
        self.clock.pass_(50)

    def summary(self):
        return None


def test_traced_steps_are_left_out_of_the_figures_of_time():
    clock = Clock()
    tracer = Tracer(clock)
    profiler = profiler_of(clock, kernel_steps=[1], tracer=tracer)
    profiler.start()
    for seconds in (1, 30, 3):
        with profiler.step():
            clock.pass_(seconds)
    profiler.stop()
    figures = profiler.figures()
    assert tracer.started == 1
    assert (figures["num_steps"], figures["num_traced"], figures["steps_s"]) == (3, 1, 4)
    assert figures["between"]["other"] == 50


def test_the_device_is_waited_for_at_each_boundary_of_a_phase():
    clock = Clock()
    queued = [5.0]  # a kernel that the forward pass leaves behind

    def synchronize():
        clock.pass_(queued.pop() if queued and started else 0)

    started = []
    profiler = profiler_of(clock, synchronize=synchronize)
    profiler.start()
    with profiler.step():
        with profiler.phase("forward"):
            started.append(True)
        with profiler.phase("backward"):
            clock.pass_(1)
    profiler.stop()
    assert phases(profiler.figures()) == {"forward": 5, "backward": 1, "other": 0}


def test_the_samplers_thread_ends_with_the_profiler():
    sampler = Sampler(MachineOf(machine(), machine()), None, interval_s=60)
    with Profiler(sampler=sampler) as profiler:
        thread = sampler._thread
        assert thread is not None
        assert thread.is_alive()
    profiler.stop()
    assert not thread.is_alive()
    assert len(sampler.samples) == 2


def test_a_run_of_days_keeps_a_bounded_number_of_samples(monkeypatch):
    monkeypatch.setattr("training.profiling.sampling._MOST_SAMPLES", 8)
    sampler = sampled(Nvml([(100, 1)] * 100), [1] * 99)
    assert len(sampler.samples) <= 8
    assert sampler.samples[0].time_s == 0
    assert sampler._interval_s > 1


def test_the_null_profiler_takes_every_call():
    null = NullProfiler()
    with null.step(), null.phase("forward"), null.watch("data"):
        pass


def test_figures_are_json():
    figures = Profiler(sampler=sampled(Nvml([(10, 1), (20, 2)]), (1,))).figures()
    assert json.loads(json.dumps(figures)) == figures
