"""A template may name what is known when it is sent; everything else is a mistake of the file."""

from pathlib import Path

import pytest

from onecharge.service_file import ServiceFile, read_service_file
from onecharge.toml_file import FileError

GOOD = """
headers_command = ["{python}", "sign.py", "{order}"]

[service]
name = "shop"
command = ["{python}", "shop.py"]

[database]
kind = "postgresql"

[provider]
dialect = "stripe"

[[prepare]]
method = "GET"
path = "/login"
capture_text = { csrf = 'value="([^"]+)"' }

[[prepare]]
path = "/login"
form = { csrf = "{csrf}", user = "{customer}" }
capture = { session = "$.session" }
capture_headers = { trace = "X-Trace" }
capture_cookies = { seen = "seen" }

[charge]
path = "/charges"
headers = { Authorization = "Bearer {session}", X-Trace = "{trace}", X-Seen = "{seen}" }
json = { amount = "{amount_decimal}", order = "{order}" }

[charge.answer]
capture = { intent = "$.intent" }
stable_fields = ["$.receipt"]

[charge.poll]
path = "/charges/{charge}"

[[browser]]
path = "/v1/payment_intents/{intent}/confirm"

[refund]
path = "/charges/{charge}/refunds"
headers = { Idempotency-Key = "{key}" }

[capture]
path = "/charges/{charge}/capture"

[read]
sql = "select status, id::text as charge from orders where reference = :order and c = :customer"

[effects]
command = ["{python}", "effects.py", "{order}", "{charge}"]

[tick]
command = ["{python}", "reconcile.py", "{database_url}"]

[webhook]
path = "/hooks"
"""


def read(text: str, tmp_path: Path) -> ServiceFile:
    path = tmp_path / "onecharge.toml"
    path.write_text(text)
    return read_service_file(path)


def test_every_name_is_known_where_it_is_used(tmp_path: Path) -> None:
    file = read(GOOD, tmp_path)

    assert [step.captured for step in file.prepare] == [("csrf",), ("session", "trace", "seen")]
    assert file.read is not None
    assert file.read.parameters == ("order", "customer")
    assert file.capabilities.refunds


def test_without_a_refund_request_nobody_refunds(tmp_path: Path) -> None:
    text = GOOD.replace("[refund]", "[other]")
    without = text[: text.index("[other]")] + text[text.index("[capture]") :]

    assert not read(without, tmp_path).capabilities.refunds


@pytest.mark.parametrize(
    "old, new, says",
    [
        (
            '"sign.py", "{order}"',
            '"sign.py", "{charge}"',
            ":2: headers_command: unknown placeholder {charge}; known here: {amount_decimal}",
        ),
        (
            'csrf = "{csrf}", user',
            'csrf = "{session}", user',
            ":21: prepare[2].form.csrf: unknown placeholder {session}; known here:",
        ),
        (
            'capture = { session = "$.session" }',
            'capture = { order = "$.session" }',
            ":22: prepare[2].capture.order: expected a name of its own, found 'order', which",
        ),
        (
            'capture = { session = "$.session" }',
            'capture = { session = "$..[" }',
            ":22: prepare[2].capture: expected a JSONPath, found '$..['",
        ),
        (
            'capture_text = { csrf = \'value="([^"]+)"\' }',
            "capture_text = { csrf = 'value' }",
            ":17: prepare[1].capture_text: expected one group in 'value', found 0",
        ),
        (
            'capture_text = { csrf = \'value="([^"]+)"\' }',
            "capture_text = { csrf = '(' }",
            ":17: prepare[1].capture_text: expected a regular expression, found '('",
        ),
        (
            '"Bearer {session}"',
            '"Bearer {charge}"',
            ":28: charge.headers.Authorization: unknown placeholder {charge}",
        ),
        (
            "/payment_intents/{intent}/",
            "/payment_intents/{client_secret}/",
            ":39: browser[1].path: unknown placeholder {client_secret}; known here:",
        ),
        (
            ":customer",
            ":buyer",
            ":49: read.sql: unknown parameter :buyer; known here: :amount_decimal",
        ),
        (
            '[database]\nkind = "postgresql"\n',
            "\n\n",
            ":48: read.url: required, but missing: without a table [database] nobody knows",
        ),
        (
            "[read]\nsql",
            '[read]\nurl = "oracle://x/y"\nsql',
            ":49: read.url: oracle",
        ),
        (
            "[read]\nsql",
            '[read]\nurl = "a database"\nsql',
            ":49: read.url: expected a SQLAlchemy URL",
        ),
        (
            "[read]\nsql",
            '[read]\npath = "/x"\nsql',
            ":48: read: expected exactly one of path, sql and command, found path and sql",
        ),
        (
            '"reconcile.py", "{database_url}"',
            '"reconcile.py", "{order}"',
            ":55: tick.command: unknown placeholder {order}; known here: {database_url}",
        ),
        (
            "[tick]\n",
            '[tick]\npath = "/tick"\n',
            ":54: tick: expected either path or command, found both",
        ),
        (
            'json = { amount = "{amount_decimal}", order = "{order}" }',
            'json = { amount = 1 }\nform = { order = "x" }',
            ":26: charge: expected json or form as the body, found both",
        ),
    ],
)
def test_a_mistake_is_named_with_line_and_field(
    old: str, new: str, says: str, tmp_path: Path
) -> None:
    assert old in GOOD
    text = GOOD.replace(old, new, 1)

    with pytest.raises(FileError) as error:
        read(text, tmp_path)

    assert f"onecharge.toml{says}" in str(error.value)


def test_refunds_that_nobody_can_ask_for_are_a_mistake(tmp_path: Path) -> None:
    before, _, rest = GOOD.partition("[refund]")
    text = before + "[capabilities]\nrefunds = true\n[capture]" + rest.partition("[capture]")[2]

    with pytest.raises(FileError, match=r"capabilities\.refunds: table \[refund\] is missing"):
        read(text, tmp_path)
