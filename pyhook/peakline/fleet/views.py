"""Views on the files for questions and `--sql`, in SQL that both engines read.

`NAME_files` are the unchanged files. If a trace was exported twice, only the later export counts;
no row of `ranks` names the rows of the earlier one.
"""

from __future__ import annotations

from peakline.fleet import schema

# Columns of `ranks` that the other tables repeat.
_OF_RANK = ("run_id", "rank_name", "script", "version", "started", "device_kind")


def _newest_ranks() -> str:
    columns = ", ".join(schema.names_of(schema.RANKS))
    return (
        f"select {columns} from (select *, row_number() over (partition by trace_id, device_kind,"
        " device order by exported desc, rank_id) as nth from ranks_files) newest where nth = 1"
    )


def _with_rank(table: str) -> str:
    own = ", ".join(f"t.{name}" for name in schema.names_of(table))
    of_rank = ", ".join(f"r.{name}" for name in _OF_RANK)
    files = "site_rows" if table == schema.SITES else f"{table}_files"
    return f"select {of_rank}, {own} from {files} t join ranks r on t.rank_id = r.rank_id"


def statements() -> list[str]:
    """Return the statements that make the views, in order."""
    # Questions join these rows themselves, with the chosen ranks.
    bodies = {schema.RANKS: _newest_ranks(), "site_rows": "select * from sites_files"}
    bodies |= {name: _with_rank(name) for name in schema.TABLES if name != schema.RANKS}
    return [f"create or replace temp view {name} as {body}" for name, body in bodies.items()]
