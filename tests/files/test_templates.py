import pytest

from onecharge.templates import filled, placeholders

VALUES = {"amount_minor": 500, "order": "ord-1"}


@pytest.mark.parametrize(
    "template, expected",
    [
        ("{amount_minor}", 500),
        ("{order}/{amount_minor}", "ord-1/500"),
        (
            {"a": ["{amount_minor}", "x"], "b": {"c": "{order}"}},
            {"a": [500, "x"], "b": {"c": "ord-1"}},
        ),
        ("{unknown} {order}", "{unknown} ord-1"),
        ("{unknown}", "{unknown}"),
        (7, 7),
        (None, None),
    ],
)
def test_a_template_is_filled_at_any_depth_and_keeps_types(
    template: object, expected: object
) -> None:
    assert filled(template, VALUES) == expected


def test_a_whole_placeholder_keeps_the_type_of_its_value() -> None:
    assert type(filled("{amount_minor}", VALUES)) is int
    assert type(filled(" {amount_minor}", VALUES)) is str


def test_all_placeholders_of_a_template_are_found() -> None:
    template = {"a": ["{one}", "{two}{three}"], "b": {"c": ("{four}", 5)}}
    assert list(placeholders(template)) == ["one", "two", "three", "four"]


def test_a_value_is_never_filled_again() -> None:
    assert filled("{order}", {"order": "{amount_minor}", "amount_minor": 1}) == "{amount_minor}"
    assert filled("x{order}", {"order": "{amount_minor}", "amount_minor": 1}) == "x{amount_minor}"
