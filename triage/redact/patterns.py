"""What secrets and prompts look like in logs and on command lines.

Shapes are those that their makers publish (``hf_``, ``ghp_``, ``AKIA``); names are those of vLLM's
arguments and of the variables around it. Every pattern is linear or has bounded repeats: log text is
hostile.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import dataclass

from triage.redact.names import kind_of_name, kind_of_slip, shell_variable, words


def _always(match: re.Match[str], found: str) -> bool:
    return True


@dataclass(frozen=True, slots=True)
class Pattern:
    """One way that something to take out is written.

    kind: token, key, password, secret, prompt, address, host or user; None where the group ``name`` (a name) or
    ``slip`` (the flag of a secret with a slip in it) tells.
    regex: the first group other than ``name`` that took part is what is taken out. accepts: the last word.
    """

    kind: str | None
    regex: re.Pattern[str]
    accepts: Callable[[re.Match[str], str], bool] = _always

    def kind_of(self, match: re.Match[str]) -> str | None:
        """What was found."""
        if self.kind is not None:
            return self.kind
        return kind_of_slip(match["slip"]) if "slip" in match.re.groupindex else kind_of_name(match["name"])


# --- secrets -------------------------------------------------------------------------------

_SECRET_NAME = r"(?P<name>(?=[\w-]{0,60}?(?i:key|token|secret|pass|pwd|cookie|credential))[A-Za-z_][\w-]{0,80})"
_QUOTED = r"""\\"([^"\\]*)|"((?:[^"\\]|\\.)*)|'((?:[^'\\]|\\.)*)"""
_TYPES = words("str optional list bool any union dict tuple int none secretstr self args kwargs")
SENTENCE = words(
    "a all an and are argument as at be but by can cannot env environment flag for from has if in instead is it must "
    "need needs no not of on option or parameter required set should so takes than that the then there this to use "
    "value variable was when where which will with without you your"
)
"""What follows a flag or a name in a sentence about it."""


def _assigned(match: re.Match[str], found: str) -> bool:
    """Whether the value behind a telling name is a secret, not code, a type or a number."""
    name, kind = match["name"], kind_of_name(match["name"])
    if kind is None or found.startswith("$"):
        return False
    if match["bare"] is None:
        return True
    if match["sep"] == ":" and _is_said_of(match, found):
        return False
    if match["sep"] == ":" and not match["quote"] and "_" not in name and "-" not in name and kind != "password":
        return False
    word = found.lower()
    low = name.lower()
    if low.endswith("pwd") and found.startswith(("/", "~", ".")):  # the working directory
        return False
    if low == "pass" and (match["sep"] == ":" or re.fullmatch(r"[\d./]+", found)):  # "pass: 2", the English word
        return False
    if word in _TYPES or found == name or re.match(r"(?:self|args|config|os|kwargs|settings)\.", found):
        return False
    return kind == "password" or not re.fullmatch(r"[\d.]+", found)


def _is_said_of(match: re.Match[str], found: str) -> bool:
    """Whether what stands behind a name and a colon is said of it: prose, code, or the kind of an object of that name.

    Kubernetes says ``volume "hf-token" : secret "hf-token" not found``, ``secret/hf-token: timed out``.
    """
    if match.string[match.end() : match.end() + 1] == "(" or found.lower() in SENTENCE:
        return True
    if match.string[: match.start("name")].endswith("/"):
        return True
    return bool(match["quote"]) and match.string[match.end("quote")] == " " and found.isalpha()


def _after_flag(match: re.Match[str], found: str) -> bool:
    return kind_of_name(match["name"]) is not None and _is_value(found)


def _after_slip(match: re.Match[str], found: str) -> bool:
    return kind_of_slip(match["slip"]) is not None and _is_value(found)


def _is_value(found: str) -> bool:
    return not found.startswith(("-", "$")) and found.lower().strip(".,:;()`") not in SENTENCE


def _further(match: re.Match[str], found: str) -> bool:
    """Whether a word behind the value of a flag is another value: one that no sentence has and no model is called."""
    return (
        kind_of_name(match["name"]) is not None
        and len(found) >= 8
        and "/" not in found
        and any(map(str.isdigit, found))
        and any(map(str.isalpha, found))
    )


def _broken(match: re.Match[str], found: str) -> bool:
    """Whether what goes on behind a line break is the token's rest, not the next line's own first word."""
    rest = found.rsplit("\n", 1)[-1].strip()
    if re.match(r"(?:EngineCore|APIServer|ApiServer|Worker|VllmWorker|RayWorker)", rest):
        return False
    return any(map(str.isdigit, rest)) and any(map(str.isalpha, rest))


def _named(match: re.Match[str], found: str) -> bool:
    return kind_of_name(match["name"]) is not None and not found.startswith("$")


def _with_digit(match: re.Match[str], found: str) -> bool:
    return any(char.isdigit() for char in found)


# The end of a line, and the indent or gutter that the wrapped rest of it stands behind.
_WRAP = r"[ \t]{0,4}\r?\n[ \t|>]{0,40}"
WRAP = re.compile(_WRAP)


def _wrapped(least: int, most: int) -> str:
    """Letters and digits with a line break somewhere between them."""
    some = "[A-Za-z0-9]"
    return rf"(?={some}{{1,{most}}}{_WRAP}{some}){some}(?:(?:{_WRAP})?{some}){{{least - 1},{most - 1}}}"


def _token(regex: str, accepts: Callable[[re.Match[str], str], bool] = _always) -> Pattern:
    return Pattern("token", re.compile(rf"(?<![A-Za-z0-9])({regex})"), accepts)


def _key(regex: str, accepts: Callable[[re.Match[str], str], bool] = _always) -> Pattern:
    return Pattern("key", re.compile(rf"(?<![A-Za-z0-9])({regex})"), accepts)


PROMPTS: tuple[Pattern, ...] = (
    Pattern(
        "prompt",
        re.compile(
            rf"""(?:(?<![\w-])prompt(?::\ ?|=)|Generated\ response\ [^\n]{{0,200}}?output:\ |
            \\?["'](?:prompt|content|text)\\?["']\s{{0,4}}:\s{{0,4}})(?:{_QUOTED})""",
            re.VERBOSE | re.DOTALL,
        ),
    ),
    Pattern("prompt", re.compile(r"(?:prompt|output)_token_ids(?:: |=)\[([^\]]+)")),
)
"""Request bodies: of request lines, of dumps at a failure, of rejected JSON."""

