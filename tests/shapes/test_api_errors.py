"""Errors as clients of the API show them: bodies, exceptions, streams; the server's own message is the cause."""

from __future__ import annotations

from collections.abc import Callable
from textwrap import dedent
from typing import NamedTuple

import pytest

from triage.model import Report

Diagnose = Callable[..., Report]


class Shape(NamedTuple):
    """A shape: its row and a log that says that at most LIMIT images may be provided in one prompt."""

    row: str
    text: str


TOO_MANY = "At most 6 image(s) may be provided in one prompt."
BODY = f'{{"object":"error","message":"{TOO_MANY}","type":"BadRequestError","param":null,"code":400}}'

SHAPES = [
    Shape("a body by itself", f"{BODY}\n"),
    Shape("a body inside a line", f"2026-01-05 10:00:00 gateway upstream said {BODY} for request 17\n"),
    Shape(
        "the newer body",
        f'response: {{"error":{{"message":"{TOO_MANY}","type":"BadRequestError","param":null,"code":400}}}}\n',
    ),
    Shape(
        "a body over several lines",
        f"""\
        {{
            "error": {{
                "message": "{TOO_MANY}",
                "type": "BadRequestError",
                "param": null,
                "code": 400
            }}
        }}
        """,
    ),
    Shape(
        "a body as a Python dict", f"got {{'object': 'error', 'message': '{TOO_MANY}', 'param': None, 'code': 400}}\n"
    ),
    Shape(
        "openai's client",
        f"""\
        Traceback (most recent call last):
          File "/home/kim/client.py", line 12, in <module>
            r = client.chat.completions.create(model="kiwi", messages=messages)
          File "/opt/venv/lib/python3.11/site-packages/openai/_base_client.py", line 1047, in request
            raise self._make_status_error_from_response(err.response) from None
        openai.BadRequestError: Error code: 400 - {{'error': {{'message': '{TOO_MANY}', 'type': 'BadRequestError', 'param': None, 'code': 400}}}}
        """,
    ),
    Shape(
        "openai's client, older server",
        f"openai.BadRequestError: Error code: 400 - {{'object': 'error', 'message': '{TOO_MANY}', 'type': 'BadRequestError', 'param': None, 'code': 400}}\n",
    ),
    Shape(
        "openai's client, cut",
        f"openai.BadRequestError: Error code: 400 - {{'error': {{'message': '{TOO_MANY}', 'type': 'BadRequ\n",
    ),
    Shape(
        "litellm",
        f"litellm.exceptions.BadRequestError: litellm.BadRequestError: OpenAIException - {{'error': {{'message': '{TOO_MANY}', 'type': 'BadRequestError', 'code': 400}}}}\n",
    ),
    Shape("a stream", f'data: {{"error": {{"message": "{TOO_MANY}", "type": "BadRequestError", "code": 400}}}}\n'),
    Shape("a status and a body", f"ERROR: HTTP 400: {BODY}\n"),
    Shape(
        "requests, body printed beside",
        f"requests.exceptions.HTTPError: 400 Client Error: Bad Request for url: http://192.0.2.4:8000/v1/chat/completions\n{BODY}\n",
    ),
    Shape(
        "escaped JSON inside JSON",
        f'{{"level":"error","msg":"upstream: {{\\"message\\":\\"{TOO_MANY}\\",\\"type\\":\\"BadRequestError\\",\\"code\\":400}}"}}\n',
    ),
]


@pytest.mark.parametrize("shape", SHAPES, ids=lambda shape: shape.row)
def test_message_of_an_api_error(diagnose: Diagnose, shape: Shape) -> None:
    """The server's message is recognised with its values, once, and nothing around it is a failure of its own."""
    text = dedent(shape.text)
    report = diagnose(text)
    roots = [finding for finding in report.findings if finding.role == "root_cause"]
    assert [f.record.slug if f.record else f.message for f in roots] == ["too-many-media-items-in-request"]
    assert (roots[0].captures["limit"], roots[0].captures["modality"]) == (6, "image")
    assert roots[0].count == 1
    assert set(roots[0].evidence) <= set(text.splitlines())


def test_message_with_quotes_and_escapes(diagnose: Diagnose) -> None:
    """Quotes and escapes of a repr come off before the message is read."""
    text = (
        "openai.NotFoundError: Error code: 404 - {'error': {'message': 'The model `C:\\\\models\\\\kiwi\\'s` does not "
        "exist.', 'type': 'NotFoundError', 'param': 'model', 'code': 404}}\n"
    )
    (finding,) = diagnose(text).findings
    assert (finding.record and finding.record.slug, finding.captures["model"]) == (
        "served-model-not-found",
        "C:\\models\\kiwi's",
    )


def test_unknown_message_of_a_body_is_shown_by_itself(diagnose: Diagnose) -> None:
    """Of a body that no record knows the message is given, not the JSON around it."""
    report = diagnose(
        "INFO 06-18 21:35:42 [launcher.py:29] Available routes are:\n"
        "openai.BadRequestError: Error code: 400 - {'error': {'message': 'kiwis are out of season', 'code': 400}}\n"
    )
    assert report.status == "unknown_failure"
    assert [finding.message for finding in report.findings] == ["kiwis are out of season"]


def test_a_request_that_looks_like_a_body_is_none(diagnose: Diagnose) -> None:
    """A request's own content ("message": ...) is no error, whatever it says."""
    body = f'{{"model":"kiwi","messages":[{{"role":"user","content":"{TOO_MANY}"}}]}}'
    assert diagnose(f"curl -d '{body}' http://192.0.2.4:8000/v1/chat/completions\n").status != "cause_found"
