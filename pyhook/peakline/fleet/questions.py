"""The named questions, in SQL that DuckDB and Spark both read.

Bytes times milliseconds are decimals: their sums are exact, so both engines give equal answers in
the same order. :names are values of the request; `sql_of` fills in `{...}`.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

# In bytes times milliseconds; a GB is 1024 MB, as everywhere.
_GB_HOUR = f"{float((1 << 30) * 3_600_000)!r}"

# Every answer begins with the chosen rows of `ranks`.
_CHOSEN = "with chosen as (select * from ranks where device_kind = 'gpu'{conditions})"
# The most memory in use of a device, as far as the driver and torch know.
_USED = "greatest(coalesce(used_peak_bytes, 0), coalesce(reserved_peak_bytes, 0), peak_bytes)"

# The hash covers file and function. To pick any value of a text column, Spark would sort all rows;
# grouping by the column needs no sort.
_PLACE = "s.{by}_hash, file, function"


def _byte_ms(size: str) -> str:
    # In DuckDB the product of two 64-bit decimals must fit 64 bits, so one factor is wider.
    return f"sum(cast({size} as decimal(20, 0)) * cast(duration_ms as decimal(18, 0)))"


@dataclass(frozen=True)
class Shown:
    """A column of an answer, and the kind of its values.

    ``kind``: "text", "run", "count", "bytes", "more" (bytes with their sign), "share", "gb_hours",
    "line" (a line, with the columns file and function). ``may_go``: a narrow terminal omits it.
    """

    name: str
    head: str
    kind: str
    may_go: bool = False


@dataclass(frozen=True)
class Question:
    """A question: its description, its SQL, and the columns of its answer.

    ``nothing`` explains an empty answer.
    """

    name: str
    asks: str
    sql: str
    columns: tuple[Shown, ...]
    nothing: str
    default_by: str = ""  # groups lines by "line" or "function"; "": it has no lines
    compares: bool = False  # compares two versions, :before and :after


_RUN = Shown("run_id", "Run", "run")
_SCRIPT = Shown("script", "Program", "text")
_VERSION = Shown("version", "Version", "text")
_RANKS = Shown("ranks", "Ranks", "count", may_go=True)
_LINE = Shown("line", "Line", "line")

WASTE = Question(
    name="waste",
    asks="Which jobs hold devices they do not need? Unused and cached memory, by GB-hours",
    sql=f"""{_CHOSEN},
sizes as (
  select *, greatest(coalesce(device_total_bytes, 0) - {_USED}, 0) as unused,
    greatest(coalesce(reserved_peak_bytes, peak_bytes) - peak_bytes, 0) as cached
  from chosen),
runs as (
  select run_id, max(script) as script, max(version) as version, count(*) as ranks,
    max(peak_bytes) as peak_bytes, sum(coalesce(device_total_bytes, 0)) as device_bytes,
    sum(unused) as unused_bytes, sum(cached) as cached_bytes,
    {_byte_ms("unused + cached")} as byte_ms
  from sizes group by run_id)
select run_id, script, version, ranks, peak_bytes, device_bytes, unused_bytes, cached_bytes,
  cast(byte_ms as double) / {_GB_HOUR} as waste_gb_hours
from runs order by byte_ms desc, run_id {{limit}}""",
    columns=(
        Shown("waste_gb_hours", "Waste", "gb_hours"),
        Shown("unused_bytes", "Unused", "bytes"),
        Shown("cached_bytes", "Cached", "bytes"),
        Shown("device_bytes", "Devices", "bytes", may_go=True),
        Shown("peak_bytes", "Highest peak", "bytes", may_go=True),
        _RANKS,
        _RUN,
        _VERSION,
        _SCRIPT,
    ),
    nothing="no run on a GPU",
)

REGRESSIONS = Question(
    name="regressions",
    asks="Which lines hold more than in the previous version? Mean bytes per rank, by program",
    sql=f"""{_CHOSEN},
programs as (
  select coalesce(script, '') as script,
    sum(case when version = :before then 1 else 0 end) as ranks_before,
    sum(case when version = :after then 1 else 0 end) as ranks_after
  from chosen group by coalesce(script, '')),
