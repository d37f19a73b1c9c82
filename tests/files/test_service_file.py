"""A service file says everything the harness knows of a service; each mistake is one sentence."""

from pathlib import Path

import pytest

from onecharge.service_file import Database, ServiceFile, found, read_service_file
from onecharge.targets import target
from onecharge.toml_file import FileError

LIVE = "_live_"  # in pieces, so that no scanner takes our tests for what they look like

GOOD = """
[service]
name = "shop"
command = ["{python}", "shop.py"]

[service.env]
PORT = "{port}"
PROVIDER_URL = "{provider_url}"

[provider]
dialect = "generic"

[charge]
path = "/charges"
headers = { Idempotency-Key = "{key}" }
json = { amount = "{amount_minor}" }

[read]
path = "/charges?order={order}"

[effects]
path = "/ledger"
each = "$.entries[?@.order == '{order}']"

[webhook]
path = "/hooks"
"""


ATTACHED = """
[service]
name = "shop"
urls = ["http://127.0.0.1:8000/", "http://127.0.0.1:8001"]

[provider]
dialect = "generic"
listen = "127.0.0.1:12111"

[charge]
path = "/charges"

[capabilities]
webhooks = false
read_back = false
effects = false
"""


def read(text: str, tmp_path: Path) -> ServiceFile:
    path = tmp_path / "onecharge.toml"
    path.write_text(text)
    return read_service_file(path)


def error_for(text: str, tmp_path: Path) -> str:
    with pytest.raises(FileError) as error:
        read(text, tmp_path)
    assert str(tmp_path / "onecharge.toml") in str(error.value)
    return str(error.value).removeprefix(str(tmp_path / "onecharge.toml"))


def test_a_good_file_is_read_with_its_folder_beside_it(tmp_path: Path) -> None:
    file = read(GOOD, tmp_path)
    assert file.service.folder == tmp_path.resolve()
    assert file.charge.method == "POST"
    assert file.read is not None
    assert file.read.method == "GET"


def test_the_reference_is_described_by_a_good_file() -> None:
    assert target(None, None).service_file.service.instances == 2


def test_who_names_no_service_means_the_file_that_is_here(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "onecharge.toml").write_text(GOOD)
    monkeypatch.chdir(tmp_path)

    assert target(None, None).words == ("--service", "onecharge.toml")
    assert target(None, "key_ignored").words == ("--mutant", "key_ignored")