WRAPPED: tuple[Pattern, ...] = (
    _token(rf"hf_{_wrapped(30, 34)}"),
    _token(rf"gh[pousr]_{_wrapped(36, 36)}"),
    _key(rf"(?:AKIA|ASIA){_wrapped(16, 16)}(?![0-9A-Za-z])"),
    _key(rf"(?:sk|nvapi)-[A-Za-z0-9_-]{{6,200}}{_WRAP}[A-Za-z0-9_-]{{6,200}}", _broken),
    _token(rf"(?:hf_|github_pat_|glpat-|xox[abprs]-)[A-Za-z0-9_-]{{6,200}}{_WRAP}[A-Za-z0-9_-]{{6,200}}", _broken),
)
"""Secrets that a terminal broke in two: those of known length first, then those that go on as a token would."""

SPANNING: tuple[Pattern, ...] = (
    Pattern(
        "key",
        re.compile(
            r"(-----BEGIN [A-Z ]{0,40}PRIVATE KEY-----.*?(?:-----END [A-Z ]{0,40}PRIVATE KEY-----|\Z))", re.DOTALL
        ),
    ),
    *WRAPPED,
    Pattern(
        None,
        # "name: X" over "value: Y" of a manifest, the same as JSON, and as a client's objects print themselves.
        re.compile(
            rf"""(?<![A-Za-z])name\\?["']?\s{{0,4}}[:=]\s{{0,8}}\\?["']?{_SECRET_NAME}\\?["']?,?
            (?:\s{{0,40}}|[ \t]{{0,8}}\r?\n[^\n]{{0,160}}?[ \t]{{0,40}})
            \\?["']?(?<![A-Za-z])value\\?["']?\s{{0,4}}[:=]\s{{0,8}}\\?["']?([^\s"'<>,(){{}}\\]+)""",
            re.VERBOSE,
        ),
        _named,
    ),
)
"""Secrets that several lines hold together, so that no line tells by itself."""

