"""Tables of results, for notebooks."""

from __future__ import annotations

import html
from collections.abc import Mapping, Sequence
from typing import Any

__all__ = ["data_frame", "html_table"]


def data_frame(table: Any, index: Any = None, columns: Any = None) -> Any:
    """Make a pandas DataFrame.

    Parameters
    ----------
    table : mapping of str to sequence, or array-like of shape (n_rows, n_columns)
    index : array-like, shape (n_rows,), optional
        Names of the rows.
    columns : array-like of str, shape (n_columns,), optional
        Names of the columns.

    Returns
    -------
    pandas.DataFrame

    Raises
    ------
    ImportError
        pandas is not installed.
    """
    try:
        import pandas as pd
    except ImportError as error:
        raise ImportError("to_frame: needs pandas; install it with `pip install pandas`") from error
    return pd.DataFrame(table, index=index, columns=columns)


def html_table(columns: Mapping[str, Sequence[Any]], caption: str = "") -> str:
    """Make an HTML table.

    Parameters
    ----------
    columns : mapping of str to sequence
        Columns of one length by name. Floats are shown with four significant digits.
    caption : str, default ""

    Returns
    -------
    str
        All text is escaped.
    """
    head = "".join(f"<th>{html.escape(name)}</th>" for name in columns)
    rows = ("".join(f"<td>{_text(value)}</td>" for value in row) for row in zip(*columns.values()))
    body = "".join(f"<tr>{row}</tr>" for row in rows)
    title = f"<caption>{html.escape(caption)}</caption>" if caption else ""
    return f"<table>{title}<thead><tr>{head}</tr></thead><tbody>{body}</tbody></table>"


def _text(value: Any) -> str:
    if isinstance(value, float):
        return f"{value:.4g}"
    return html.escape(f"{value:,}" if type(value) is int else str(value))
