"""Tables of results, for notebooks."""

from __future__ import annotations

import html
from collections.abc import Mapping, Sequence
from typing import Any

_MOST_ROWS = 100


def data_frame(table: Any, index: Any = None, columns: Any = None) -> Any:
    """A pandas DataFrame, as its constructor makes it; an ImportError says what to install."""
    try:
        import pandas as pd
    except ImportError as error:
        raise ImportError("to_frame: needs pandas; install it with `pip install pandas`") from error
    return pd.DataFrame(table, index=index, columns=columns)


def html_table(columns: Mapping[str, Sequence[Any]], caption: str = "") -> str:
    """An HTML table of columns by name; floats have four significant digits, text is escaped, 100 rows are shown."""
    n_rows = max(map(len, columns.values()), default=0)
    if n_rows > _MOST_ROWS:
        columns = {name: values[:_MOST_ROWS] for name, values in columns.items()}
        caption += f" (the first {_MOST_ROWS} of {n_rows:,} rows)"
    head = "".join(f"<th>{html.escape(name)}</th>" for name in columns)
    rows = ("".join(f"<td>{_text(value)}</td>" for value in row) for row in zip(*columns.values()))
    body = "".join(f"<tr>{row}</tr>" for row in rows)
    title = f"<caption>{html.escape(caption)}</caption>" if caption else ""
    return f"<table>{title}<thead><tr>{head}</tr></thead><tbody>{body}</tbody></table>"


def _text(value: Any) -> str:
    if isinstance(value, float):
        return f"{value:.4g}"
    return html.escape(f"{value:,}" if type(value) is int else str(value))
