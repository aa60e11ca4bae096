"""Asks a fleet with an engine in a process of its own, and prints the answers as JSON.

    python ask_everything.py ENGINE MASTER FLEET ASKED SQL

ASKED is a JSON list of [question, what is asked]. Java keeps the settings that the first session of
a process has, so tests with other settings need a process.
"""

from __future__ import annotations

import json
import sys

from peakline.fleet.asking import answer, answer_sql, open_engine
from peakline.fleet.questions import QUESTIONS, Asked


def main(name: str, master: str, fleet: str, asked: str, sql: str) -> None:
    engine = open_engine(name, fleet, master=master)
    try:
        found = [
            answer(engine, QUESTIONS[question], Asked(**named)).rows
            for question, named in json.loads(asked)
        ]
        print(json.dumps([*found, answer_sql(engine, sql)]))
    finally:
        engine.close()


if __name__ == "__main__":
    main(*sys.argv[1:])
