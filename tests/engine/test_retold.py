"""A run told in a few steps of English, which are its tape as well."""

from onecharge.engine.paces import PACE
from onecharge.engine.retold import AFTERWARDS, MOST_STEPS, USUAL, retold
from onecharge.engine.tapes.chooser import ALL_AT_ONCE, PROBE, RELEASE, Asked

ONE, TWO = "client:1 POST /pay #1", "client:2 POST /pay #1"


def release(*alternatives: str, takes: int = 0) -> Asked:
    return Asked(RELEASE, alternatives, takes)


def says(*asked: Asked) -> list[str]:
    return [step.says for step in retold(asked)]


def test_what_goes_on_with_one_chain_is_one_step() -> None:
    asked = (
        release(ONE, TWO),
        release("client:1 SELECT FROM notes #1", TWO),
        release("client:1 INSERT INTO notes #1", TWO, takes=1),
        release("client:2 SELECT FROM notes #1", "client:1 INSERT INTO notes #1"),
        release("client:2 charge.create on_receive #1", "client:1 INSERT INTO notes #1"),
        release("client:1 INSERT INTO notes #1"),
        release("client:1 charge.create on_receive #1"),
    )

    steps = retold(asked)

    assert [step.says for step in steps] == [
        "client 1 sends POST /pay and stops before INSERT INTO notes",
        "client 2 sends POST /pay and goes on to its end",
        USUAL,
    ]
    [deviation] = [deviation for step in steps for deviation in step.deviations]
    assert (deviation.place, deviation.index, deviation.takes) == (2, 1, TWO)
    assert deviation.instead_of == "client:1 INSERT INTO notes #1"
    assert steps[1].deviations == (deviation,)


def test_the_usual_order_is_told_chain_by_chain() -> None:
    assert says(release(ONE, TWO), release("client:1 COMMIT #1", TWO), release(TWO)) == [
        "client 1 sends POST /pay and goes on to its end",
        "client 2 sends POST /pay and goes on to its end",
    ]


def test_calls_of_the_provider_and_webhooks_have_words_of_their_own() -> None:
    call, answer = "client:1 charge.create on_receive #1", "client:1 charge.create after_commit #1"
    webhook = "webhook:1 charge.captured #1"

    told = says(release(ONE), release(call), release(answer, webhook, takes=1), release(answer))

    assert told == [
        "client 1 sends POST /pay and stops before the answer to its charge.create",
        "webhook 1 is sent (charge.captured) and goes on to its end",
        USUAL,
    ]


def test_what_goes_wrong_is_a_step_of_its_own_between_two_of_its_chain() -> None:
    commit, call = "client:1 COMMIT #1", "client:1 charge.create on_receive #1"

    told = says(
        release(ONE),
        release(commit),
        Asked("fault", (f"{commit} goes on", f"{commit} is cut off before it happens"), 1),
        release(call),
        Asked("fault", (f"{call} goes on", f"{call} happens, and its answer is lost"), 1),
        release("client:1 SELECT FROM notes #1"),
    )

    assert told == [
        "client 1 sends POST /pay and comes to COMMIT",
        "there, COMMIT is cut off before it happens",
        "client 1 comes to its call charge.create",
        "there, its call charge.create happens, and its answer is lost",
        USUAL,
    ]


def test_all_at_once_names_what_waits() -> None:
    told = says(
        release(ONE, TWO, takes=1),
        release("client:2 INSERT INTO notes #1", ONE, ALL_AT_ONCE, takes=2),
    )

    assert (
        told[-1] == "all at once: client 2 goes on with INSERT INTO notes; client 1 sends POST /pay"
    )


def test_there_are_never_more_than_eight_steps_and_no_deviation_is_lost() -> None:
    asked = [release(ONE, TWO, takes=place % 2) for place in range(40)]

    steps = retold(asked)

    assert len(steps) == MOST_STEPS
    places = [deviation.place for step in steps for deviation in step.deviations]
    assert places == list(range(1, 40, 2))
    assert steps[-1].says.startswith("and so on, ")


def test_where_nothing_is_held_it_is_told_what_is_slow_and_when_the_second_comes() -> None:
    quick, slow = ("reads are quick", "reads are slow"), Asked(PACE, ("reads are", "slow reads"), 1)
    right, part = f"client:2 right behind {ONE}", f"client:2 3/16 around {ONE}"

    assert says(slow, Asked(PROBE, (ONE, right), 0)) == ["slow reads", AFTERWARDS]
    assert says(Asked(PACE, quick, 0), Asked(PROBE, (ONE, right), 1)) == [
        "client 1 sends POST /pay, and client 2 comes right behind that"
    ]
    assert says(slow, Asked(PROBE, (ONE, part), 1)) == [
        "slow reads",
        "client 1 sends POST /pay, and client 2 comes around that, 3/16 of the way to what follows",
    ]
    assert says(Asked(PACE, quick, 0)) == [AFTERWARDS]
