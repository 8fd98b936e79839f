"""``spokesmodel train``: weights of one's own."""

from __future__ import annotations

import sys
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Final

import typer

from services.domain.errors import Unavailable
from spokesmodel.cli.folders import require_folder
from spokesmodel.cli.output import AsJson, print_json, progress_bar, told_errors

if TYPE_CHECKING:
    from training.base.base import BaseFigures
    from training.base.stages import Progress

app: Final = typer.Typer(
    name="train", help="Train weights of your own. Needs the extra `training`.", no_args_is_help=True
)


@app.command("base")
def base(
    out: Annotated[
        Path, typer.Option(metavar="FOLDER", help="Where the run is kept; the same folder goes on with a stopped run.")
    ],
    seed: Annotated[int, typer.Option(min=0, help="One seed, one set of weights (on one machine).")] = 1,
    minutes: Annotated[
        float | None, typer.Option(min=0.01, help="CPU-minutes, where the standard run takes 20; about so many.")
    ] = None,
    steps: Annotated[
        int | None,
        typer.Option(min=1, help="Of the denoiser; all else in proportion. Standard: 2000."),
    ] = None,
    as_json: AsJson = False,
) -> None:
    """Make drawn-64, the small checkpoint that everything around LoRAs is verified with, from nothing.

    Draws catalogue pictures, trains an autoencoder, a denoiser and an independent checker, and says how many pictures
    of combinations that training never saw are right. FOLDER/drawn64 is then a checkpoint; `purpose: verification`.
    """
    with told_errors(as_json):
        if minutes is not None and steps is not None:
            raise typer.BadParameter("give --minutes or --steps, not both")
        figures = _trained(out, seed, minutes, steps, as_json)
        if as_json:
            print_json(asdict(figures))
        else:
            _print(out, figures)


def _trained(out: Path, seed: int, minutes: float | None, steps: int | None, as_json: bool) -> BaseFigures:
    try:
        from training.base.base import BasePlan, train_base
    except ImportError as error:
        raise Unavailable(
            "Training needs the extra: pip install 'spokesmodel[training]'.",
            code="engine_not_installed",
            retryable=False,
        ) from error
    require_folder(out)
    plan = BasePlan(seed=seed).shortened(minutes=minutes, steps=steps)
    with progress_bar(as_json) as tell:

        def on_progress(progress: Progress) -> None:
            stage = f"{progress.stage} {progress.step}/{progress.num_steps}"
            line = f"{stage}, loss {progress.loss:.3f}, {progress.cpu_s:.0f} CPU-s"
            tell(line, progress.step / progress.num_steps)
            if not (as_json or sys.stderr.isatty()):  # a log has no bar
                typer.echo(line, err=True)

        return train_base(out, plan, on_progress)


def _print(out: Path, figures: BaseFigures) -> None:
    typer.echo(f"{out / 'drawn64'}: trained in {sum(figures.cpu_s.values()):.0f} CPU-seconds")
    typer.echo(f"  combinations left out  {figures.left_out_right:.1%} of {figures.num_checked} pictures are right")
    for name, share in figures.left_out_attributes.items():
        typer.echo(f"    {name:<20} {share:.1%}")
    typer.echo(f"  combinations seen      {figures.seen_right:.1%}")
    typer.echo(f"  autoencoder            PSNR {figures.autoencoder_psnr_db:.1f} dB")
    typer.echo(f"  pictures               {out / 'samples.png'}")
