"""One DuckDB file behind one connection and one lock. The only module that imports duckdb.

DuckDB allows one process at a time, even for reading; a second one gets IndexLocked. Inside the process every
call takes the lock: registry calls last milliseconds and none of them stands in the way of a search.
"""

from __future__ import annotations

import threading
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeAlias
from weakref import WeakValueDictionary

import numpy as np
from numpy.typing import NDArray

from toolsearch.model.errors import (
    IndexCorrupt,
    IndexLocked,
    IndexMissing,
    IndexNotWritable,
    IndexStateError,
    RequestError,
)

if TYPE_CHECKING:
    from duckdb import DuckDBPyConnection

Connection: TypeAlias = "DuckDBPyConnection"
"""What a function of the store runs its SQL on."""

Columns: TypeAlias = Mapping[str, Sequence[object] | NDArray[Any]]
"""Rows given by column: texts, bytes and None in sequences; numbers and datetime64 as arrays; equally long."""

_CONFIG = {
    # Nothing is ever fetched, and SQL can reach neither files nor Python variables.
    "autoinstall_known_extensions": False,
    "autoload_known_extensions": False,
    "enable_external_access": False,
    "python_enable_replacements": False,
    # Column types are taken from all rows: a thousand leading NULLs must not make a text column a number.
    "pandas_analyze_sample": 100_000_000,
}

_GIVEN = "given"
"""The one relation that exists at a time, as the lock is held."""

_open_files: WeakValueDictionary[Path, Database] = WeakValueDictionary()
_open_files_lock = threading.Lock()

_NOT_WRITABLE = ("No space left on device", "Read-only file system", "Permission denied", "Disk quota exceeded")
"""What the system says of a disk that takes nothing; the file itself is not damaged."""


class Database:
    """A DuckDB connection that threads share by taking turns.

    Attributes:
        path: The file, or None when in memory.
        read_only: Whether writes are refused.
    """

    def __init__(self, connection: Connection, *, path: Path | None, read_only: bool) -> None:
        self.path, self.read_only = path, read_only
        self._connection: Connection | None = connection
        self._lock = threading.RLock()

    @classmethod
    def open(cls, path: Path | None, *, read_only: bool = False) -> Database:
        """Open the file, or an empty database in memory for None. The folder must exist.

        Raises:
            IndexLocked: If another process, or another registry of this process, has it open.
            IndexMissing: If it is to be read only and is not there.
            IndexCorrupt: If it is not a whole DuckDB file.
        """
        if path is None:
            return cls(_connect(None, read_only=False), path=None, read_only=False)
        path = path.resolve()
        if not path.exists() and (read_only or not path.parent.is_dir()):
            raise IndexMissing(f"there is no registry at {path}; build one with `toolsearch index`", found=str(path))
        with _open_files_lock:
            if path in _open_files:
                raise IndexLocked(
                    f"registry {path} is already open in this process; use that one, or close it first",
                    found=str(path),
                )
            database = cls(_connect(path, read_only=read_only), path=path, read_only=read_only)
            _open_files[path] = database
        return database

    @contextmanager
    def reading(self) -> Iterator[Connection]:
        """Give the connection to one thread, for queries."""
        with self._lock, _translated(self.path):
            yield self._usable()

    @contextmanager
    def transaction(self) -> Iterator[Connection]:
        """Give the connection to one thread, inside a transaction that commits at the end or not at all.

        Raises:
            IndexStateError: If the registry is open for reading only.
        """
        if self.read_only:
            raise IndexStateError(f"registry {self.path} is open for reading only; open it for writing to change it")
        with self._lock, _translated(self.path):
            connection = self._usable()
            connection.execute("BEGIN TRANSACTION")
            try:
                yield connection
                connection.execute("COMMIT")
            except BaseException:
                _roll_back(connection)
                raise

    def close(self) -> None:
        """Write everything down and give the file free. Closing twice is fine."""
        with self._lock, _translated(self.path):
            connection, self._connection = self._connection, None
            if connection is not None:
                connection.close()
        if self.path is not None:
            with _open_files_lock:
                if _open_files.get(self.path) is self:
                    del _open_files[self.path]

    def _usable(self) -> Connection:
        if self._connection is None:
            raise IndexStateError(f"registry {self.path or 'in memory'} is closed; open it again")
        return self._connection


