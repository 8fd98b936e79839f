import pytest
import torch

from training.profiling.kernels import KernelTracer, gaps


def test_gaps_are_what_lies_in_no_interval():
    # 0-4 and 2-3 overlap; 4-6 is free; 6-7; 7-10 is free; 10-12.
    assert gaps([(6, 7), (0, 4), (2, 3), (10, 12)]) == (12, 2 + 3)


def test_gaps_of_nothing_are_none():
    assert gaps([]) == (0, 0)


def test_a_traced_step_names_its_operators():
    torch.set_num_threads(1)
    tracer = KernelTracer(on_gpu=False)
    tracer.start()
    torch.ones(16, 16) @ torch.ones(16, 16)
    tracer.stop()
    tracer.start()
    torch.ones(16, 16) @ torch.ones(16, 16)
    tracer.stop()
    found = tracer.summary()
    assert found["num_steps"] == 2
    assert {row["name"]: row["calls"] for row in found["rows"]}["aten::mm"] == 2


def test_without_a_traced_step_there_is_no_summary():
    assert KernelTracer(on_gpu=False).summary() is None


@pytest.mark.skipif(not torch.cuda.is_available(), reason="needs a GPU")
def test_a_gpu_tells_its_gaps_between_kernels():
    tracer = KernelTracer(on_gpu=True)
    tracer.start()
    for _ in range(3):
        torch.ones(64, 64, device="cuda") @ torch.ones(64, 64, device="cuda")
    torch.cuda.synchronize()
    tracer.stop()
    assert 0 <= tracer.summary()["idle_between_kernels"] < 1
