"""The Spark engine, on this machine or a cluster. The only file that imports pyspark."""

from __future__ import annotations

import os
import re
import shutil
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pyspark
from py4j.java_gateway import is_instance_of
from py4j.protocol import Py4JError, Py4JJavaError
from pyspark.errors import PySparkException
from pyspark.sql import SparkSession

from peakline.fleet import schema, views
from peakline.fleet.engines import Answer, FleetError, Values, is_url, no_query, table_path
from peakline.fleet.masters import need_master
from peakline.fleet.quiet_start import quiet_start

# Other messages of a local session are about clusters and do not help.
_QUIET = """rootLogger.level = error
rootLogger.appenderRef.stderr.ref = stderr
appender.stderr.type = Console
appender.stderr.name = stderr
appender.stderr.target = SYSTEM_ERR
appender.stderr.layout.type = PatternLayout
appender.stderr.layout.pattern = spark: %p %c: %m%n
"""
_LOCAL = "local"
_NO_CONNECTOR = re.compile(r"No FileSystem for scheme|Class \S+FileSystem not found")
_STATEMENTS = tuple(
    f"org.apache.spark.sql.catalyst.plans.logical.{name}" for name in ("Command", "ParsedStatement")
)
# Spark's parser does not count these as statements, but they do more than read: they write a
# folder, run a program, or take their SQL from a text. Not every version has all of them.
_MORE_THAN_READ = {"InsertIntoDir", "ScriptTransformation", "UnresolvedExecuteImmediate"}
_JAVA_CALL = re.compile(r"\b(reflect|java_method|try_reflect)`?\s*\(", re.IGNORECASE)
# pyspark passes errors without a class of its own on as py4j's.
_ERRORS = (PySparkException, Py4JError)


class SparkEngine:
    """A session with views on the files of a fleet.

    Note: times are UTC; a file of a table may be at any depth, so folders are no columns.
    """

    name = "spark"

    def __init__(self, fleet: str, master: str = "", *, shows_progress: bool = False) -> None:
        """Start a session and make the views.

        Raises:
            FleetError: there is no Java, no cluster answers, or a table cannot be read.
        """
        need_java()
        need_master(master)
        self._folder = tempfile.TemporaryDirectory(prefix="peakline-spark-")
        self._session = self._start(master, shows_progress)
        try:
            for table in schema.TABLES:
                reader = self._session.read.option("recursiveFileLookup", "true")
                files = reader.option("pathGlobFilter", "*.parquet").parquet(_full(fleet, table))
                files.createOrReplaceTempView(f"{table}_files")
            for statement in views.statements():
                self._session.sql(statement)
        except _ERRORS as error:
            why = self._with_connector(_first_line(error))
            self.close()
            raise FleetError(f"Spark: {why}") from error

    def _start(self, master: str, shows_progress: bool) -> SparkSession:
        builder: Any = SparkSession.builder
        builder = builder.appName("peakline fleet").master(master or f"{_LOCAL}[*]")
        settings = {
            "spark.sql.session.timeZone": "UTC",
            "spark.ui.showConsoleProgress": str(shows_progress).lower(),
            # Otherwise it warns that it shortens the plan of each query.
            "spark.sql.debug.maxToStringFields": "1000",
        }
        if not master or master.startswith(_LOCAL):
            quiet = Path(self._folder.name) / "log4j2.properties"
            quiet.write_text(_QUIET)
            settings |= {
                "spark.ui.enabled": "false",
                "spark.driver.extraJavaOptions": f"-Dlog4j2.configurationFile=file:{quiet}",
                "spark.local.dir": self._folder.name,
                "spark.sql.warehouse.dir": str(Path(self._folder.name) / "warehouse"),
                # A task costs more than the rows of most tasks.
                "spark.sql.shuffle.partitions": str(2 * (os.cpu_count() or 1)),
                "spark.sql.files.openCostInBytes": str(64 << 10),
            }
        for name, value in settings.items():
            builder = builder.config(name, value)
        try:
            with quiet_start() as saying:
                session: SparkSession = builder.getOrCreate()
        except _ERRORS as error:
            self._folder.cleanup()
            raise FleetError(_why_not(master, saying.lines(), _first_line(error))) from error
        return session

    def _with_connector(self, why: str) -> str:
        """Return why a table cannot be read, and how Spark gets the connector for object stores."""
        if not _NO_CONNECTOR.search(why):
            return why
        jvm: Any = self._session.sparkContext._jvm
        version = jvm.org.apache.hadoop.util.VersionInfo.getVersion()
        return (
            f"{why}; object stores need a connector: for s3a://BUCKET set PYSPARK_SUBMIT_ARGS="
            f"'--packages org.apache.hadoop:hadoop-aws:{version} pyspark-shell'"
        )

    def need_query(self, sql: str) -> None:
        """Refuse anything but one read-only query.

        Raises:
            FleetError: the SQL writes, changes something, runs a program, or is invalid.
        """
        if found := _JAVA_CALL.search(sql):
            raise no_query(f"a call of Java, {found[1]}")
        session: Any = self._session
        try:
            plan = session._jsparkSession.sessionState().sqlParser().parsePlan(sql)
        except _ERRORS as error:
            raise FleetError(f"Spark: {_first_line(error)}") from error
        gateway: Any = self._session.sparkContext._gateway
        for node in _nodes_of(plan):
            name = node.getClass().getSimpleName()
            is_statement = any(is_instance_of(gateway, node, one) for one in _STATEMENTS)
            if is_statement or name in _MORE_THAN_READ:
                raise no_query(name)

    def ask(self, sql: str, values: Values) -> Answer:
        """Return the rows of a query.

        Raises:
            FleetError: Spark refuses the query.
        """
        try:
            frame = self._session.sql(sql, args=dict(values) or None)
            return Answer(frame.columns, [tuple(row) for row in frame.collect()])
        except _ERRORS as error:
            raise FleetError(f"Spark: {_first_line(error)}") from error

    def close(self) -> None:
        """End the session, which ends Java."""
        # Abandoned tasks would log that their files disappear.
        self._session.sparkContext.setLogLevel("OFF")
        self._session.stop()
        self._folder.cleanup()


