"""Terminal escape sequences, whole and as pasting leaves them."""

from __future__ import annotations

import regex

# rsyslog writes control characters in octal (#033), cat -v with a caret (^[), JSON and Python as escapes.
_SPELLED = regex.compile(r"(?:#033|\^\[|\\x1[bB]|\\u001[bB]|\\033|\\e)\[[0-9;]*[mK]|#015$|#015(?=#|\s*$)|\^M$")
_SEQUENCE = regex.compile(
    r"\x1b\[[0-?]*[ -/]*[@-~]"  # CSI: colours, cursor
    r"|\x1b\][^\x07\x1b]{0,2048}(?:\x07|\x1b\\)"  # OSC: titles, links
    r"|\x1b[PX^_][^\x1b]{0,2048}\x1b\\"  # DCS, SOS, PM, APC
    r"|\x1b[ -/]*[0-~]"
)
# Many pastes lose the ESC and keep the rest: "[36m(RayWorker pid=1)[0m". Prometheus' rate(x[5m]) is none.
_REMNANT = regex.compile(r"\[(?:\d{1,3})(?:;\d{1,3})*m(?!\])")


def strip_ansi(text: str) -> str:
    """Take escape sequences out of a text, and colour codes that lost their ESC."""
    if "\x1b" in text:
        text = _SEQUENCE.sub("", text)
    if "[" in text and "m" in text:
        text = _REMNANT.sub("", _SPELLED.sub("", text))
    elif text.endswith(("#015", "^M")):
        text = _SPELLED.sub("", text)
    return text
