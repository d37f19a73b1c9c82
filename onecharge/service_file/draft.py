"""A first service file: what a few answers already say, and the rest as comments to fill in.

Rule 1: what comes out can be read as it is; what is not known yet is a comment or declared absent.
Rule 2: every section that there is appears, so that nobody has to know it exists.
"""

import json
import re
import shlex
from dataclasses import dataclass

SCHEMA_FILE = "onecharge.schema.json"


@dataclass(frozen=True)
class Answers:
    """What somebody says of a service. An empty text: there is none."""

    name: str
    command: str = ""
    setup: tuple[str, ...] = ()
    urls: tuple[str, ...] = ()
    listen: str = "127.0.0.1:12111"
    instances: int = 1
    ready: str = "/"
    port_variable: str = "PORT"
    provider_variable: str = "PROVIDER_URL"
    key_variable: str = "PROVIDER_KEY"
    secret_variable: str = "WEBHOOK_SECRET"  # noqa: S105 - the name of a variable
    database_variable: str = ""
    database_scheme: str = "postgresql"
    redis_variable: str = ""
    dialect: str = "generic"
    charge: str = "/charges"
    key_header: str = "Idempotency-Key"
    order_field: str = "order"
    amount_field: str = "amount_minor"
    currency_field: str = "currency"
    customer_field: str = "customer"
    succeeded: tuple[str, ...] = ("succeeded",)
    pending: tuple[str, ...] = ("pending", "processing")
    failed: tuple[str, ...] = ("failed",)
    read: str = ""
    webhook: str = ""
    schema: bool = False


def drafted(answers: Answers) -> str:
    """Return the text of a service file."""
    parts = (
        _head(answers),
        _service(answers),
        _database(answers),
        _redis(answers),
        _provider(answers),
        _ORDERS,
        _PREPARE,
        _charge(answers),
        _AFTER_A_CHARGE,
        _read(answers),
        _EFFECTS,
        _webhook(answers),
        _TICK,
        _TIMING,
        _capabilities(answers),
        _explore(answers),
    )
    return "\n".join(part.strip("\n") + "\n" for part in parts if part)


def _head(answers: Answers) -> str:
    schema = f"#:schema {SCHEMA_FILE}\n" if answers.schema else ""
    return f"""{schema}\
# How onecharge starts this service, talks to it and reads what it believes.
# Try it with:  onecharge check --service FILE     then:  onecharge verify --service FILE
"""


def _service(answers: Answers) -> str:
    if not answers.command:
        return f"""
[service]
name = {_text(answers.name)}
urls = {_list(answers.urls)}  # it runs already; nothing of it is started or killed
ready = {_text(answers.ready)}
"""
    env = {
        answers.port_variable: "{port}",
        answers.provider_variable: "{provider_url}",
        answers.key_variable: "{provider_key}",
        answers.secret_variable: "{webhook_secret}" if answers.webhook else "",
        answers.database_variable: "{database_url}",
        answers.redis_variable: "{redis_url}",
    }
    variables = "\n".join(
        f"{_key(name)} = {_text(value)}" for name, value in env.items() if name and value
    )
    commands = [_list(shlex.split(each)) for each in answers.setup]
    setup = '# setup = [["{python}", "manage.py", "migrate"]]  # run before the first start'
    if commands:
        setup = f"setup = [{', '.join(commands)}]  # run before the first start"
    return f"""
[service]
name = {_text(answers.name)}
command = {_list(shlex.split(answers.command))}
instances = {answers.instances}  # two find races that one cannot have
ready = {_text(answers.ready)}  # asked until it is answered with a status below 400
{setup}

[service.env]
{variables}

# [[service.workers]]  # a process beside them that listens nowhere
# name = "outbox"
# command = ["{{python}}", "worker.py"]
"""


def _database(answers: Answers) -> str:
    if not answers.database_variable:
        return ""
    return f"""
[database]
kind = "postgresql"  # a fresh one, for this run alone
scheme = {_text(answers.database_scheme)}  # or "postgresql+psycopg", "postgres": your driver's
"""


def _redis(answers: Answers) -> str:
    if not answers.command:
        return ""
    if not answers.redis_variable:
        return """
# [redis]  # an empty one, for this run alone: {redis_url} in [service.env]
"""
    return """
[redis]  # an empty one, for this run alone
# url = "redis://127.0.0.1:6379/9"  # or an empty database of one that runs already
"""