def _nodes_of(plan: Any) -> Iterator[Any]:
    """Yield the nodes of a parsed plan, including those of subqueries."""
    yield plan
    for nodes in (plan.children(), plan.innerChildren()):
        for at in range(nodes.size()):
            yield from _nodes_of(nodes.apply(at))


def need_java() -> None:
    """Raise an error that explains how to install Java, if there is none.

    Raises:
        FleetError: there is none.
    """
    home = os.environ.get("JAVA_HOME")
    if shutil.which("java") is None and not (home and (Path(home) / "bin" / "java").exists()):
        raise FleetError(
            "Spark needs Java, which is not installed; type: apt install default-jre-headless"
        )


def _full(fleet: str, table: str) -> str:
    """Return a path that Spark does not resolve in the cluster's own file system.

    Spark takes it literally: blanks must not be escaped as in URLs.
    """
    path = table_path(fleet, table)
    return path if is_url(path) else f"file://{Path(path).resolve()}"


def _why_not(master: str, lines: list[str], error: str) -> str:
    """Return why there is no session: the last message of Java, else the one of pyspark."""
    if any("masters are unresponsive" in line for line in lines):
        return (
            f"Spark: the server at {master} does not take part; is it a Spark master, of the"
            f" version of pyspark here ({pyspark.__version__})?"
        )
    reasons = [line for line in lines if line.startswith("Exception in thread")]
    return f"Spark: {(reasons or [error])[0]}"


def _first_line(error: PySparkException | Py4JError) -> str:
    """Return the first line of an error, and of the error that caused it."""
    if not isinstance(error, Py4JJavaError):
        return str(error).strip().splitlines()[0]
    first = last = error.java_exception
    while (cause := last.getCause()) is not None:
        last = cause
    lines = [(one.getMessage() or one.toString()).strip().splitlines()[0] for one in (first, last)]
    return ": ".join(dict.fromkeys(lines))
