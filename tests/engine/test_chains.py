"""Whose an event is, told from the order in which events went on."""

from onecharge.engine.chains import BACKGROUND, Chains


def test_before_anybody_moved_it_is_the_services_own_affair() -> None:
    assert Chains().of("connection", stays=False) == BACKGROUND == "background:1"


def test_what_happens_is_of_the_chain_that_moved_last() -> None:
    chains = Chains()

    chains.moves("client:1")
    first = chains.of("connection", stays=False)
    chains.moves("client:2")

    assert (first, chains.of("another", stays=False)) == ("client:1", "client:2")
    assert chains.of("connection", stays=False) == "client:2"


def test_what_stays_is_of_the_chain_that_had_it_before() -> None:
    chains = Chains()

    chains.moves("client:1")
    chains.of("connection", stays=True)
    chains.moves("client:2")

    assert chains.of("connection", stays=True) == "client:1"
    assert chains.known("connection") == "client:1"
    assert chains.known("another") is None


def test_a_new_run_knows_nothing_of_the_last() -> None:
    chains = Chains()
    chains.moves("client:1")
    chains.of("connection", stays=True)

    chains.start_over()

    assert chains.known("connection") is None
    assert repr(chains) == "<Chains, background:1 moves>"