places as (
  select coalesce(c.script, '') as script, s.{{by}}_hash as place, file,
    min(case when version = :after then s.line end) as line_after,
    min(s.line) as line_before, function,
    sum(case when version = :before then bytes else 0 end) as bytes_before,
    sum(case when version = :after then bytes else 0 end) as bytes_after
  from site_rows s join chosen c on s.rank_id = c.rank_id
  group by coalesce(c.script, ''), {_PLACE}),
means as (
  select p.script, place, file, coalesce(line_after, line_before) as line, function,
    cast(bytes_before as double) / ranks_before as mean_before_bytes,
    cast(bytes_after as double) / ranks_after as mean_after_bytes, ranks_before, ranks_after
  from places p join programs r on p.script = r.script
  where ranks_before > 0 and ranks_after > 0)
select script, file, line, function, mean_before_bytes, mean_after_bytes,
  mean_after_bytes - mean_before_bytes as more_bytes, ranks_before, ranks_after
from means where mean_after_bytes > mean_before_bytes
order by more_bytes desc, script, place {{limit}}""",
    columns=(
        Shown("more_bytes", "More", "more"),
        Shown("mean_before_bytes", "Before", "bytes"),
        Shown("mean_after_bytes", "After", "bytes"),
        Shown("ranks_before", "Ranks before", "count", may_go=True),
        Shown("ranks_after", "Ranks after", "count", may_go=True),
        _SCRIPT,
        _LINE,
    ),
    nothing="no line holds more",
    default_by="function",
    compares=True,
)

GB_HOURS = Question(
    name="gb-hours",
    asks="Which lines use the memory of the fleet? Bytes at the peak, times hours of runs",
    sql=f"""{_CHOSEN},
places as (
  select s.{{by}}_hash as place, file, min(s.line) as line, function,
    {_byte_ms("bytes")} as byte_ms, {{ranks}} as ranks, max(bytes) as largest_bytes
  from site_rows s join chosen c on s.rank_id = c.rank_id group by {_PLACE}),
whole as (select {_byte_ms("peak_bytes")} as byte_ms from chosen)
select file, line, function, cast(p.byte_ms as double) / {_GB_HOUR} as gb_hours,
  case when w.byte_ms = 0 then 0e0 else cast(p.byte_ms as double) / cast(w.byte_ms as double) end
    as share, ranks, largest_bytes
from places p cross join whole w order by p.byte_ms desc, place {{limit}}""",
    columns=(
        Shown("gb_hours", "GB-hours", "gb_hours"),
        Shown("share", "%", "share"),
        Shown("largest_bytes", "Most in a rank", "bytes"),
        _RANKS,
        _LINE,
    ),
    nothing="no run on a GPU",
    default_by="line",
)

LIMITS = Question(
    name="limits",
    asks="Which jobs ran out of memory, or are near it? By the fullest device of each",
    sql=f"""{_CHOSEN},
shares as (
  select *, {_USED} as used_bytes,
    cast({_USED} as double) / cast(device_total_bytes as double) as share
  from chosen where device_total_bytes > 0),
ordered as (
  select *, count(*) over (partition by run_id) as ranks,
    sum(refused_count) over (partition by run_id) as refused,
    row_number() over (partition by run_id order by share desc, rank_name, rank_id) as place
  from shares)
select run_id, script, version, ranks, refused, end_reason, rank_name, used_bytes,
  device_total_bytes, device_total_bytes - used_bytes as left_bytes, share
from ordered where place = 1 and (share >= :near or refused > 0)
order by case when end_reason = 'out of memory' then 0 when refused > 0 then 1 else 2 end,
  share desc, run_id {{limit}}""",
    columns=(
        Shown("share", "Used %", "share"),
        Shown("left_bytes", "Left", "bytes"),
        Shown("device_total_bytes", "Device", "bytes", may_go=True),
        Shown("refused", "Refused", "count"),
        Shown("end_reason", "Ended by", "text"),
        _RANKS,
        Shown("rank_name", "Fullest rank", "text", may_go=True),
        _RUN,
        _VERSION,
        _SCRIPT,
    ),
    nothing="no run was refused memory, and none is near its limit",
)

RANKS_DIFFER = Question(
    name="ranks",
    asks="In which jobs do ranks need different memory, and at which line do they differ most?",
    sql=f"""{_CHOSEN},
attempts as (
  select *, count(rank) over (partition by run_id) as known,
    row_number() over (partition by run_id, rank, case when rank is null then rank_id end, device
      order by coalesce(attempt, 0) desc, started, rank_id) as from_last
  from chosen),