@pytest.mark.parametrize(
    "old, new, says",
    [
        (
            "[charge]",
            "[charge]\nurl = '/x'",
            ":14: charge.url: unknown field; known here: method, headers, json, form, path, answer",
        ),
        ('name = "shop"', "", ":2: service.name: required, but missing"),
        ('"generic"', '"strype"', ":11: provider.dialect: expected one of generic"),
        ('"/charges"', '"charges"', ":14: charge.path: string should match"),
        (
            '"{key}"',
            '"{kye}"',
            ":15: charge.headers.Idempotency-Key: unknown placeholder {kye}; known here: {amount",
        ),
        ('"{port}"', '"{prot}"', ":6: service.env: unknown placeholder {prot}; known here:"),
        ("$.entries[?", "$.entries[[?", ":23: effects.each: expected a JSONPath, found"),
        ('command = ["{python}", "shop.py"]', "command = []", ":4: service.command: tuple should"),
        ("[webhook]\npath", "# path", ": table [webhook] is missing; write it, or declare"),
        (
            'name = "shop"',
            'name = "shop"\nfolder = "elsewhere"',
            ":4: service.folder: no such folder",
        ),
        ('name = "shop"', 'name = "shop"\ninstances = 0', ":4: service.instances: input should be"),
        (
            'name = "shop"',
            'name = "shop"\nurls = ["http://127.0.0.1:1"]',
            ":4: service.urls: only for a service that runs already (attached mode)",
        ),
        ('command = ["{python}", "shop.py"]', "", ":2: service.command: required, but missing: "),
        (
            'dialect = "generic"',
            'dialect = "generic"\nlisten = "127.0.0.1:12111"',
            ":12: provider.listen: only for a service that runs already (attached mode)",
        ),
        (
            "[provider]",
            '[[service.workers]]\nname = "outbox"\ncommand = ["x", "{port}"]\n[provider]',
            ":12: service.workers[1].command: unknown placeholder {port}; known here: {database",
        ),
        (
            "[provider]",
            '[[service.workers]]\nname = "w"\ncommand = ["x"]\n' * 2 + "[provider]",
            ":14: service.workers[2].name: expected a name of its own, found 'w' again",
        ),
        (
            "[provider]",
            '[[service.workers]]\nname = "service"\ncommand = ["x"]\n[provider]',
            ":11: service.workers[1].name: expected a name of its own, found 'service', which",
        ),
        (
            "[provider]",
            '[database]\nkind = "postgresql"\nscheme = "mysql"\n[provider]',
            ":12: database.scheme: string should match",
        ),
        (
            'PORT = "{port}"',
            'PORT = "{port}"\nSTORE = "{redis_url}"',
            "redis: required, but missing: {redis_url} is named, and nobody starts a Redis",
        ),
        ("[charge]", '[redis]\nurl = "http://x"\n[charge]', ":14: redis.url: string should match"),
        (
            "[charge]",
            "[orders]\namounts = [0]\n[charge]",
            ":14: orders.amounts[1]: input should be",
        ),
        ("[charge]", '[orders]\ncurrency = "eur"\n[charge]', ":14: orders.currency: string should"),
        (
            "[charge]",
            "[timing]\nbooks_within_s = -1\n[charge]",
            ":14: timing.books_within_s: input should be greater than or equal to 0, found -1",
        ),
    ],
)
def test_a_mistake_names_line_and_field_and_what_was_expected(
    old: str, new: str, says: str, tmp_path: Path
) -> None:
    assert says in error_for(GOOD.replace(old, new, 1), tmp_path)


@pytest.mark.parametrize(
    "old, new, says",
    [
        (
            '"generic"',
            f'"generic"\nkey = "sk{LIVE}4eC39Hq"',
            ":12: provider.key: a real-looking live",
        ),
        ('"{key}"', f'"rk{LIVE}4eC39Hq"', ":15: charge.headers: a real-looking live key; use one"),
        ("[charge]", f"# pk{LIVE}4eC39Hq\n[charge]", ":13: a real-looking live key; use one that"),
        ('"{amount_minor}"', "4539578763621486", ":16: charge.json: a real-looking card number; "),
        (
            'command = ["{python}", "shop.py"]',
            f'command = [\n"{{python}}",\n"sk{LIVE}4eC39Hq"\n]',
            ":6: service.command: a real-looking live key; ",
        ),
        ("\n[service]", f"\nsk{LIVE}4eC39Hq\n[service]", ": not valid TOML"),
    ],
)
def test_what_must_be_nowhere_near_a_test_is_refused_and_not_repeated(
    old: str, new: str, says: str, tmp_path: Path
) -> None:
    error = error_for(GOOD.replace(old, new, 1), tmp_path)
    assert says in error
    assert "4eC39Hq" not in error
    assert "4539578763621486" not in error


def test_a_capability_declared_absent_needs_no_table(tmp_path: Path) -> None:
    text = GOOD.replace('[webhook]\npath = "/hooks"', "[capabilities]\nwebhooks = false")
    assert read(text, tmp_path).webhook is None


