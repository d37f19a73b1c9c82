"""A first service file can be read as it is, and names every section that there is."""

import re
from pathlib import Path

import pytest

from onecharge.service_file import Answers, ServiceFile, drafted, service_file_of

OWN = Answers(
    name='a "shop"',
    command="node 'my server.js' --port {port}",
    instances=2,
    database_variable="DATABASE_URL",
    read="/orders/{order}",
    webhook="/hooks",
    key_header="X Key",
    setup=("{python} make.py --all", "true"),
    database_scheme="postgresql+psycopg",
    customer_field="",
    succeeded=("paid", "settled"),
)
ATTACHED = Answers(name="shop", urls=("http://127.0.0.1:8000", "http://127.0.0.1:8001"))


def read(text: str) -> ServiceFile:
    return service_file_of(text, Path("onecharge.toml"))


def test_what_is_answered_stands_in_the_file() -> None:
    file = read(drafted(OWN))

    assert file.service.name == 'a "shop"'
    assert file.service.command == ("node", "my server.js", "--port", "{port}")
    assert file.service.instances == 2
    assert file.service.env == {
        "PORT": "{port}",
        "PROVIDER_URL": "{provider_url}",
        "PROVIDER_KEY": "{provider_key}",
        "WEBHOOK_SECRET": "{webhook_secret}",
        "DATABASE_URL": "{database_url}",
    }
    assert file.database is not None
    assert file.charge.headers == {"X Key": "{key}"}
    assert file.database.scheme == "postgresql+psycopg"
    assert file.service.setup == (("{python}", "make.py", "--all"), ("true",))
    assert file.charge.json_body == {
        "order": "{order}",
        "amount_minor": "{amount_minor}",
        "currency": "{currency}",
    }
    assert file.charge.answer.succeeded == ("paid", "settled")
    assert file.read is not None
    assert file.webhook is not None
    assert file.capabilities.lacking({"webhooks", "read_back", "effects"}) == ("effects",)


def test_a_service_that_runs_already_is_attached_to() -> None:
    file = read(drafted(ATTACHED))

    assert file.service.attached
    assert file.service.urls == ATTACHED.urls
    assert file.provider.listen == ATTACHED.listen
    assert file.capabilities.lacking({"webhooks", "read_back"}) == ("read_back", "webhooks")


@pytest.mark.parametrize("dialect", ["generic", "stripe"])
@pytest.mark.parametrize(
    "field",
    ["read", "webhook", "database_variable", "redis_variable", "order_field", "customer_field"],
)
def test_any_answers_make_a_file_that_can_be_read(dialect: str, field: str) -> None:
    answers = Answers("shop", command="app", dialect=dialect, **{field: "/x"})  # type: ignore[arg-type]  # texts all

    assert read(drafted(answers)).provider.dialect == dialect


@pytest.mark.parametrize("answers", [OWN, ATTACHED], ids=["own", "attached"])
def test_every_section_is_there_or_a_comment_away(answers: Answers) -> None:
    named = set(re.findall(r"^(?:# )?\[+([a-z_]+)", drafted(answers), flags=re.MULTILINE))

    absent = {"database", "redis", "explore"} if answers is ATTACHED else set()
    assert named == ServiceFile.model_fields.keys() - {"claims", "headers_command"} - absent


def blocks() -> list[str]:
    """The examples that stand in comments."""
    text = drafted(Answers("shop", command="app"))
    found = re.findall(r"(?:^# .*\n)+", text, flags=re.MULTILINE)
    return [block for block in found if block.startswith(("# [", "# setup"))]


@pytest.mark.parametrize("block", blocks(), ids=lambda block: block.split("\n")[0][2:])
def test_an_example_in_a_comment_is_right(block: str) -> None:
    text = drafted(Answers("shop", command="app", database_variable="DATABASE_URL"))
    if "{client_secret}" in block:
        text = text.replace(
            'charge = "$.id"',
            'charge = "$.id"\ncapture = { intent = "$.intent", client_secret = "$.secret" }',
            1,
        )
    assert block in text
    example = re.sub(r"^# ", "", block, flags=re.MULTILINE)

    read(text.replace(block, example))
