"""A screen without a right and a bottom edge: pieces of text and cursor movements in, rows out. Pure.

The cursor can reach `HEIGHT` rows above the last one, as on a terminal of that height; rows further up are final. So
time and memory are proportional to the length of the input, whatever it contains. A tab is one column wide, which
preserves it; lines do not wrap; scrolling commands are ignored. Rows erased with the whole display are removed, not
blanked.
"""

from __future__ import annotations

from typing import TypeAlias

from nacre.ansi.width import cells, is_simple

HEIGHT = 200
"""Rows that the cursor can reach."""
WIDTH = 240
"""Columns that the cursor can be moved to beyond existing text."""
_LONG_ROW_CHARS = 512
_MAX_MOVED_COLUMNS = 1024
"""Maximum columns that are blanked at once, and maximum length of a row in which characters are moved: no terminal is
wider, and the effect is not missed in a line of a million characters."""
_Row: TypeAlias = "str | list[str]"
"""Text as it was written; or, after text was inserted into it, one string per column."""


class Screen:
    """Rows of text and a cursor, changed by text and by the terminal's control sequences."""

    __slots__ = (
        "_blank_above",
        "_bottom",
        "_column",
        "_in_status_line",
        "_main",
        "_numbers",
        "_row",
        "_rows",
        "_saved",
        "erased",
        "number",
    )

    def __init__(self) -> None:
        self._rows: list[_Row] = [""]
        self._numbers = [0]
        """For each row, the line of the input, from 0, that last wrote to it or created it."""
        self._row = self._column = 0
        self._saved = (0, 0)
        self._bottom = 0
        """The last row of a scrolling region; below it, programs keep a status line."""
        self._in_status_line = False
        """True if the cursor is in that status line: text written there is ignored."""
        self._blank_above: tuple[int, int] | None = None
        """Range of rows that are known to be blank while the cursor stays below them."""
        self._main: tuple[list[_Row], list[int], int, int] | None = None
        self.number = 0
        """The current line of the input."""
        self.erased = 0
        """Number of non-empty rows that were erased with the whole display."""

    @property
    def _top(self) -> int:
        return max(0, len(self._rows) - HEIGHT)

    def line(self, text: str) -> None:
        """Write a complete new line without control characters; only a newline or the end of the text follows it."""
        if self._row + 1 == len(self._rows) and not self._in_status_line:
            self._row += 1
            self._rows.append(text)
            self._numbers.append(self.number)
        else:
            self.newline()
            self.write(text)

    def newline(self) -> None:
        self._column = 0
        self._row += 1
        if self._row == len(self._rows):
            self._rows.append("")
            self._numbers.append(self.number)

    def write(self, text: str) -> None:
        if self._in_status_line or not text:
            return
        self._numbers[self._row] = self.number
        simple = is_simple(text)
        row, column = self._rows[self._row], self._column
        if simple and not column and (not row or (len(row) <= len(text) and isinstance(row, str) and is_simple(row))):
            self._rows[self._row] = text
            self._column = len(text)
        elif simple and isinstance(row, str) and len(row) < _LONG_ROW_CHARS and len(row) <= column and is_simple(row):
            self._rows[self._row] = row + " " * (column - len(row)) + text
            self._column = column + len(text)
        else:
            self._put(list(text) if simple else list(cells(text)))

    def _put(self, new: list[str]) -> None:
        row, column = self._editable_row(), self._column
        end = column + len(new)
        if column > len(row):
            row.extend(" " * (column - len(row)))
        if column < len(row) and not row[column]:
            row[column - 1] = " "  # half of a wide character cannot be shown
        if end < len(row) and not row[end]:
            row[end] = " "
        row[column:end] = new
        self._column = end

    def _editable_row(self) -> list[str]:
        row = self._rows[self._row]
        if isinstance(row, str):
            row = list(row) if is_simple(row) else list(cells(row))
            self._rows[self._row] = row
        return row

    def back(self, columns: int = 1) -> None:
        self._column = max(0, self._column - columns)

    def to_column(self, column: int) -> None:
        """Move to a column, from 0; at most to the end of the row or to `WIDTH`."""
        if column > WIDTH:
            column = min(column, max(WIDTH, len(self._rows[self._row])))
        self._column = max(0, column)

    def carriage_return(self) -> None:
        self._column = 0

    def right(self, columns: int) -> None:
        self.to_column(self._column + columns)

    def vertical(self, rows: int) -> None:
        self._in_status_line, self._blank_above = False, None
        last = len(self._rows) - 1
        row = self._row + rows
        self._row = last if row > last else max(row, last + 1 - HEIGHT, 0)

    def first_of(self, rows: int) -> None:
        self.vertical(rows)
        self._column = 0

    def to(self, row: int, column: int) -> None:
        """Move to a row and column of the screen, from 0."""
        self._blank_above = None
        self._in_status_line = bool(self._bottom) and row >= self._bottom
        if self._in_status_line:
            return
        top = self._top
        self._row = top + min(row, HEIGHT - 1)
        if (more := self._row + 1 - len(self._rows)) > 0:
            self._rows += [""] * more
            self._numbers += [self.number] * more
        self.to_column(column)

    def to_row(self, row: int) -> None:
        self.to(row, self._column)

    def save(self) -> None:
        self._saved = (self._row, self._column)

    def restore(self) -> None:
        row, self._column = self._saved
        self._row = max(self._top, min(row, len(self._rows) - 1))
        self._in_status_line, self._blank_above = False, None

    def region(self, bottom: int) -> None:
        self._bottom = bottom
        self.to(0, 0)

    def clear_row(self) -> None:
        """Clear the row and move to the first column, as most progress bars do."""
        if not self._in_status_line:
            self._rows[self._row] = ""
        self._column = 0

    def erase_in_line(self, how: int) -> None:
        if self._in_status_line:
            return
        if how == 2:
            self._rows[self._row] = ""
        elif how == 1:
            self._blank(0, self._column + 1)
        elif how == 0:
            if not self._column:
                self._rows[self._row] = ""
            elif self._column < len(self._rows[self._row]):
                row = self._editable_row()
                if self._column < len(row) and not row[self._column]:
                    row[self._column - 1] = " "
                del row[self._column :]

    def erase_in_display(self, how: int) -> None:
        if self._in_status_line or how not in (0, 1, 2):
            return
        top, row = self._top, self._row
        if how == 1:
            if self._blank_above != (top, row):
                self._rows[top:row] = [""] * (row - top)
                self._blank_above = (top, row)
            self._blank(0, self._column + 1)
            return
        if how == 2:
            self.erased += len(self._rows) - row - self._rows[row:].count("")
        del self._rows[row + 1 :], self._numbers[row + 1 :]
        self.erase_in_line(how)
        if how == 2:
            top = self._top
            self.erased += row - top - self._rows[top:row].count("")
            del self._rows[top:row], self._numbers[top:row]
            self._row = top

    def _blank(self, start: int, end: int) -> None:
        if not self._rows[self._row]:
            return
        row = self._editable_row()
        end = min(end, len(row))
        if end - start > _MAX_MOVED_COLUMNS:
            start, end = (end - _MAX_MOVED_COLUMNS, end) if not start else (start, start + _MAX_MOVED_COLUMNS)
        if end < len(row) and not row[end]:
            row[end] = " "
        if start < len(row) and not row[start]:
            row[start - 1] = " "
        row[start:end] = " " * max(0, end - start)

    def erase_characters(self, count: int) -> None:
        if not self._in_status_line:
            self._blank(self._column, self._column + count)

    def delete_characters(self, count: int) -> None:
        if self._in_status_line or self._column >= len(row := self._editable_row()):
            return
        self._blank(self._column, self._column + count)
        if len(row) <= _MAX_MOVED_COLUMNS:
            del row[self._column : self._column + count]

    def insert_characters(self, count: int) -> None:
        row = self._editable_row()
        if not self._in_status_line and self._column < len(row):
            if not row[self._column]:
                row[self._column - 1] = row[self._column] = " "
            row[self._column : self._column] = " " * max(0, min(count, WIDTH - len(row)))

    def repeat(self, count: int) -> None:
        """Repeat the character before the cursor."""
        row = self._editable_row()
        if 0 < self._column <= len(row) and row[self._column - 1]:
            self._put([row[self._column - 1]] * max(0, min(count, WIDTH - self._column)))

    def insert_rows(self, count: int) -> None:
        """Insert blank rows; rows at the end are lost."""
        length, row, count = len(self._rows), self._row, min(count, HEIGHT)
        self._rows[row:row] = [""] * count
        self._numbers[row:row] = [self.number] * count
        del self._rows[length:], self._numbers[length:]
        self._column = 0

    def delete_rows(self, count: int) -> None:
        row = self._row
        del self._rows[row : row + count], self._numbers[row : row + count]
        if row == len(self._rows):
            self._rows.append("")
            self._numbers.append(self.number)
        self._column = 0

    def reset(self) -> None:
        self._bottom, self._in_status_line = 0, False
        self.erase_in_display(2)
        self._column = 0

    def alternate(self, on: bool) -> None:
        """Switch to or from the alternate screen of editors and pagers; leaving it restores the previous screen."""
        self._blank_above = None
        if on and self._main is None:
            self._main = (self._rows, self._numbers, self._row, self._column)
            self._rows, self._numbers, self._row, self._column = [""], [self.number], 0, 0
        elif not on and self._main is not None:
            self._rows, self._numbers, self._row, self._column = self._main
            self._main = None

    def result(self) -> tuple[list[str], list[int]]:
        """Return the rows, with trailing spaces removed from those that were edited, and their lines of the input."""
        rows, numbers = self._rows, self._numbers
        if self._main is not None:
            rows, numbers = [*self._main[0], *rows], [*self._main[1], *numbers]
        return [row if isinstance(row, str) else "".join(row).rstrip(" ") for row in rows], numbers
