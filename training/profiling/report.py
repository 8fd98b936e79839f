"""A profile as one page of HTML that needs no other file and no network, and its figures as JSON beside it."""

from __future__ import annotations

import html
import json
from collections.abc import Mapping, Sequence
from importlib import resources
from pathlib import Path
from string import Template
from typing import Any, Final

from training.data.plots import bars
from training.profiling.plots import line, stacked_steps

PROFILE_PAGE: Final = "profile.html"
PROFILE_FIGURES: Final = "profile.json"


def write_report(figures: Mapping[str, Any], folder: Path) -> Path:
    """Write both files into the folder; the page's path."""
    folder.mkdir(parents=True, exist_ok=True)
    (folder / PROFILE_FIGURES).write_text(json.dumps(figures, indent=1) + "\n", encoding="utf-8")
    page = folder / PROFILE_PAGE
    page.write_text(report_page(figures), encoding="utf-8")
    return page


def report_page(figures: Mapping[str, Any]) -> str:
    """The page, in the look of the dataset's report."""
    page = resources.files("training.data").joinpath("report_page.html").read_text(encoding="utf-8")
    median = figures["step_median_s"]
    waited = next((row["share"] for row in figures["phases"] if row["name"] == "data_wait"), None)
    idle = [device["idle"] for device in figures["devices"] if device["idle"] is not None]
    numbers = [
        (f"{figures['num_steps']:,}", "steps"),
        ("-" if median is None else f"{median * 1000:,.1f} ms", "median step"),
        ("-" if waited is None else f"{waited:.0%}", "waiting for data"),
        (f"{idle[-1]:.0%}" if idle else "-", f"idle: {figures['devices'][-1]['name']}"),
    ]
    columns = figures["columns"]
    sections = [
        _section("What to do", _advice(figures["advice"])),
        _section("Where a step's time goes", _phase_rows(figures["phases"])),
        _section("Step by step", stacked_steps(columns["seconds"], columns["steps_each"])),
        _section("Devices", _devices(figures["devices"])),
        _section("The machine", _machine(figures["machine"])),
        _section("Operators and kernels", _kernels(figures["kernels"])),
    ]
    return Template(page).substitute(
        title=html.escape(str(figures["title"])),
        eyebrow="Profile of a training run",
        lead=html.escape(_lead(figures)),
        numbers="".join(f"<div><b>{number}</b><span>{html.escape(words)}</span></div>" for number, words in numbers),
        facts="",
        sections="".join(sections),
    )


def _lead(figures: Mapping[str, Any]) -> str:
    told = f"{figures['wall_s']:.1f} s were measured, {figures['steps_s']:.1f} s of them in steps"
    if figures["num_traced"]:
        told += (
            f"; {figures['num_traced']} more steps were traced, which slows them, and are not in the figures of time"
        )
    return told + "."


def _section(heading: str, body: str) -> str:
    return f"<section><h2>{heading}</h2>{body}</section>" if body else ""


def _advice(advice: Sequence[Mapping[str, str]]) -> str:
    found = advice or [{"title": "Nothing stands out", "sentence": "No figure is over its limit."}]
    return _items([(one["title"], one["sentence"]) for one in found])


def _items(rows: Sequence[tuple[str, str]]) -> str:
    cells = "".join(
        f"<li><div><b>{html.escape(title)}</b><p>{html.escape(words)}</p></div></li>" for title, words in rows
    )
    return f"<ul>{cells}</ul>"


def _phase_rows(phases: Sequence[Mapping[str, Any]]) -> str:
    rows = [
        (f"{row['name'].replace('_', ' ')}: {row['share']:.0%}, median {row['median_s'] * 1000:.2f} ms", row["total_s"])
        for row in phases
    ]
    if not any(total for _, total in rows):
        return ""
    return bars([(name, round(total, 2)) for name, total in rows]) + _note("Seconds in all measured steps.")


def _note(words: str) -> str:
    return f'<p style="font-size:.82rem;color:var(--soft);margin:.5rem 0 0">{html.escape(words)}</p>'


def _devices(devices: Sequence[Mapping[str, Any]]) -> str:
    told, plots = [], ""
    for device in devices:
        words = "does not tell how busy it is"
        if device["utilisation"] is not None:
            words = f"{device['utilisation']:.0%} busy, idle {device['idle_s']:.1f} s ({device['idle']:.0%})"
        if device["memory_peak_bytes"] and device["memory_total_bytes"]:
            words += (
                f"; memory at the peak {device['memory_peak_bytes'] / 1e9:.2f} "
                f"of {device['memory_total_bytes'] / 1e9:.1f} GB"
            )
        told.append((str(device["name"]), words + "."))
        series = device["series"]
        plots += line(series["time_s"], series["utilisation"], 1.0, "100 % busy", f"{device['name']}: busy")
    return _items(told) + _grid(plots)


def _machine(machine: Mapping[str, Any] | None) -> str:
    if machine is None:
        return ""
    told = [
        ("CPU", f"{machine['cpu']:.0%} of all cores busy, other processes included."),
        (
            "Memory",
            f"{machine['memory_peak_bytes'] / 1e9:.2f} of {machine['memory_total_bytes'] / 1e9:.1f} GB at the peak.",
        ),
        ("Disk", f"{machine['disk_read_bytes'] / 1e6:.1f} MB read, {machine['disk_written_bytes'] / 1e6:.1f} written."),
        ("Network", f"{machine['received_bytes'] / 1e6:.1f} MB received, {machine['sent_bytes'] / 1e6:.1f} sent."),
    ]
    series = machine["series"]
    times = series["time_s"]
    plots = line(times, series["cpu"], 1.0, "100 % busy", "CPU of the machine")
    plots += line(times, series["memory"], 1.0, "100 % in use", "Memory of the machine")
    for name, title in (
        ("disk_read_bytes_s", "Read from disks"),
        ("disk_written_bytes_s", "Written to disks"),
        ("received_bytes_s", "Received by network"),
        ("sent_bytes_s", "Sent by network"),
    ):
        values = series[name]
        if any(values):  # a line along the bottom tells nothing
            plots += line(times, values, max(values), f"{max(values) / 1e6:.3g} MB/s", title)
    return _items(told) + _grid(plots)


def _grid(plots: str) -> str:
    if not plots:
        return ""
    columns = "repeat(auto-fit,minmax(min(100%,22rem),1fr))"
    return f'<div style="display:grid;grid-template-columns:{columns};gap:1rem;margin-top:1rem">{plots}</div>'


def _kernels(kernels: Mapping[str, Any] | None) -> str:
    if kernels is None or not kernels["rows"]:
        return ""
    rows = [(f"{row['name']}, {row['calls']} calls", round(row["self_ms"], 1)) for row in kernels["rows"]]
    told = f"Milliseconds of their own on the {kernels['on'].upper()}, in {kernels['num_steps']} traced "
    told += "step." if kernels["num_steps"] == 1 else "steps."
    if kernels["idle_between_kernels"] is not None:
        told += f" {kernels['idle_between_kernels']:.0%} of the time lies between kernels."
    return bars(rows) + _note(told)
