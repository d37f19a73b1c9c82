"""The commands of somebody's first five minutes: ``init``, ``check`` and ``schema``.

Rule 1: whatever ``init`` asks can be said by an option, and ``--yes`` asks nothing.
Rule 2: a file that is there is never overwritten, unless ``--force`` says so.
Rule 3: what ``init`` writes has been read as a service file before it is written.
"""

import json
import os
import sys
from pathlib import Path
from typing import Annotated, Any, Final

import typer

from onecharge.check import check as clean_control_of
from onecharge.loops import run_to_end
from onecharge.report.terminal import Terminal
from onecharge.service_file import (
    SCHEMA_FILE,
    Answers,
    drafted,
    json_schema,
    service_file_of,
)
from onecharge.targets import WrongUsage, target
from onecharge.toml_file import FileError
from onecharge.verify import new_run_folder
from simulator import catalogue

SERVICE_FILE: Final = Path("onecharge.toml")

FileArgument = Annotated[Path, typer.Argument(metavar="FILE", help="Where to write it.")]


def _option(name: str, says: str, **more: Any) -> Any:
    return typer.Option(f"--{name}", help=says, show_default=False, **more)


def init(  # noqa: PLR0917 - typer calls it by name
    file: FileArgument = SERVICE_FILE,
    name: Annotated[str | None, _option("name", "What reports call the service.")] = None,
    command: Annotated[
        str | None, _option("command", "What starts it, as in a shell; empty: it runs already.")
    ] = None,
    url: Annotated[
        list[str] | None, _option("url", "Where it listens, if it runs already; may be repeated.")
    ] = None,
    listen: Annotated[
        str | None, _option("listen", "Where the provider is to listen, if the service runs.")
    ] = None,
    setup: Annotated[
        list[str] | None,
        _option("setup", "What is run before it is started, as migrations; may be repeated."),
    ] = None,
    instances: Annotated[int | None, _option("instances", "How many copies run.", min=1)] = None,
    ready: Annotated[str | None, _option("ready", "The path that says it is ready.")] = None,
    port_variable: Annotated[
        str | None, _option("port-variable", "Its variable for the port to listen on.")
    ] = None,
    provider_variable: Annotated[
        str | None, _option("provider-variable", "Its variable for the provider's base URL.")
    ] = None,
    key_variable: Annotated[
        str | None, _option("key-variable", "Its variable for the provider's key.")
    ] = None,
    secret_variable: Annotated[
        str | None, _option("secret-variable", "Its variable for the webhook secret.")
    ] = None,
    database_variable: Annotated[
        str | None, _option("database-variable", "Its variable for a PostgreSQL URL; empty: none.")
    ] = None,
    database_scheme: Annotated[
        str | None, _option("database-scheme", "What that URL begins with: postgresql+psycopg, …")
    ] = None,
    redis_variable: Annotated[
        str | None, _option("redis-variable", "Its variable for a Redis URL; empty: none.")
    ] = None,
    dialect: Annotated[str | None, _option("dialect", "Which provider it calls.")] = None,
    charge: Annotated[str | None, _option("charge", "The path by which a customer pays.")] = None,
    key_header: Annotated[
        str | None, _option("key-header", "The header of the idempotency key; empty: none.")
    ] = None,
    order_field: Annotated[
        str | None, _option("order-field", "The field of the order's reference; empty: none.")
    ] = None,
    amount_field: Annotated[
        str | None, _option("amount-field", "The field of the amount, in minor units.")
    ] = None,
    currency_field: Annotated[
        str | None, _option("currency-field", "The field of the currency; empty: none.")
    ] = None,
    customer_field: Annotated[
        str | None, _option("customer-field", "The field of the customer; empty: none.")
    ] = None,
    succeeded: Annotated[
        list[str] | None,
        _option("succeeded", "Its word for a charge that went through; may be repeated."),
    ] = None,
    pending: Annotated[
        list[str] | None, _option("pending", "Its word for one whose end is open; may be repeated.")
    ] = None,
    failed: Annotated[
        list[str] | None, _option("failed", "Its word for a declined one; may be repeated.")
    ] = None,
    read: Annotated[
        str | None, _option("read", "The path that tells of an order, with {order}; empty: none.")
    ] = None,
    webhook: Annotated[
        str | None, _option("webhook", "The path that takes events; empty: none.")
    ] = None,
    schema: Annotated[  # noqa: FBT002 - an option
        bool, _option("schema", f"Write {SCHEMA_FILE} beside it, for editors.")
    ] = False,
    yes: Annotated[  # noqa: FBT002 - an option
        bool, _option("yes", "Ask nothing: what no option says is as usual.")
    ] = False,
    force: Annotated[  # noqa: FBT002 - an option
        bool, _option("force", "Overwrite what is there.")
    ] = False,
) -> None:
    """Write a first service file, by asking a few questions or from options."""
    targets = [file, *([file.with_name(SCHEMA_FILE)] if schema else [])]
    for each in targets:
        if each.exists() and not force:
            raise WrongUsage(f"{each}: is there already; --force overwrites it")
    if not file.parent.is_dir():
        raise WrongUsage(f"{file}: no such folder: {file.parent}")
    ask = _asker(quiet=yes or not sys.stdin.isatty())
    attached = command == "" or (command is None and bool(url))
    usual = Answers(name=file.resolve().parent.name or "service")
    if not attached:
        command = ask(command, "Command that starts it (empty: it runs already)", "")
        attached = not command
    answers = Answers(
        name=ask(name, "Name of the service", usual.name),
        command=command or "",
        setup=tuple(setup or ()),
        urls=tuple(url or _urls_asked(ask)) if attached else (),
        listen=usual.listen if listen is None else listen,
        instances=instances or usual.instances,
        ready=ask(ready, "Path that says it is ready", usual.ready),
        port_variable=_or_usual(port_variable, usual.port_variable),
        provider_variable=(
            ""
            if attached
            else ask(
                provider_variable,
                "Variable for the provider's base URL",
                usual.provider_variable,
            )
        ),
        key_variable=_or_usual(key_variable, usual.key_variable),
        secret_variable=_or_usual(secret_variable, usual.secret_variable),
        database_variable=(
            ""
            if attached
            else ask(database_variable, "Variable for a PostgreSQL URL (empty: none)", "")
        ),
        database_scheme=_or_usual(database_scheme, usual.database_scheme),
        redis_variable=(
            "" if attached else ask(redis_variable, "Variable for a Redis URL (empty: none)", "")
        ),
        dialect=ask(dialect, f"Provider ({', '.join(catalogue.dialects())})", usual.dialect),
        charge=ask(charge, "Path by which a customer pays (POST)", usual.charge),
        key_header=_or_usual(key_header, usual.key_header),
        order_field=_or_usual(order_field, usual.order_field),
        amount_field=ask(amount_field, "Field of the amount in minor units", usual.amount_field),
        currency_field=_or_usual(currency_field, usual.currency_field),
        customer_field=_or_usual(customer_field, usual.customer_field),
        succeeded=_words(
            ask, succeeded, "Its word for a charge that went through", usual.succeeded
        ),
        pending=tuple(pending or usual.pending),
        failed=tuple(failed or usual.failed),
        read=ask(read, "Path that tells of an order, with {order} (empty: none)", ""),
        webhook=ask(webhook, "Path that takes the provider's events (empty: none)", ""),
        schema=schema,
    )
    try:
        text = drafted(answers)
    except ValueError as error:  # as a shell would say it
        raise WrongUsage(f"--command: {error}: {command}") from None
    service_file_of(text, file)
    _write(file, text)
    if schema:
        _write(file.with_name(SCHEMA_FILE), json.dumps(json_schema(), indent=2) + "\n")
    Terminal().step(f"wrote {' and '.join(map(str, targets))}")
    Terminal().step(f"next: onecharge check --service {file}")


