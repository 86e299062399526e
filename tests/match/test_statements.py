"""What an event says: its exceptions, its headline, and the messages that it quotes."""

from __future__ import annotations

import pytest

from triage.match.quoted import BODY_LIMIT, Body, bodies
from triage.match.statements import is_error, message_of, statements
from triage.model import Event, Frame, Line, Raised, Record


def record(text: str, level: str | None = None) -> Record:
    return Record(text, (Line("stdin", 1, 0, text),), level=level)


def said(event: Event) -> list[tuple[str | None, str]]:
    return [(statement.class_name, statement.text) for statement in statements(event)]


@pytest.mark.parametrize(
    ("text", "body"),
    [
        ('x {"object":"error","message":"a \\"b\\"","type":"BadRequestError"} y', Body('a "b"', "BadRequestError")),
        ('{"error": {"message": "a", "type": "invalid_request_error", "code": 400}}', Body("a", None)),
        (
            "Error code: 404 - {'error': {'message': \"it's a\", 'type': 'NotFoundError'}}",
            Body("it's a", "NotFoundError"),
        ),
        ("{'object': 'error', 'message': 'a', 'param': None}", Body("a", None)),
        ('{\\"message\\":\\"a b\\",\\"code\\":400}', Body("a b", None)),
        ("- {'error': {'message': 'this was c", Body("this was c", None)),
        ('{\n  "error": {\n    "message": "a b"\n  }\n}', Body("a b", None)),
    ],
)
def test_error_body(text: str, body: Body) -> None:
    """JSON, a dict's repr, escaped once more, cut, or over several lines."""
    assert list(bodies(text)) == [body]


@pytest.mark.parametrize(
    "text",
    [
        '{"message": "hello"}',
        '{"type": "function", "message": "hello"}',
        '{"message": {"role": "user"}, "code": 400}',
        '{"error": null, "message": "done"}',
        '{"code": 200, "message": "done"}',
        "{'error': " * 30 + "}" * 30,
        '{"error": {"message": "' + "\\" * 50,
        "{" * BODY_LIMIT,
    ],
)
def test_no_error_body(text: str) -> None:
    """Content of requests, successes, and hostile nesting give none."""
    assert list(bodies(text)) == []


def test_a_client_exception_says_what_the_server_answered() -> None:
    """The server's message stands for the client's exception, without the client's place."""
    line = record("openai.BadRequestError: Error code: 400 - {'error': {'message': 'too ripe', 'code': 400}}")
    raised = Raised("openai.BadRequestError", line.text.partition(": ")[2], (Frame("/home/kim/a.py", 3),), (line,))
    (statement,) = statements(Event("exception", (line,), "", (raised,)))
    assert (statement.text, statement.class_name, statement.index) == ("too ripe", "openai.BadRequestError", 0)
    assert statement.event.raised[0].frames == ()
    assert is_error(statement)
    assert statement.records == (line,)


@pytest.mark.parametrize(
    ("headline", "class_name", "message"),
    [
        (
            "terminate called after throwing an instance of 'c10::Error'\n  what():  full\nof it",
            "c10::Error",
            "full\nof it",
        ),
        ("thread 'main' panicked at src/a.rs:1:2:\nfull", None, "full"),
        ("thread 'main' (12) panicked at src/a.rs:1:2:\nfull", None, "full"),
        ("thread 'main' panicked at 'full', src/a.rs:1:2", None, "full"),
    ],
)
def test_what_a_crash_says(headline: str, class_name: str | None, message: str) -> None:
    """The message without what the runtime puts around it, and it is an error."""
    event = Event("text", tuple(map(record, headline.split("\n"))), headline)
    (statement,) = statements(event)
    assert (statement.class_name, statement.text) == (class_name, message)
    assert is_error(statement)
    assert message_of(statement) == message


def test_a_signal_to_stop_is_no_crash() -> None:
    """abseil's handler reports SIGTERM as it reports SIGSEGV."""
    for signal, expected in (("SIGTERM", False), ("SIGSEGV", True)):
        text = f"*** {signal} received at time=1 on cpu 2 ***"
        for event in (Event("text", (record(text),), text), Event("log", (record(text, "ERROR"),), text)):
            (statement,) = statements(event)
            assert is_error(statement) is expected


def test_a_headline_that_repeats_its_exception_is_left_out() -> None:
    """``ValueError('...')`` before its own traceback would count twice."""
    raised = Raised("ValueError", "full of it")
    event = Event("exception", (record("x", "ERROR"),), "ValueError('full of it')", (raised,))
    assert said(event) == [("ValueError", "full of it")]


def test_lines_that_quote_a_message_say_nothing() -> None:
    """Source code and shell commands in loose text hold messages that nobody raised."""
    text = 'raise ValueError("full of it")\n$ grep full x.log\nok'
    assert said(Event("text", (record(text),), text)) == [(None, "ok")]