SECRETS: tuple[Pattern, ...] = (
    *SPANNING,
    # A real one has 34 letters and digits; cut ones are shorter, and hf_overrides is a flag.
    _token(r"hf_(?:[A-Za-z0-9]{30,}|(?=[a-z]*[A-Z0-9])[A-Za-z0-9]{10,})"),
    _token(r"gh[pousr]_[A-Za-z0-9]{20,}"),
    _token(r"github_pat_[A-Za-z0-9_]{20,}"),
    _token(r"glpat-[A-Za-z0-9_-]{18,}"),
    _token(r"xox[abprs]-[A-Za-z0-9-]{10,}"),
    _token(r"eyJ[A-Za-z0-9_-]{8,}\.[A-Za-z0-9_-]{8,}(?:\.[A-Za-z0-9_-]*)?"),
    Pattern("key", re.compile(r"(?<![A-Za-z0-9])((?:sk|nvapi)-[A-Za-z0-9_-]{16,})"), _with_digit),
    _key(r"(?:AKIA|ASIA)[0-9A-Z]{16}(?![0-9A-Z])"),
    _key(r"AIza[0-9A-Za-z_-]{35}"),
    Pattern(
        "secret",
        re.compile(
            r"(?<![A-Za-z])(?i:(?:set-)?cookie)\\?[\"']?\s{0,2}[:=]\s{0,2}\\?[\"']?"
            r"([\w.!#%&*+^~-]{1,100}=[^\s;\"'\\<>]{1,4000}(?:;\s?[^\s;\"'\\<>]{1,4000}){0,50})(?<![.,:])"
        ),
    ),
    Pattern("key", re.compile(r"(?i:X-Amz-(?:Signature|Credential|Security-Token)|[?&]sig)=([^\s&'\"<>]+)")),
    Pattern("password", re.compile(r"://([^\s/@:'\"<>]{0,100}:[^\s/@'\"<>]{1,200})(?=@)")),
    Pattern(
        "token",
        re.compile(
            r"(?i:authorization)\\?[\"']?\s{0,2}[:=]\s{0,2}\\?[\"']?(?i:bearer|basic|token)\s+([^\s\"',;<>\\]+)"
        ),
        lambda match, found: not found.startswith("$"),
    ),
    Pattern("token", re.compile(r"(?<![A-Za-z])(?i:bearer)\s+([A-Za-z0-9._~+/=-]{8,})"), _with_digit),
    Pattern(
        None,
        re.compile(
            rf"""(?:(?<![\w-])|(?<=[^\w-]-)|(?<=--)){_SECRET_NAME}(?P<quote>\\?["'])?\s{{0,2}}(?P<sep>[=:])\s{{0,2}}(?:SecretStr\()?
            (?:{_QUOTED}|\[([^\]]{{1,4000}})|(?P<bare>[^\s,;&'"()\[\]{{}}=<>\\`|]+={{0,2}}))""",
            re.VERBOSE | re.DOTALL,
        ),
        _assigned,
    ),
    # "--api-key x", "--api-key", "x" of JSON and "- --api-key" over "- x" of YAML.
    Pattern(
        None,
        re.compile(
            rf"""(?<![\w-])--{_SECRET_NAME}
            (?:["']\s{{0,4}},\s{{0,40}}|["']?[ \t]{{0,8}}\r?\n[ \t]{{0,40}}-[ \t]{{1,8}}|\s{{1,8}})
            (?:{_QUOTED}|([^\s'"<>\\|;&]+))""",
            re.VERBOSE,
        ),
        _after_flag,
    ),
    # "--api-key x y": the flag takes a list; what an argument parser did not take stands behind it.
    Pattern(
        None,
        re.compile(
            rf"""(?<![\w-])--{_SECRET_NAME}[ =](?:<redacted:\w+>[ ]){{1,8}}([^\s'"<>\\|;&$=-][^\s'"<>\\|;&$=]*)"""
        ),
        _further,
    ),
    Pattern(
        None,
        re.compile(
            rf"""(?<![\w-])--(?P<slip>[A-Za-z][\w-]{{3,40}})(?:["']\s{{0,4}},\s{{0,40}}|=|\s{{1,8}})
            (?:{_QUOTED}|([^\s'"<>\\|;&]+))""",
            re.VERBOSE,
        ),
        _after_slip,
    ),
    Pattern(None, re.compile(rf"""\[\\?["']{_SECRET_NAME}\\?["']\]\s{{0,2}}=\s{{0,2}}(?:{_QUOTED})"""), _named),
    Pattern(
        "password", re.compile(r"""\bcurl\b[^\n|;]{0,300}?\s(?:-u|--user)[ =]["']?([^\s:'"]{1,100}:[^\s'"]{1,200})""")
    ),
    Pattern("password", re.compile(r"""\bsshpass\s{1,4}-p\s{0,4}["']?([^\s'"]{1,200})""")),
)
"""Secrets by their shape, then by the name in front of them."""


# --- command lines -------------------------------------------------------------------------

_WORD = r"""(?:'[^']*'|"(?:[^"\\]|\\.)*"|\\.|[^\s'"\\;|&<>()])+"""
_FLAG = re.compile(rf"(?<![\w-])(--{_SECRET_NAME})([ \t]+|=)({_WORD})")
_VARIABLE = re.compile(rf"(?<![\w$-])(?P<name>[A-Z][A-Z0-9_]{{2,60}})=({_WORD})")
# Lower case too, where it cannot be anything else: "docker run -e db_pass=x".
_CARRIED = re.compile(rf"(?<![\w-])(?:-e|--env|export)[ =](?P<name>[A-Za-z_][A-Za-z0-9_]{{2,60}})=({_WORD})")
_OTHER_LANGUAGE = re.compile(r"^\s*(?:- |[\w.-]+:(?:\s|$)|(?:from|import)\s\w|\w+\s=\s|LLM\()", re.MULTILINE)


def shell_words(command: str) -> str:
    """A shell command with ``"$VLLM_API_KEY"`` and the like in place of secrets whose flag or variable tells.

    Args:
        command: a command line; YAML and Python are given back as they are, a shell variable means
            nothing in them.
    """
    if _OTHER_LANGUAGE.search(command):
        return command
    command = _FLAG.sub(_flag_word, command)
    return _CARRIED.sub(_variable_word, _VARIABLE.sub(_variable_word, command))


def _flag_word(match: re.Match[str]) -> str:
    variable = shell_variable(match["name"])
    word = match[4]
    if variable is None or word.startswith(("-", "$", '"$')):
        return match[0]
    return f'{match[1]}{match[3]}"${variable}"'


def _variable_word(match: re.Match[str]) -> str:
    name = match["name"]
    if kind_of_name(name) is None or match[2].startswith(("$", '"$')):
        return match[0]
    before = match[0][: match.start("name") - match.start()]
    return f'{before}{name}="${name}"'
