"""What a terminal shows after the bytes that a program has drawn: the client redraws only the characters that change."""

import re
import unicodedata

TOKEN = re.compile(r"\x1b\[([0-9;:?<>=]*)[ -/]*([@-~])|\x1b\][^\x07\x1b]*(?:\x07|\x1b\\)|\x1b.|[\r\n\b]|[^\x1b\r\n\b\x00-\x1f]+|[\x00-\x1f]", re.S)


def screen(drawn, n_rows, n_columns):
    """The lines of a terminal with that many rows and columns, what has scrolled off included."""
    lines, row, column, top = [{}], 0, 0, 0

    def line(at):
        while len(lines) <= at:
            lines.append({})
        return lines[at]

    for token in TOKEN.finditer(drawn):
        text, kind = token.group(0), token.group(2)
        if kind:
            given = [int(number) if number.isdigit() else 0 for number in token.group(1).lstrip("?").split(";")]
            n = max(1, given[0])
            if kind == "A":
                row = max(top, row - n)
            elif kind in "BE":
                row, column = row + n, 0 if kind == "E" else column
            elif kind == "C":
                column += n
            elif kind == "D":
                column = max(0, column - n)
            elif kind == "G":
                column = n - 1
            elif kind == "H":
                row, column = top + n - 1, max(1, given[1] if len(given) > 1 else 1) - 1
            elif kind == "K":
                erased = {0: lambda at: at >= column, 1: lambda at: at <= column, 2: lambda at: True}[given[0]]
                lines[row] = {at: char for at, char in line(row).items() if not erased(at)}
            elif kind == "J" and given[0] == 0:
                lines[row] = {at: char for at, char in line(row).items() if at < column}
                del lines[row + 1:]
            elif kind == "J":
                lines[top:] = [{} for _ in lines[top:]]
        elif text == "\r":
            column = 0
        elif text == "\n":
            row, column = row + 1, 0
        elif text == "\b":
            column = max(0, column - 1)
        elif text >= " ":
            for char in text:
                width = 0 if unicodedata.combining(char) else 2 if unicodedata.east_asian_width(char) in "WF" else 1
                if column + width > n_columns:
                    row, column = row + 1, 0
                line(row)[column] = char
                column += width
        line(row)
        top = max(top, row - n_rows + 1)
    return ["".join(line.get(at, " ") for at in range(max(line, default=-1) + 1)).rstrip() for line in lines]
