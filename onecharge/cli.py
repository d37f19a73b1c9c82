"""The command line.

Rule 1: exit codes are 0 holds, 1 violated, 2 wrong usage or configuration or a failed control,
        3 unknown.
Rule 2: a user's mistake is one clear sentence on standard error; only our own bugs trace back.
Rule 3: a bug of ours is *unknown*: Python's own exit code for it would read as *violated*.
"""

import difflib
import os
import sys
import traceback
from collections.abc import Callable, Iterable
from dataclasses import replace
from enum import StrEnum
from itertools import chain
from pathlib import Path
from typing import Annotated, NoReturn

import typer
from rich.console import Console

from onecharge import first_steps
from onecharge.catalogues import table_of
from onecharge.engine.scope import Scope
from onecharge.engine.scopes import SCOPES
from onecharge.explored import Parts
from onecharge.exploring.batches import is_batch
from onecharge.exploring.counterexample import is_counterexample, read_counterexample
from onecharge.exploring.exploration import Budget, Exploration
from onecharge.exploring.repetition import Repetition
from onecharge.exploring.troubles import Troubles
from onecharge.loops import run_to_end
from onecharge.mistakes import USERS_MISTAKES
from onecharge.report.outputs import Outputs
from onecharge.report.terminal import Terminal
from onecharge.scenario_file import Scenario, library, named_scenario, read_scenario_file
from onecharge.service_file import TEST_SECRET
from onecharge.stored_run import PAGE, VERDICT, stored_run
from onecharge.targets import Target, WrongUsage, target
from onecharge.verdict import RunVerdict
from onecharge.verify import Run, Schedules, ToExplore, new_run_folder
from simulator.core.provider import Keys
from simulator.redaction import redacted
from simulator.server import JournalKind
from simulator.server import serve as serve_provider

app = typer.Typer(
    add_completion=False,
    no_args_is_help=True,
    pretty_exceptions_enable=False,
    help="Prove that one order is charged once: a fake provider that makes everything repeat "
    "itself, and a judge who counts the charges.",
)
first_steps.add_to(app)

ServiceOption = Annotated[
    Path | None,
    typer.Option(
        "--service",
        metavar="FILE",
        help="The service file of the service to judge. Default: onecharge.toml, if it is here; "
        "else the reference.",
    ),
]
MutantOption = Annotated[
    str | None,
    typer.Option("--mutant", metavar="NAME", help="The reference with one guard broken."),
]
SeedOption = Annotated[
    int, typer.Option("--seed", metavar="N", min=0, help="Decides ids, faults and order.")
]
JsonOption = Annotated[
    Path | None, typer.Option("--json", metavar="FILE", help="Write the verdict here as well.")
]
JunitOption = Annotated[
    Path | None,
    typer.Option("--junit", metavar="FILE", help="Write it as JUnit XML, for a CI server."),
]
HtmlOption = Annotated[
    Path | None,
    typer.Option("--html", metavar="FILE", help="Write it as one page, for a person."),
]


class Catalogue(StrEnum):
    """What can be listed."""

    scenarios = "scenarios"
    faults = "faults"
    dialects = "dialects"
    invariants = "invariants"
    mutants = "mutants"


@app.command()
def verify(  # noqa: PLR0917 - typer calls it by name
    service: ServiceOption = None,
    mutant: MutantOption = None,
    scenario: Annotated[
        list[str] | None,
        typer.Option("--scenario", metavar="NAME", help="Only this one; may be given again."),
    ] = None,
    explore_s: Annotated[
        float | None,
        typer.Option(
            "--explore",
            metavar="S",
            min=0,
            max=86_400,
            help="Explore for so many seconds as well. Default: as the service file says, "
            "if no scenario is named.",
        ),
    ] = None,
    seed: SeedOption = 1,
    json_file: JsonOption = None,
    junit_file: JunitOption = None,
    html_file: HtmlOption = None,
) -> None:
    """Play the library of scenarios against a service and judge it."""
    outputs = Outputs.asked(json_file, junit_file, html_file, os.environ)
    wanted, scenarios = target(service, mutant), _named(scenario or [])
    if explore_s is None:
        explore_s = 0 if scenario else wanted.service_file.explore.budget_s

    def beside(parts: Parts) -> list[Schedules]:
        return _schedules(wanted, seed, Budget(explore_s), parts)

    _run(wanted, scenarios, seed, outputs, beside if explore_s else None)