def check(
    service: Annotated[
        Path | None,
        typer.Option("--service", metavar="FILE", help="The service file. Default: as verify's."),
    ] = None,
    seed: Annotated[int, typer.Option("--seed", metavar="N", min=0, help="Decides ids.")] = 1,
) -> None:
    """Run only the clean control, one plain charge, and say step by step what is seen."""
    wanted = target(service, None)
    terminal = Terminal()
    try:
        passed = run_to_end(
            clean_control_of(
                wanted,
                seed,
                folder=new_run_folder(seed),
                ready=terminal.step,
                passed=terminal.passed,
                server_url=os.environ.get("DATABASE_URL"),
            )
        )
    except KeyboardInterrupt:
        raise WrongUsage("interrupted before the clean control had ended") from None
    terminal.passed(f"the clean control passed in {passed.took_s:.2f} s")
    words = f" --service {service}" if service else ""
    terminal.step(f"next: onecharge verify{words}")


def schema() -> None:
    """Print the JSON Schema of service files, for editors."""
    typer.echo(json.dumps(json_schema(), indent=2))


def add_to(app: typer.Typer) -> None:
    """Add the commands to the command line."""
    for command in (init, check, schema):
        app.command()(command)


def _asker(*, quiet: bool) -> Any:
    def ask(said: str | None, question: str, usual: str) -> str:
        if said is not None:
            return said
        return usual if quiet else str(typer.prompt(question, default=usual))

    return ask


def _urls_asked(ask: Any) -> list[str]:
    return str(ask(None, "Where it listens", "http://127.0.0.1:8000")).split()


def _words(
    ask: Any, said: list[str] | None, question: str, usual: tuple[str, ...]
) -> tuple[str, ...]:
    return tuple(said) if said else tuple(ask(None, question, " ".join(usual)).split())


def _or_usual(said: str | None, usual: str) -> str:
    return usual if said is None else said


def _write(path: Path, text: str) -> None:
    try:
        path.write_text(text, encoding="utf-8")
    except OSError as error:
        raise FileError(f"{path}: cannot be written: {error.strerror}") from None