def _provider(answers: Answers) -> str:
    listen = (
        ""
        if answers.command
        else f"listen = {_text(answers.listen)}  # where the service must look for its provider\n"
    )
    return f"""
[provider]
dialect = {_text(answers.dialect)}
timeout_s = 10  # after how long the service gives a provider call up
{listen}"""


def _charge(answers: Answers) -> str:
    headers = f'headers = {{ {_key(answers.key_header)} = "{{key}}" }}\n'
    fields = {
        answers.order_field: "{order}",
        answers.amount_field: "{amount_minor}",
        answers.currency_field: "{currency}",
        answers.customer_field: "{customer}",
    }
    body = ", ".join(f"{_key(name)} = {_text(value)}" for name, value in fields.items() if name)
    return f"""
[charge]  # how a customer pays
path = {_text(answers.charge)}
{headers if answers.key_header else ""}json = {{ {body} }}  # or: form = {{ … }}

[charge.answer]  # how the answer to it is read
status = "$.status"
charge = "$.id"
succeeded = {_list(answers.succeeded)}
pending = {_list(answers.pending)}
failed = {_list(answers.failed)}
"""


def _read(answers: Answers) -> str:
    if not answers.read:
        return """
# [read]  # what the service believes of an order: by path, by sql or by command
# path = "/orders/{order}"
# status = "$.status"
"""
    return f"""
[read]  # what the service believes of an order
path = {_text(answers.read)}
status = "$.status"
charge = "$.id"
# amount_minor = "$.amount_minor"
"""


def _webhook(answers: Answers) -> str:
    if not answers.webhook:
        return """
# [webhook]  # where the provider's events go
# path = "/webhooks"
"""
    return f"""
[webhook]
path = {_text(answers.webhook)}
"""


def _capabilities(answers: Answers) -> str:
    absent = [
        name
        for name, there in (("webhooks", answers.webhook), ("read_back", answers.read))
        if not there
    ]
    lines = "\n".join(f"{name} = false" for name in [*absent, "effects", "refunds", "tenants"])
    return f"""
[capabilities]  # what it has not; take a line out when you have described the table for it
{lines}
"""


def _explore(answers: Answers) -> str:
    if not answers.command:
        return ""
    return """
# [explore.env]  # while orders are tried out, in place of [service.env]: no loops in the way
# RECONCILE_EVERY_S = "3600"
"""


def _text(text: str) -> str:
    return json.dumps(text, ensure_ascii=False)


def _key(name: str) -> str:
    return name if re.fullmatch(r"[A-Za-z0-9_-]+", name) else _text(name)


def _list(texts: tuple[str, ...] | list[str]) -> str:
    return f"[{', '.join(map(_text, texts))}]"


_ORDERS = """
# [orders]
# amounts = [1999, 4900]  # a fixed price list in minor units
# currency = "EUR"
"""

_PREPARE = """
# [tenants]  # {token} in a header says who asks
# shop = "tok_shop"

# [[prepare]]  # before the first press of each order: log in, fill a cart
# path = "/login"
# json = { user = "{customer}" }
# capture = { session = "$.token" }  # then {session} in all that follows
"""

_AFTER_A_CHARGE = """
# [charge.poll]  # after an answer that reads as pending
# path = "/charges/{charge}"

# [[browser]]  # what the customer's browser does at the provider
# path = "/v1/payment_intents/{intent}/confirm"
# form = { client_secret = "{client_secret}", payment_method = "pm_card_visa" }

# [refund]
# path = "/charges/{charge}/refunds"
# headers = { Idempotency-Key = "{key}" }
# json = { amount_minor = "{amount_minor}" }

# [capture]  # for a service that authorises first
# path = "/charges/{charge}/capture"
"""

_EFFECTS = """
# [effects]  # what it has booked for an order: by path, by sql or by command
# sql = "select amount_minor, event_id as event from ledger where reference = :order"
"""

_TICK = """
# [tick]  # a reconciler or cron that somebody must start
# command = ["{python}", "manage.py", "reconcile"]
"""

_TIMING = """
[timing]
answers_within_s = 10
# settles_within_s = 6         # after faults stop, until every order is settled
# calls_provider_within_s = 5  # it answers first, and a worker charges
# books_within_s = 5           # it takes an event first, and books it later
"""
