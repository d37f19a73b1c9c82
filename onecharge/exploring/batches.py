"""Batches of an exploration that hold, told as one scenario: a person looks for the others."""

import re
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from typing import Final, TypeVar

from onecharge.history.judgement import Judgement, worst
from onecharge.verdict import InvariantVerdict, ScenarioVerdict

BATCHES: Final = "explore-"
"""What the names of their histories begin with."""

_BATCH = re.compile(rf"({BATCHES}.+)-\d+")

Counted = TypeVar("Counted", bound=str)


def is_batch(name: str) -> bool:
    """Whether a history is one of an exploration, and no scenario's."""
    return name.startswith(BATCHES)


def natural(name: str) -> tuple[tuple[int, str], ...]:
    """Return what sorts names with numbers as people do: the ninth batch before the tenth."""
    return tuple(
        (int(piece), "") if piece.isdigit() else (0, piece) for piece in re.split(r"(\d+)", name)
    )


def gathered(verdicts: Iterable[ScenarioVerdict]) -> list[ScenarioVerdict]:
    """Return the verdicts with the batches that hold as one for each part of the exploration."""
    told: dict[str, list[ScenarioVerdict]] = {}
    for verdict in verdicts:
        batch = _BATCH.fullmatch(verdict.name) if verdict.verdict == "holds" else None
        told.setdefault(batch[1] if batch else verdict.name, []).append(verdict)
    return [
        _together(name, ones) if name != ones[0].name else ones[0] for name, ones in told.items()
    ]


def _together(name: str, batches: Sequence[ScenarioVerdict]) -> ScenarioVerdict:
    return replace(
        batches[0],
        name=name,
        duration_s=round(sum(each.duration_s for each in batches), 3),
        orders=sum(each.orders for each in batches),
        charges=sum(each.charges for each in batches),
        fired=sum(each.fired for each in batches),
        invariants=tuple(
            _in_all(ones) for ones in zip(*(each.invariants for each in batches), strict=True)
        ),
        advice=tuple(dict.fromkeys(says for each in batches for says in each.advice)),
        buckets=_sum(each.buckets for each in batches),
        ties=_sum(each.ties for each in batches),
    )


def _in_all(ones: Sequence[InvariantVerdict]) -> InvariantVerdict:
    """Return what one invariant made of all batches: those with nothing of its kind are silent."""
    judgements = [one.judgement for one in ones if one.judgement.exercised]
    judgements = judgements or [ones[0].judgement]
    return replace(
        ones[0],
        planned=any(one.planned for one in ones),
        judgement=Judgement(
            worst([each.verdict for each in judgements], none=judgements[0].verdict),
            advice=tuple(dict.fromkeys(says for each in judgements for says in each.advice)),
            reasons=tuple(dict.fromkeys(says for each in judgements for says in each.reasons)),
            exercised=judgements[0].exercised,
        ),
    )


def _sum(counts: Iterable[Mapping[Counted, int]]) -> dict[Counted, int]:
    total: Counter[Counted] = Counter()
    for each in counts:
        total.update(each)
    return dict(total)
