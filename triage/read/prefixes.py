"""The envelopes that are known, in the order in which they are tried: where two fit, the first one wins."""

from __future__ import annotations

from triage.read.prefix import Prefix
from triage.read.prefixes_hosts import HOSTS
from triage.read.prefixes_loggers import LOGGERS
from triage.read.prefixes_vllm import VLLM

PREFIXES: tuple[Prefix, ...] = (*VLLM, *LOGGERS, *HOSTS)
