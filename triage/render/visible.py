"""Makes what a terminal would act on, or nobody could see, visible; and bounds its length."""

from __future__ import annotations

import unicodedata

from rich.cells import cell_len

# Cc, Cf, Cs, Zl, Zp, Cn: controls, format characters (bidi, zero width, tags), lone surrogates, line and
# paragraph separators, unassigned code points. The rest are letters and marks that draw nothing.
_HIDDEN = frozenset({"Cc", "Cf", "Cs", "Zl", "Zp", "Cn"})
_DRAWS_NOTHING = frozenset("\u034f\u115f\u1160\u17b4\u17b5\u3164\uffa0") | frozenset(
    chr(code) for start, end in ((0xFE00, 0xFE0F), (0xE0100, 0xE01EF)) for code in range(start, end + 1)
)
_BEFORE = 60
_SHORT = {"\t": "\\t", "\n": "\\n", "\r": "\\r"}


def _shown(char: str) -> str:
    """The character itself, or what stands for it."""
    if char in _SHORT:
        return _SHORT[char]
    if unicodedata.category(char) not in _HIDDEN and char not in _DRAWS_NOTHING:
        return char
    code = ord(char)
    return f"\\x{code:02x}" if code < 0x100 else f"<U+{code:04X}>"


def is_plain(text: str) -> bool:
    """Whether the text holds nothing that ``visible`` would change, whatever its length."""
    if text.isascii() and text.isprintable():
        return True
    return all(_shown(char) == char for char in text)


def visible(text: str, limit: int) -> str:
    """The text on one line, with every control, invisible and bidi character spelt out.

    Args:
        text: foreign text, as read.
        limit: the most characters to give back, before the marker that says how much was left out.

    Returns:
        The text with escapes as ``\\x1b`` and ``<U+202E>``; cut at ``limit``, if need be, with a plain marker.
    """
    if len(text) <= limit and text.isascii() and text.isprintable():
        return text
    shown: list[str] = []
    used = 0
    for index, char in enumerate(text):
        piece = _shown(char)
        if used + len(piece) > limit:
            return "".join(shown).rstrip() + f" [... {len(text) - index} more characters]"
        shown.append(piece)
        used += len(piece)
    return "".join(shown)


def flat(text: str, limit: int) -> str:
    """Prose on one line: runs of white space become one blank, the rest as ``visible`` has it.

    Args:
        text: prose that may hold line feeds and foreign text.
        limit: the most characters to give back, before the marker.
    """
    # Only as much as can be shown is split, so that a huge text costs no more than a small one.
    head, tail = text[: limit * 4 + 64], text[limit * 4 + 64 :]
    line = visible(" ".join(head.split()), limit)
    return f"{line} [...]" if tail and not line.endswith("]") else line


def excerpt(line: str, about: str, limit: int) -> str:
    """A quoted log line; where it is longer than the limit, the part around what it is quoted for.

    Args:
        line: the log line, as read.
        about: the message that the line is quoted for.
        limit: about the most characters to show; a short rest is shown rather than counted.
    """
    if len(line) <= limit + _BEFORE:
        return visible(line, limit + _BEFORE)
    needle = about.split("\n", 1)[0][:24]
    at = line.find(needle) if needle else -1
    if at <= _BEFORE:
        return visible(line, limit)
    # What stands right before the message is its class; further left are clocks and process names.
    line = line[max(line.rfind(" ", 0, at - 1) + 1, at - _BEFORE) :]
    return "[...] " + visible(line, limit + _BEFORE if len(line) <= limit + _BEFORE else limit)


def phrase(text: str, limit: int) -> str:
    """Prose on one line as ``flat`` has it, cut between words, never inside a quotation.

    Args:
        text: prose that may hold lists of quoted values.
        limit: the most characters to give back, before the marker that says how much was left out.
    """
    line = flat(text, limit * 8)
    if len(line) <= limit:
        return line
    end, quote = 0, ""
    for at, char in enumerate(line[: limit + 1]):
        if quote:
            quote = "" if char == quote else quote
        elif char in "'\"`" and not line[at - 1 : at].isalnum():  # an apostrophe opens nothing
            quote = char
        elif char == " ":
            end = at
    kept = line[:end].rstrip(" ,;:") if end > limit // 3 else line[:limit].rstrip()
    return f"{kept} [... {len(line) - len(kept)} more characters]"


def middle_cut(text: str, room: int) -> str:
    """A text without its middle where it takes more columns than there are: both ends of a path say something.

    Args:
        text: one line, made visible already.
        room: columns; a text is never cut to less than 12.
    """
    room = max(12, room)
    if cell_len(text) <= room:
        return text
    # The end names the file and the line, so it gets the larger half.
    head, tail = "", ""
    for char in text:
        if cell_len(head + char) > (room - 3) // 3:
            break
        head += char
    for char in reversed(text):
        if cell_len(head + char + tail) > room - 3:
            break
        tail = char + tail
    return f"{head}...{tail}"
