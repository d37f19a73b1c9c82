"""The statements of every charge, built once: to build one costs about as much as to send it.

Rule 1: what is different each time is a parameter; a row is given to an insert as it is executed.
Rule 2: a conflict that is expected is named. Any other is a mistake of ours, and raises.
"""

from typing import Final

from sqlalchemy import bindparam, select, update
from sqlalchemy.dialects.postgresql import insert

from reference_impl.schema import events, ledger, operations

CLAIM: Final = (
    insert(operations)
    .on_conflict_do_nothing(constraint="one_operation_per_key")
    .returning(operations)
)
LOCK: Final = select(operations).where(operations.c.id == bindparam("its_id")).with_for_update()
SETTLE: Final = update(operations).where(operations.c.id == bindparam("its_id"))
BOOK: Final = insert(ledger).on_conflict_do_nothing(constraint="one_entry_per_effect")
TAKE_IN: Final = (
    insert(events).on_conflict_do_nothing(constraint="events_pkey").returning(events.c.id)
)