@app.command()
def explore(  # noqa: PLR0917 - typer calls it by name
    service: ServiceOption = None,
    mutant: MutantOption = None,
    budget: Annotated[
        float, typer.Option("--budget", metavar="S", min=1, max=86_400, help="So many seconds.")
    ] = 30,
    bound: Annotated[
        int | None,
        typer.Option(
            "--bound",
            metavar="N",
            min=0,
            help="Systematically, at most so many deviations from the usual order.",
        ),
    ] = None,
    seed: SeedOption = 1,
    scope: Annotated[
        list[str] | None,
        typer.Option("--scope", metavar="NAME", help="Only this one; may be given again."),
    ] = None,
    json_file: JsonOption = None,
    junit_file: JunitOption = None,
    html_file: HtmlOption = None,
) -> None:
    """Try every order in which requests, statements, provider calls and webhooks can happen.

    That is half of the budget. In the other, before, every single trouble is tried, and every pair
    of them as far as there is time. The first violation ends it: it is made small, repeated twenty
    times and written to counterexample.toml, with a test for pytest beside it. That takes no longer
    than to find it may.
    """
    outputs = Outputs.asked(json_file, junit_file, html_file, os.environ)
    wanted, scopes = target(service, mutant), _scopes_named(scope or [])

    def everything(parts: Parts) -> list[Schedules]:
        if scope:
            return [Exploration(wanted, seed, Budget(budget, bound), parts, scopes=scopes)]
        return _schedules(wanted, seed, Budget(budget, bound), parts)

    _run(wanted, [], seed, outputs, everything)


@app.command()
def run(  # noqa: PLR0917 - typer calls it by name
    file: Annotated[
        Path, typer.Argument(metavar="FILE", help="A scenario file, or a counterexample.")
    ],
    service: ServiceOption = None,
    mutant: MutantOption = None,
    seed: Annotated[
        int | None,
        typer.Option("--seed", metavar="N", min=0, help="Decides ids, faults and order."),
    ] = None,
    json_file: JsonOption = None,
    junit_file: JunitOption = None,
    html_file: HtmlOption = None,
) -> None:
    """Play one scenario file against a service and judge it, or repeat a counterexample.

    A counterexample is played twenty times, on the service that it was found on unless another is
    named.
    """
    outputs = Outputs.asked(json_file, junit_file, html_file, os.environ)
    if not is_counterexample(file):
        scenario = read_scenario_file(file)
        _run(target(service, mutant), [scenario], 1 if seed is None else seed, outputs)
    example = read_counterexample(file)
    wanted, own_seed = example.target(service, mutant), example.file.seed if seed is None else seed

    def repetition(parts: Parts) -> list[Schedules]:
        return [Repetition(example, wanted, own_seed, parts)]

    _run(wanted, [], own_seed, outputs, repetition)


@app.command()
def report(
    of_run: Annotated[
        str | None,
        typer.Argument(
            metavar="[RUN]", help="A run's folder, or its name. Default: the newest run."
        ),
    ] = None,
    json_file: JsonOption = None,
    junit_file: JunitOption = None,
    html_file: HtmlOption = None,
) -> None:
    """Judge a run again from its histories, by the invariants of today, and report on it."""
    stored = stored_run(of_run)
    page = html_file or stored.folder / PAGE
    outputs = Outputs.asked(json_file, junit_file, page, os.environ)
    terminal = Terminal()
    verdict = stored.judged()
    played = [one for one in verdict.scenarios if not is_batch(one.name)]
    terminal.title(stored.service, len(played), verdict.seed, len(verdict.parts))
    for one in played:
        if not one.lacking:
            terminal.scenario(one)
    for part in verdict.parts:
        terminal.explored(part)
    terminal.verdict(verdict, page)
    _end(verdict, outputs.write(verdict, stored))


@app.command("list")
def list_(what: Annotated[Catalogue, typer.Argument()]) -> None:
    """Show what there is of a kind."""
    table = table_of(what.value)
    Terminal().table(table.title, table.headers, table.rows)


