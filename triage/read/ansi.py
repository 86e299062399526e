"""What a terminal shows of a text: escape sequences and overstrikes out, whole and as pasting leaves them."""

from __future__ import annotations

import regex

# rsyslog writes control characters in octal (#033), cat -v with a caret (^[), JSON and Python as escapes; some fonts
# and viewers draw a picture of ESC, or a quotation mark or U+FFFD in its place.
_ESC = r"(?:\x1b|#033|\^\[|\\x1[bB]|\\u001[bB]|\\033|\\e|\u241b|\u2039|\ufffd)"
_SPELLED = regex.compile(rf"{_ESC}\[[0-9;]*[mKJGAH]|{_ESC}\[[0-9;]*$|#015$|#015(?=#|\s*$)|\^M$")
_MARKS = regex.compile(r"#0|\^\[|\^M$|\\[xu0e]|[\u241b\u2039\ufffd]\[")
_SEQUENCE = regex.compile(
    r"\x1b\[[0-?]*[ -/]*(?:[@-~]|$)"  # CSI: colours, cursor; at a line's end also half of one
    r"|\x1b\][^\x07\x1b]{0,2048}(?:\x07|\x1b\\)"  # OSC: titles, links
    r"|\x1b[PX^_][^\x1b]{0,2048}\x1b\\"  # DCS, SOS, PM, APC
    r"|\x1b[ -/]*(?:[0-~]|$)"
)
# Many pastes lose the ESC and keep the rest: "[36m(RayWorker pid=1)[0m". Prometheus' rate(x[5m]) is none.
_REMNANT = regex.compile(r"\[(?:\d{1,3})(?:;\d{1,3})*m(?!\])")
_HALF = regex.compile(r"\[\d{1,3}(?:;\d{0,3})*$")
_OVERSTRUCK = regex.compile(r"[^\x08]\x08|^\x08+")
_BACKSLASHED = regex.compile(r"\\[A-Za-z]")
OVERSTRIKES = 80
"""Characters in a row that backspaces are followed back over."""

# Blanks that are none to a comparison, characters without width, and marks of byte order inside concatenated files.
_BLANKS = "\u00a0\u1680\u2000\u2001\u2002\u2003\u2004\u2005\u2006\u2007\u2008\u2009\u200a\u202f\u205f\u3000"
_WIDTHLESS = "\u00ad\u200b\u200c\u200d\u200e\u200f\u2060\u2061\u2062\u2063\u2064\ufeff"
_PLAIN = str.maketrans(dict.fromkeys(_BLANKS, " ") | dict.fromkeys(_WIDTHLESS))
# Word processors make one long dash of the two hyphens before a flag.
_DASHED = regex.compile(r"(?<![^\s'\"`(\[=])[\u2013\u2014](?=[a-z][a-z\d_-]+)")


def strip_ansi(text: str) -> str:
    """Take escape sequences out of a text, colour codes that lost their ESC, and what backspaces struck out."""
    if "\x1b" in text:
        text = _SEQUENCE.sub("", text)
    if "\b" in text:
        for _ in range(OVERSTRIKES):
            text, count = _OVERSTRUCK.subn("", text)
            if not count:
                break
    if "[" in text:
        if _MARKS.search(text):
            text = _SPELLED.sub("", text)
        if "m" in text:
            text, count = _REMNANT.subn("", text)
            if count:  # its last colour may have been cut in two
                text = _HALF.sub("", text)
    elif text.endswith(("#015", "^M")):
        text = _SPELLED.sub("", text)
    return text


def plain(text: str) -> str:
    """A line's text as it is understood: as a terminal shows it, all blanks of one kind, nothing without width."""
    text = strip_ansi(text)
    if "\\_" in text and not _BACKSLASHED.search(text):  # Markdown's, not a path of Windows
        text = text.replace("\\_", "_")
    if text.isascii():
        return text
    text = text.translate(_PLAIN)
    return _DASHED.sub("--", text) if "\u2013" in text or "\u2014" in text else text
