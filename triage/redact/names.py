"""Names of arguments, flags and variables that a secret stands behind, and the variable to keep it in."""

from __future__ import annotations

import re
from functools import lru_cache


def words(text: str) -> frozenset[str]:
    """The words of a text, as a set."""
    return frozenset(text.split())


# Before "_token" these make a secret of it; "eos_token", "image_token" and their like are no secrets.
_TOKEN_OWNERS = words(
    "access admin api auth bearer bot deploy gh github gitlab hf hub huggingface identity master modelscope ms "
    "personal private pypi read refresh registry secret security service session slack user wandb write"
)
# Before "_pass" and "pass" these make a password of it; a graph pass and a forward pass are none.
_PASS_OWNERS = (
    "account|admin|api|auth|basic|broker|cache|client|database|db|email|ftp|http|https|ldap|login|mail|mongo|mysql|pg|"
    "postgres|proxy|rabbitmq|redis|registry|repo|root|s3|service|sftp|smb|smtp|sql|ssh|sudo|user|usr|vault|vnc|web|wifi"
)
_PASS = re.compile(rf"(?:^|_)(?:{_PASS_OWNERS})_?pass$")
_CAMEL = re.compile(r"(?<=[a-z0-9])(?=[A-Z])")
_NAMES = {"hf_token": "HF_TOKEN", "hub_token": "HF_TOKEN", "api_key": "VLLM_API_KEY"}


def kind_of_name(name: str) -> str | None:
    """What kind of secret an argument, flag or variable of this name holds, None for no secret.

    Args:
        name: ``api_key``, ``--hf-token``, ``AWS_SECRET_ACCESS_KEY``.
    """
    plain = _CAMEL.sub("_", name.lstrip("-").replace("-", "_"))
    low = plain.lower().lstrip("_")
    if re.search(r"(?:^|_)(?:api_?keys?|access_key(?:_id)?|secret_key|private_key)$", low):
        return "key"
    if re.search(r"(?:password|passwd|passphrase|(?:^|_)pwd)$", low):
        return "password"
    if low == "pass" or _PASS.search(low) or (low.endswith("_pass") and plain.isupper()):
        return "password"
    if re.search(r"(?:^|_)(?:secret|secrets|(?<!allow_)credentials?|cookies?)$", low):
        return "secret"
    if low == "token":
        return "token"
    if low.endswith("_token") and (plain.isupper() or low[: -len("_token")].split("_")[-1] in _TOKEN_OWNERS):
        return "token"
    return None


def shell_variable(name: str) -> str | None:
    """The variable to keep a secret in, told by its flag or by its own name; None where neither tells."""
    plain = name.lstrip("-").replace("-", "_")
    if plain.isupper() and kind_of_name(plain):
        return plain
    if plain.lower() in _NAMES:
        return _NAMES[plain.lower()]
    return plain if plain == name and plain.isidentifier() and kind_of_name(plain) else None


_HOST_NAME = re.compile(
    r"(?:^|_)(?:host|hostname|addr|address|ip|ips|endpoint|nodelist|nodename)$|^(?:server|nodes?)$"
    r"|(?:^|_)(?:host_ip|api_server|head_node)$"
)


def is_of_host(name: str) -> bool:
    """Whether an argument, flag or variable of this name holds a host or its address.

    Args:
        name: ``host``, ``--master-addr``, ``VLLM_HOST_IP``.
    """
    return bool(_HOST_NAME.search(name.lstrip("-").replace("-", "_").lower()))


# Flags of secrets, and the last words of such; a slip of one letter in them is still followed by a secret.
_SECRET_FLAGS = ("api-key", "apikey", "hf-token", "hub-token", "access-token", "auth-token", "access-key")
_SECRET_WORDS = ("token", "secret", "password", "passwd", "credentials")
_NO_SLIPS = words("taken tokens woken toke")


@lru_cache(maxsize=1024)
def kind_of_slip(flag: str) -> str | None:
    """What kind of secret a flag holds that is one slip away from the flag of one, None for no secret.

    Args:
        flag: as typed, without its dashes: ``hf-tokn``, ``apy-key``.
    """
    plain = flag.lower().replace("_", "-")
    if kind_of_name(plain):
        return None
    last = plain.rpartition("-")[2]
    near = next((known for known in _SECRET_FLAGS if _one_slip(plain, known)), None)
    if near is None and last not in _NO_SLIPS:
        near = next((known for known in _SECRET_WORDS if _one_slip(last, known)), None)
    return None if near is None else kind_of_name(near) or "secret"


def _one_slip(one: str, two: str) -> bool:
    """Whether a letter left out, added, exchanged, or two letters in the wrong order tell two words apart."""
    if one == two or abs(len(one) - len(two)) > 1:
        return False
    start = next((at for at, (a, b) in enumerate(zip(one, two, strict=False)) if a != b), min(len(one), len(two)))
    one, two = one[start:], two[start:]
    return one[1:] == two[1:] or one[1:] == two or one == two[1:] or (one[:2] == two[1::-1] and one[2:] == two[2:])
