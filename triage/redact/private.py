"""What private data looks like: addresses, hosts and user names, in what is made to be shared.

Every pattern is linear or has bounded repeats: log text is hostile.
"""

from __future__ import annotations

import ipaddress
import re

from triage.redact.names import is_of_host, words
from triage.redact.patterns import SENTENCE, Pattern

_OCTET = r"(?:25[0-5]|2[0-4]\d|1?\d?\d)"
_VERSION_BEFORE = re.compile(
    r"(?:(?<![A-Za-z])(?:version|release|cuda|cudnn|driver|nccl|rocm|torch|vllm|v)[\s:=]{0,3}v?|[=<>~!]=\s?)$",
    re.IGNORECASE,
)


def _ipv4(match: re.Match[str], found: str) -> bool:
    """Whether four numbers are a host's address: not this machine's own, and not a release like 0.11.0.1."""
    before = match.string[max(0, match.start() - 20) : match.start()]
    return not found.startswith(("0.", "127.")) and not _VERSION_BEFORE.search(before)


def _ipv6(match: re.Match[str], found: str) -> bool:
    try:
        address = ipaddress.IPv6Address(found)
    except ValueError:
        return False
    return not (address.is_loopback or address.is_unspecified)


def _host(match: re.Match[str], found: str) -> bool:
    # An image's digest, and a package at a release, are written the same way.
    return not found.startswith("sha256") and not re.fullmatch(r"v?[\d.]+", found)


# Hosts that everybody knows, and names that stand for this machine or for none: the last two labels, or the whole.
_PUBLIC = words(
    "localhost localhost.localdomain host.docker.internal none null true false auto hostname host "
    "huggingface.co hf.co hf-mirror.com github.com github.io githubusercontent.com vllm.ai pytorch.org python.org "
    "pypi.org pythonhosted.org readthedocs.io nvidia.com nvcr.io docker.com docker.io ghcr.io quay.io gcr.io "
    "pydantic.dev ray.io modelscope.cn kubernetes.io k8s.io amd.com intel.com openai.com anthropic.com google.com "
    "googleapis.com wikipedia.org stackoverflow.com example.com"
)
_HOST = r"[A-Za-z][\w-]{0,62}(?:\.[\w-]{1,63}){0,8}"


def _is_unknown(host: str) -> bool:
    low = host.lower()
    return low not in _PUBLIC and ".".join(low.split(".")[-2:]) not in _PUBLIC and not low.isdecimal()


def _unknown_host(match: re.Match[str], found: str) -> bool:
    return _is_unknown(found)


def _host_of_name(match: re.Match[str], found: str) -> bool:
    return is_of_host(match["name"]) and found.lower() not in SENTENCE and _unknown_host(match, found)


HOSTS: tuple[Pattern, ...] = (
    Pattern(
        "host",
        re.compile(
            rf"(?i:(?:https?|wss?|tcp|udp|grpcs?|rediss?|ray|nats|amqps?|nfs)://)(?:[^\s/@:]{{0,100}}(?::[^\s/@]{{0,200}})?@)?({_HOST})"
        ),
        _unknown_host,
    ),
    # "--host x", "host='x'", "MASTER_ADDR=x"; what YAML and JSON have under such names.
    Pattern(
        "host",
        re.compile(
            rf"""(?<![\w.])--(?P<name>[A-Za-z][\w-]{{1,60}})
            (?:=|[ \t]{{1,4}}|["'],\s{{1,40}}|["']?\r?\n[ \t]{{0,40}}-[ \t])["']?({_HOST})(?![\w(]|://)""",
            re.VERBOSE,
        ),
        _host_of_name,
    ),
    Pattern(
        "host",
        re.compile(
            rf"""(?<![\w.-])(?P<name>[A-Za-z_][\w]{{1,60}})["']?(?:=|:[ ]{{0,2}}(?=["']))["']?({_HOST})(?![\w(])"""
        ),
        _host_of_name,
    ),
    # What resolvers say: Python's urllib3, Go.
    Pattern("host", re.compile(rf"(?:Failed to resolve '|\blookup )({_HOST})(?='| on |: )"), _unknown_host),
)
"""Hosts that are told by what stands before them."""

PRIVATE: tuple[Pattern, ...] = (
    Pattern("user", re.compile(r"(?i:[A-Z]:(?:\\{1,2}|/)Users)(?:\\{1,2}|/)([^\\/\s'\":,;<>]+)")),
    Pattern("user", re.compile(r"/(?:home|Users)/([^/\s'\":,;()<>\\\]]+)")),
    Pattern(
        "user",
        re.compile(r"(?<![\w.@/-])([A-Za-z_][\w.+-]{0,63})(?=@[A-Za-z][\w-]*(?:[.:/\s]|$))"),
        lambda m, f: "sha256:" not in m.string[m.end() : m.end() + 8],
    ),
    Pattern("host", re.compile(r"(?<=[\w>]@)([A-Za-z][\w-]{0,62}(?:\.[\w-]{1,63}){0,8})"), _host),
    # NCCL's "host:pid:tid [0] NCCL WARN", and a syslog line's host.
    Pattern("host", re.compile(r"(?<![^\s])([A-Za-z][\w.-]{0,100})(?=:\d{1,8}:\d{1,8} \[\d)")),
    Pattern(
        "host",
        re.compile(r"^[A-Z][a-z]{2} [ \d]\d \d\d:\d\d:\d\d ([A-Za-z][\w.-]{0,100})(?= [\w./-]{1,60}(?:\[\d+\])?: )"),
    ),
    *HOSTS,
    Pattern("host", re.compile(r"(?<![\w.-])(ip-\d{1,3}-\d{1,3}-\d{1,3}-\d{1,3}(?:\.[\w-]{1,63}){0,8})")),
    Pattern("address", re.compile(rf"(?<![\w.-])({_OCTET}(?:\.{_OCTET}){{3}})(?![\w-]|\.\d)"), _ipv4),
    Pattern("address", re.compile(r"(?<![\w:.])([0-9A-Fa-f]{0,4}(?::[0-9A-Fa-f]{0,4}){2,7})(?![\w:])"), _ipv6),
    Pattern("address", re.compile(r"(?<![\w:.])([0-9A-Fa-f]{0,4}(?::[0-9A-Fa-f]{0,4}){2,7})(?=:(?:\s|$))"), _ipv6),
)
"""Addresses, hosts and user names; the shape of a path and the port stay."""


def is_private_host(text: str) -> bool:
    """Whether a text is the name of a host that is not known to everybody."""
    return re.fullmatch(_HOST, text) is not None and _is_unknown(text)


def hosts_in(text: str) -> set[str]:
    """The hosts that a text names as such: in a URL, behind a flag, in what a resolver says."""
    found = set()
    for pattern in HOSTS:
        for match in pattern.regex.finditer(text):
            host = match[match.re.groups]
            if pattern.accepts(match, host):
                found.add(host)
    return found
