"""What statements are called, and which of them nobody holds."""

import pytest

from onecharge.engine.gates.statements import commits, for_its_own_sake, head
from onecharge.engine.gates.wire.postgres_answers import FAILED, IDLE, IN_TRANSACTION


@pytest.mark.parametrize(
    "text, called",
    [
        ("INSERT INTO charges (id) VALUES ('x') ON CONFLICT DO NOTHING", "INSERT INTO charges"),
        ('insert into "charges" values (1)', "INSERT INTO charges"),
        ("  -- why\n UPDATE shop.charges SET a = 1", "UPDATE shop.charges"),
        ("UPDATE ONLY charges SET a = 'DELETE FROM x'", "UPDATE charges"),
        ("DELETE FROM charges", "DELETE FROM charges"),
        ("SELECT * FROM charges WHERE key = 'k-1'", "SELECT FROM charges"),
        ("SELECT 1 FROM charges FOR UPDATE", "SELECT FROM charges FOR UPDATE"),
        ("SELECT a FROM charges FOR UPDATE SKIP LOCKED", "SELECT FROM charges FOR UPDATE"),
        ("(SELECT a FROM charges)", "SELECT FROM charges"),
        ("SELECT pg_advisory_xact_lock(17)", "SELECT pg_advisory_xact_lock"),
        ("WITH new AS (INSERT INTO keys VALUES (1)) SELECT 1", "INSERT INTO keys"),
        ("WITH a AS (UPDATE keys SET b = 1 RETURNING 1) SELECT * FROM a", "UPDATE keys"),
        ("MERGE INTO charges USING x ON true", "MERGE INTO charges"),
        ("COPY charges FROM STDIN", "COPY charges"),
        ("LOCK TABLE charges", "LOCK TABLE charges"),
        ("commit", "COMMIT"),
        ("ROLLBACK TO SAVEPOINT sa_1", "ROLLBACK"),
        ("SAVEPOINT sa_1", "SAVEPOINT SA_1"),
        ("NOTIFY paid, 'ord-1'", "NOTIFY PAID"),
        ("CREATE TABLE charges ()", "CREATE TABLE"),
        ("SELECT $1", "SELECT"),
        ("", "(nothing)"),
    ],
)
def test_a_statement_is_called_by_what_it_does_and_to_what(text: str, called: str) -> None:
    assert head(text) == called


@pytest.mark.parametrize("key", ["k-1", "b0c4'' DELETE FROM charges", "8a6f"])
def test_no_value_is_part_of_the_name(key: str) -> None:
    text = "SELECT * FROM charges WHERE key = '{}'"

    assert head(text.format(key)) == "SELECT FROM charges"


@pytest.mark.parametrize(
    "text",
    [
        "",
        ";",
        "-- ping",
        "SELECT 1",
        "select 1;",
        "BEGIN",
        "BEGIN ISOLATION LEVEL SERIALIZABLE",
        "START TRANSACTION READ ONLY",
        "SET statement_timeout = 1000",
        "DISCARD ALL",
        "SELECT pg_advisory_unlock_all();\nCLOSE ALL;\nUNLISTEN *;\nRESET ALL;",
        "select pg_catalog.version()",
        "show standard_conforming_strings",
        "DEALLOCATE ALL",
        "SELECT t.typname, t.oid FROM pg_type t JOIN pg_namespace n ON n.oid = t.typnamespace",
        "ROLLBACK",
        "COMMIT",
    ],
)
def test_what_a_driver_says_for_its_own_sake_passes(text: str) -> None:
    assert for_its_own_sake(text, IDLE)


@pytest.mark.parametrize(
    "text",
    [
        "SELECT 1 FROM charges",
        "BEGIN; INSERT INTO charges VALUES (1)",
        "SELECT pg_advisory_lock(1)",
        "SELECT * FROM charges, pg_type",
        "SELECT * FROM charges JOIN pg_type ON true",
        "NOTIFY paid",
        "INSERT INTO pg_type_names SELECT 1 FROM pg_type",
    ],
)
def test_what_others_can_see_is_held(text: str) -> None:
    assert not for_its_own_sake(text, IDLE)


@pytest.mark.parametrize("status", [IN_TRANSACTION, FAILED])
@pytest.mark.parametrize("text", ["ROLLBACK", "COMMIT", "END TRANSACTION"])
def test_the_end_of_a_transaction_is_held_where_there_is_one(text: str, status: bytes) -> None:
    assert not for_its_own_sake(text, status)


def test_what_is_to_last_is_told_from_what_is_not() -> None:
    assert commits("COMMIT;")
    assert commits(" end transaction ")
    assert not commits("ROLLBACK")
    assert not commits("COMMIT PREPARED 'x'")