@app.command()
def serve(  # noqa: PLR0917 - typer calls it by name
    dialect: Annotated[str, typer.Option(help="Which provider to play.")] = "generic",
    host: Annotated[str, typer.Option(help="Where to listen.")] = "127.0.0.1",
    port: Annotated[int, typer.Option(min=0, max=65535, help="0 takes a free one.")] = 0,
    seed: SeedOption = 1,
    webhook: Annotated[
        str | None, typer.Option(metavar="URL", help="Where to deliver events.")
    ] = None,
    secret: Annotated[str, typer.Option(help="What events are signed with.")] = TEST_SECRET,
    token: Annotated[
        str | None, typer.Option(help="Demanded by /_sim/ when not on loopback.")
    ] = None,
    time_scale: Annotated[
        float, typer.Option(min=0.001, max=1e6, help="Virtual seconds in a real one.")
    ] = 1.0,
    keys: Annotated[
        Keys, typer.Option(help="Whether idempotency keys mean anything to it.")
    ] = "honoured",
    journal: Annotated[
        JournalKind,
        typer.Option(help="counted: for a soak, which keeps the ledger and counts the rest."),
    ] = "kept",
) -> None:
    """Run the provider simulator alone, until it is interrupted."""
    run_to_end(
        serve_provider(
            dialect=dialect,
            host=host,
            port=port,
            seed=seed,
            endpoints=[(webhook, secret)] if webhook else [],
            token=token,
            time_scale=time_scale,
            keys=keys,
            journal=journal,
        )
    )


def main() -> NoReturn:
    """Run the command line; a user's mistake ends in one sentence and exit code 2."""
    try:
        app()
    except USERS_MISTAKES as mistake:
        _complain(str(mistake))
        sys.exit(2)
    except Exception:  # noqa: BLE001 - rule 3
        traceback.print_exc()
        sys.exit(3)
    sys.exit(0)


def _run(
    wanted: Target,
    scenarios: list[Scenario],
    seed: int,
    outputs: Outputs,
    schedules: Callable[[Parts], list[Schedules]] | None = None,
) -> NoReturn:
    folder = new_run_folder(seed)
    terminal = Terminal()
    parts = Parts(folder, terminal)
    to_explore = ToExplore(schedules(parts) if schedules else (), parts.all)
    terminal.title(wanted.name, len(scenarios), seed, len(to_explore.names))
    of_it = Run(
        wanted,
        scenarios,
        seed,
        folder=folder,
        listener=terminal,
        server_url=os.environ.get("DATABASE_URL"),
        to_explore=to_explore,
    )
    verdict = run_to_end(of_it.verdict())
    terminal.verdict(verdict, folder / PAGE)
    stored = stored_run(str(folder))
    own = Outputs(json=folder / VERDICT, html=folder / PAGE)
    _end(verdict, chain(own.write(verdict, stored), outputs.write(verdict, stored)))


def _end(verdict: RunVerdict, troubles: Iterable[str]) -> NoReturn:
    """End with the verdict's exit code; say what could not be written, and call nothing green."""
    failed = False
    for trouble in troubles:
        _complain(trouble)
        failed = True
    sys.exit(verdict.exit_code() or (3 if failed else 0))


def _complain(says: str) -> None:
    console = Console(stderr=True, highlight=False)
    console.print(f"onecharge: {redacted(says)}", markup=False, soft_wrap=True, style="red")


def _schedules(wanted: Target, seed: int, budget: Budget, parts: Parts) -> list[Schedules]:
    """Return what is explored: troubles and their pairs in one half of the time, then orders."""
    half = replace(budget, seconds=budget.seconds / 2)
    return [Troubles(wanted, seed, half, parts), Exploration(wanted, seed, half, parts)]


def _named(names: list[str]) -> list[Scenario]:
    return [named_scenario(name) for name in (names or library())]


def _scopes_named(names: list[str]) -> list[Scope]:
    for name in names:
        if name not in SCOPES:
            near = difflib.get_close_matches(name, SCOPES, n=1)
            hint = f"did you mean {near[0]!r}?" if near else f"there are: {', '.join(SCOPES)}"
            raise WrongUsage(f"--scope: no scope is called {name!r}; {hint}")
    return [SCOPES[name] for name in (dict.fromkeys(names) or SCOPES)]