@contextmanager
def relation(connection: Connection, columns: Columns) -> Iterator[str]:
    """Make columns readable in SQL as a whole, which is a hundred times faster than row by row.

    Yields:
        The name to select from; it is gone afterwards.
    """
    arrays = {name: values if isinstance(values, np.ndarray) else _objects(values) for name, values in columns.items()}
    # When the statement fails, the roll-back takes the relation away, or the next registration does.
    connection.register(_GIVEN, arrays)
    yield _GIVEN
    connection.unregister(_GIVEN)


def insert(connection: Connection, table: str, columns: Columns) -> None:
    """Append rows to a table."""
    if not len(next(iter(columns.values()))):
        return
    names = ", ".join(columns)
    with relation(connection, columns) as given:
        connection.execute(f"INSERT INTO {table} ({names}) SELECT {names} FROM {given}")


def first_row(connection: Connection, sql: str, parameters: Sequence[object] = ()) -> tuple[Any, ...] | None:
    """Return the first row, or None. Fetches all: DuckDB 2 refuses the next statement while rows are left."""
    rows = connection.execute(sql, list(parameters)).fetchall()
    return rows[0] if rows else None


def scalar(connection: Connection, sql: str, parameters: Sequence[object] = ()) -> Any:
    """Return the first column of the first row, or None where there is no row."""
    row = first_row(connection, sql, parameters)
    return None if row is None else row[0]


def to_utc(at: datetime) -> datetime:
    """Return an aware moment as the naive UTC time that TIMESTAMP columns hold.

    Raises:
        ValueError: If the moment has no time zone.
    """
    if at.tzinfo is None:
        raise ValueError(f"{at.isoformat()} has no time zone; give an aware datetime")
    return at.astimezone(UTC).replace(tzinfo=None)


def from_utc(at: datetime) -> datetime:
    """Return what `to_utc` was given, in UTC."""
    return at.replace(tzinfo=UTC)


def utc_array(moments: Sequence[datetime]) -> NDArray[np.datetime64]:
    """Return aware moments as datetime64[us], in UTC."""
    return np.array([to_utc(at) for at in moments], dtype="datetime64[us]")


def _objects(values: Sequence[object]) -> NDArray[np.object_]:
    array = np.empty(len(values), dtype=np.object_)
    array[:] = values
    return array


def _connect(path: Path | None, *, read_only: bool) -> Connection:
    import duckdb

    with _translated(path):
        return duckdb.connect(":memory:" if path is None else str(path), read_only=read_only, config=dict(_CONFIG))


@contextmanager
def _translated(path: Path | None) -> Iterator[None]:
    """Turn what DuckDB says about the file into our errors; what it says about our SQL is a bug and passes."""
    import duckdb

    try:
        yield
    except duckdb.InvalidInputException as error:
        if "cannot encode str as UTF-8" not in str(error):
            raise
        raise RequestError("a text holds a lone surrogate, which is no character; send valid Unicode") from None
    except (duckdb.ProgrammingError, duckdb.DataError, duckdb.IntegrityError):
        raise
    except duckdb.Error as error:
        reason = str(error).splitlines()[0][:300]
        if "Could not set lock" in reason or "different configuration" in reason:
            raise IndexLocked(
                f"registry {path} belongs to another process: send the request to the running server, or stop it "
                f"({reason})",
                found=str(path),
            ) from None
        if any(said in reason for said in _NOT_WRITABLE):
            raise IndexNotWritable(
                f"registry {path} cannot be written: {reason}; free space or fix permissions, or open it with "
                "read_only=True: what is there is whole",
                found=str(path),
            ) from None
        raise IndexCorrupt(
            f"registry {path} cannot be read or written: {reason}; check disk and permissions, restore the file "
            "from a backup, or move it away and build the index again",
            found=str(path),
        ) from None


def _roll_back(connection: Connection) -> None:
    import duckdb

    try:
        connection.execute("ROLLBACK")
    except duckdb.Error:
        # The transaction is gone already (the failed COMMIT ended it); the first error is the one to report.
        return
