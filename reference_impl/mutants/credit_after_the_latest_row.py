"""A credit is numbered after the latest one; of two at the same moment one is lost.

The guard was entries that depend on no other row. Modelled on report C31 (laravel-credits #20): the
ledger was continued from a latest row that two writers read.
"""

from typing import Any

from sqlalchemy import func, select
from sqlalchemy.dialects.postgresql import insert

from reference_impl.decisions import Entry
from reference_impl.operation import Operation
from reference_impl.rows import ledger_row
from reference_impl.schema import ledger
from reference_impl.store import Store

VIOLATES = "books_agree"
CLASS = "K33"
REPORT = "C31"
SHOWN_BY = "rush_hour"


class Mutant(Store):
    async def book(
        self, connection: Any, charge: Operation, entry: Entry, now: Any, told_by: Any = None
    ) -> None:
        if told_by is not None:  # only the webhook credits
            count = select(func.count()).select_from(ledger)
            number = (await connection.execute(count)).scalar_one() + 1
            row = ledger_row(charge, entry, now, told_by) | {"id": f"le_{number}"}
            await connection.execute(insert(ledger).values(row).on_conflict_do_nothing())