@pytest.mark.parametrize(
    "old, new, says",
    [
        ('"http://127.0.0.1:8000/", ', '"shop:80", ', ":4: service.urls: expected an address as"),
        ("urls =", "instances = 2\nurls =", ":4: service.instances: only for a service with a"),
        ("urls =", 'setup = [["x"]]\nurls =', ":4: service.setup: only for a service with a"),
        ("urls =", 'env = { A = "b" }\nurls =', ":4: service.env: only for a service with a"),
        (
            "[charge]",
            '[database]\nkind = "postgresql"\n[charge]',
            ":10: database: a service that runs already has its database",
        ),
        (
            "[charge]",
            "[redis]\n[charge]",
            ":10: redis: a service that runs already has its Redis",
        ),
        (
            "[charge]",
            '[explore]\nenv = { A = "b" }\n[charge]',
            ":11: explore.env: only for a service with a command; this one runs already",
        ),
        ('listen = "127.0.0.1:12111"', "", ":6: provider.listen: required, but missing: the serv"),
        ('"127.0.0.1:12111"', '":12111"', ":8: provider.listen: expected host:port as 127.0.0.1"),
        ('"127.0.0.1:12111"', '"::1:99999"', ":8: provider.listen: expected host:port as 127.0."),
        (
            '"127.0.0.1:12111"',
            '"0.0.0.0:12111"',
            ":6: provider.token: required, but missing: 0.0.0.0 can be reached from other machines",
        ),
        (
            "webhooks = false",
            "webhooks = false\nrestartable = true",
            ":15: capabilities.restartable: expected false: without service.command nothing",
        ),
    ],
)
def test_a_mistake_about_a_service_that_runs_already_names_line_and_field(
    old: str, new: str, says: str, tmp_path: Path
) -> None:
    assert ATTACHED.count(old) == 1
    assert says in error_for(ATTACHED.replace(old, new), tmp_path)


def test_a_service_that_runs_already_cannot_be_restarted(tmp_path: Path) -> None:
    file = read(ATTACHED, tmp_path)
    assert file.service.attached
    assert file.service.urls == ("http://127.0.0.1:8000", "http://127.0.0.1:8001")
    assert file.capabilities.lacking({"restartable", "upstream_keys"}) == ("restartable",)


def test_with_one_tenant_there_are_no_others_keys(tmp_path: Path) -> None:
    two = '[tenants]\nnorth = "n"\nsouth = "s"\n'

    assert read(ATTACHED, tmp_path).capabilities.lacking({"tenants"}) == ("tenants",)
    assert read(ATTACHED + two, tmp_path).capabilities.lacking({"tenants"}) == ()
    says = error_for(ATTACHED.replace("[capabilities]", "[capabilities]\ntenants = true"), tmp_path)
    assert "capabilities.tenants" in says
    assert "[tenants] names one tenant only" in says


@pytest.mark.parametrize(
    "listen, address",
    [
        ("127.0.0.1:12111", ("127.0.0.1", 12111)),
        ("localhost:12111", ("localhost", 12111)),
        ("[::1]:12111", ("::1", 12111)),
        ("0.0.0.0:12111", ("0.0.0.0", 12111)),  # noqa: S104 - said, not bound
        ("provider.internal:80", ("provider.internal", 80)),
    ],
)
def test_a_provider_listens_where_the_file_says(
    listen: str, address: tuple[str, int], tmp_path: Path
) -> None:
    text = ATTACHED.replace('"127.0.0.1:12111"', f'"{listen}"\ntoken = "sixteen-letters!"')
    assert read(text, tmp_path).provider.address == address


@pytest.mark.parametrize("scheme", ["postgresql", "postgres", "postgresql+psycopg"])
def test_a_database_is_named_as_the_services_driver_wants_it(scheme: str) -> None:
    database = Database(kind="postgresql", scheme=scheme)
    assert database.url("postgresql://u:p@h:1/x") == f"{scheme}://u:p@h:1/x"


def test_a_jsonpath_finds_its_first_node_or_nothing() -> None:
    body = {"data": [{"id": "a"}, {"id": "b"}]}
    assert found("$.data[*].id", body) == "a"
    assert found("$.none", body) is None
    assert found("$.id", None) is None
    assert found("$.id", "a text") is None
