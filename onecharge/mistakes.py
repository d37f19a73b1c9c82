"""The errors that are a user's to mend: one clear sentence each, exit code 2, no traceback."""

from typing import Final

from onecharge.control import ControlFailed
from onecharge.report.outputs import NoPlace
from onecharge.stored_run import NotARun
from onecharge.targets import WrongUsage
from onecharge.toml_file import FileError
from onecharge.world.postgres import PostgresError
from onecharge.world.service import NotReady
from onecharge.world.supervisor import SupervisorError

USERS_MISTAKES: Final = (
    FileError,
    WrongUsage,
    ControlFailed,
    NotReady,
    PostgresError,
    SupervisorError,
    NoPlace,
    NotARun,
)
