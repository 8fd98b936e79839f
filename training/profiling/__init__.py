"""Where a training run's time goes: phases of each step, devices, the machine, and what to do about it in sentences.

Nothing here trains, and nothing here needs a GPU, NVML or psutil to be present: what cannot be read is left out of the
report. ``profiler`` is what a loop calls; ``report`` is what comes of it.
"""