compared as (select * from attempts where from_last = 1 and (known = 0 or rank is not null)),
ordered as (
  select *, count(*) over (partition by run_id) as ranks,
    row_number() over (partition by run_id order by peak_bytes desc, rank_name, rank_id) as highest,
    row_number() over (partition by run_id order by peak_bytes, rank_name, rank_id) as lowest
  from compared),
pairs as (
  select h.run_id, h.script, h.version, h.ranks, h.rank_id as high_id, l.rank_id as low_id,
    h.rank_name as highest_rank, h.peak_bytes as highest_bytes, l.rank_name as lowest_rank,
    l.peak_bytes as lowest_bytes
  from ordered h join ordered l on h.run_id = l.run_id
  where h.highest = 1 and l.lowest = 1 and h.peak_bytes > l.peak_bytes),
sides as (
  select run_id, high_id as rank_id, 1 as sign from pairs
  union all select run_id, low_id, -1 from pairs),
differences as (
  select d.run_id, s.{{by}}_hash as place, file, min(s.line) as line, function,
    sum(d.sign * s.bytes) as line_bytes
  from site_rows s join sides d on s.rank_id = d.rank_id group by d.run_id, {_PLACE}),
largest as (
  select *, row_number() over (partition by run_id order by abs(line_bytes) desc, place) as nth
  from differences)
select p.run_id, script, version, ranks, highest_rank, highest_bytes, lowest_rank, lowest_bytes,
  highest_bytes - lowest_bytes as spread_bytes, line_bytes, file, line, function
from pairs p left join largest d on p.run_id = d.run_id and d.nth = 1
order by spread_bytes desc, p.run_id {{limit}}""",
    columns=(
        Shown("spread_bytes", "Spread", "bytes"),
        Shown("highest_rank", "Highest", "text"),
        Shown("highest_bytes", "", "bytes", may_go=True),
        Shown("lowest_rank", "Lowest", "text"),
        Shown("lowest_bytes", "", "bytes", may_go=True),
        _RANKS,
        _RUN,
        Shown("script", "Program", "text", may_go=True),
        Shown("line_bytes", "At the line", "more"),
        _LINE,
    ),
    nothing="all ranks of a run have the same peak",
    default_by="line",
)

QUESTIONS = {one.name: one for one in (WASTE, REGRESSIONS, GB_HOURS, LIMITS, RANKS_DIFFER)}

# The two newest versions, by the start of the first run of each.
NEWEST_VERSIONS = """select version from ranks
where device_kind = 'gpu' and version is not null{conditions}
group by version order by min(started) desc, version desc limit 2"""


@dataclass(frozen=True)
class Asked:
    """The selection for a question."""

    since: str | None = None  # "2030-01-31 12:00:00", UTC
    versions: Sequence[str] = ()  # for regressions: before, after
    by: str = ""  # "line" or "function"; "": the question's default
    near: float = 0.9  # fraction of a device that counts as near its limit
    top: int = 0  # rows; 0: all


def sql_of(question: Question, asked: Asked) -> tuple[str, dict[str, str | float]]:
    """Return the SQL of a question, and the values of its :names."""
    conditions, values = conditions_of(asked)
    if question.compares:
        values["before"], values["after"] = asked.versions
    if ":near" in question.sql:
        values["near"] = asked.near
    text, by = question.sql, asked.by or question.default_by
    filled: Mapping[str, str] = {
        "{conditions}": conditions,
        "{by}": by,
        # A rank has one row per line, but several per function, and counting distinct ranks is
        # slow.
        "{ranks}": "count(*)" if by == "line" else "count(distinct c.rank_id)",
        "{limit}": f"limit {asked.top}" if asked.top else "",
    }
    for name, filling in filled.items():
        text = text.replace(name, filling)
    return text, values


def conditions_of(asked: Asked) -> tuple[str, dict[str, str | float]]:
    """Return the conditions for the chosen rows of `ranks`, and their values."""
    text, values = "", dict[str, str | float]()
    if asked.since is not None:
        text += " and started >= cast(:since as timestamp)"
        values["since"] = asked.since
    if asked.versions:
        names = [f"version{i}" for i in range(len(asked.versions))]
        text += f" and version in ({', '.join(f':{name}' for name in names)})"
        values |= dict(zip(names, asked.versions, strict=True))
    return text, values
