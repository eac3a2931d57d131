"""What stands in the database, counted: progress of the study and of each participant."""

from __future__ import annotations

import time
from typing import Any

import sqlalchemy as sa

from nearer.collect.store import Store, answers, meta, participants, questions, ready

__all__ = ["participant_table", "study_status"]

_PRESENT = 300.0  # seconds after the last sign of life


def study_status(connection: sa.Connection) -> dict[str, Any]:
    """Count participants and answers.

    `present` were seen within five minutes; `per_minute` counts answers in the last 60 minutes, the oldest first.
    """
    now = time.time()

    def count(*conditions: Any, of: Any) -> int:
        return connection.scalar(sa.select(sa.func.count()).select_from(of).where(*conditions)) or 0

    people = sa.select(
        sa.func.count(),
        sa.func.coalesce(sa.func.sum(sa.case((participants.c.answered >= participants.c.total, 1), else_=0)), 0),
        sa.func.coalesce(sa.func.sum(sa.case((participants.c.seen > now - _PRESENT, 1), else_=0)), 0),
        sa.func.coalesce(sa.func.sum(participants.c.answered), 0),
    )
    n_people, finished, present, n_answers = connection.execute(people).one()
    minute = sa.cast(sa.func.floor((now - answers.c.answered) / 60), sa.Integer)
    recent = sa.select(minute.label("ago"), sa.func.count()).where(answers.c.answered > now - 3600).group_by("ago")
    counts = {int(ago): int(number) for ago, number in connection.execute(recent)}
    return {
        "participants": int(n_people),
        "finished": int(finished),
        "present": int(present),
        "answers": int(n_answers),
        "answers_last_minute": counts.get(0, 0),
        "cannot_tell": count(answers.c.choice.is_(None), of=answers),
        "questions_open": count(of=questions) - int(n_answers),
        "questions_ready": count(of=ready),
        "paused": connection.scalar(sa.select(meta.c.value).where(meta.c.key == "paused")) == "1",
        "per_minute": [counts.get(ago, 0) for ago in range(59, -1, -1)],
    }


def participant_table(store: Store, connection: sa.Connection) -> list[dict[str, Any]]:
    """Progress of each participant, and what can be told about the quality of the answers without a map."""
    import json

    both = questions.join(answers, answers.c.question == questions.c.id)
    checked = sa.select(questions.c.participant, questions.c.expected, answers.c.choice).select_from(both)
    right: dict[int, list[int]] = {}
    for person, expected, choice in connection.execute(checked.where(questions.c.expected.is_not(None))):
        tally = right.setdefault(person, [0, 0])
        tally[0] += choice is not None and expected in json.loads(choice)[:1]
        tally[1] += 1
    return [
        {
            "participant": row.name,
            "answered": row.answered,
            "total": row.total,
            "visits": row.visits,
            "started": row.started,
            "seen": row.seen,
            "catch_right": right.get(row.id, (0, 0))[0],
            "catch_asked": right.get(row.id, (0, 0))[1],
        }
        for row in connection.execute(sa.select(participants).order_by(participants.c.id))
    ]
