"""What a log line quotes of a client: prompts, messages, answers. It says nothing of the server, whatever it says."""

from __future__ import annotations

import regex

_HINTS = ("rompt", "utput", "essage", "ontent", "enerated", "Dumping")
# The name of a field as loggers, Python and JSON write it, and the quotation mark that opens its value.
_OPENS = regex.compile(
    r"\b(?:[Pp]rompt|[Oo]utput|[Gg]enerated[ _]text|messages|content|delta)(?:\\?['\"])?"
    r"\s{0,8}[:=]\s{0,8}\[?\{?\\?(?P<quote>['\"])"
)
# Offline examples print what was asked and answered without any logger.
_PRINTED = regex.compile(r"(?:Prompt|Output|Generated text|Response): {0,8}(?P<quote>['\"])")
# What the engine was working on when it failed, in one record at level ERROR.
_DUMP = regex.compile(r"Dumping (?:input data|scheduler|sampling)")
_CLOSES = r"(?<!\\){quote}(?=\s*(?:$|[,)\]}}]))"


def masked(text: str, level: str | None) -> tuple[str, bool]:
    """Take out of a line what it quotes of a client.

    Args:
        text: the line, its envelopes off.
        level: that of the logger; of lines without one only those count that begin with such a quotation.

    Returns:
        The line with empty quotations, and whether the last one goes on in the lines behind. An error's quotation does
        not, except in the engine's dump of its input: what stands behind it may be the traceback.
    """
    if not any(hint in text for hint in _HINTS) or text[:1].isspace():
        return text, False
    pieces: list[str] = []
    at = 0
    pattern = _OPENS if level is not None else _PRINTED
    while (found := pattern.search(text, at) if level is not None or at else pattern.match(text)) is not None:
        pieces.append(text[at : found.end()])
        quote = found["quote"]
        end = regex.search(_CLOSES.format(quote=quote), text, pos=found.end())
        if end is None:
            return "".join(pieces) + quote, level not in ("ERROR", "CRITICAL") or bool(_DUMP.match(text))
        at = end.start()
        pattern = _OPENS
    return "".join(pieces) + text[at:], False
