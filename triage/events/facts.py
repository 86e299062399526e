"""Run facts: what the log says of one run of vLLM.

Read from the banner, the argument dump, the engine's config line and the launch command, in every form that
vLLM 0.4 to 0.33 prints them. A fact is taken only from where a record's text begins, so that a prompt or a dump
that quotes such a line is none.
"""

from __future__ import annotations

import re
from collections.abc import Mapping

from packaging.version import InvalidVersion, Version

from triage.events import facts_launch, facts_values
from triage.events.facts_defaults import INTERNAL, is_default
from triage.events.facts_launch import Launch
from triage.model import Basis, Idiom, Record, RunFacts

CONTINUATION_LIMIT = 60
"""Lines that a launch command with backslashes may span."""

HINTS_LIMIT = 500
"""Records that are looked at for signs of the deployment."""

MODEL_LIMIT = 400
"""Characters of a model's name or path."""

GPUS_LIMIT = 1024
"""GPUs of one host that are counted."""

_VERSION = r"v?(?P<version>\d[\w.+!-]{0,60})"
# The logo's last lines but one: " ▄▄ ▄█ █     █     █ ▀▄▀ █  version 0.33.0", "  █▄█▀ █     █     █     █  model   X"
_LOGO = r"[▀▄█ ]{0,60}[▀▄█] +"
_SERVER = re.compile(rf"\s*vLLM (?:API server|batch processing API) version {_VERSION}")
_SERVING = re.compile(rf"\s*vLLM server version {_VERSION}, serving model (?P<model>\S.*)")
_LOGO_VERSION = re.compile(rf"{_LOGO}version +{_VERSION}")
_LOGO_MODEL = re.compile(rf"{_LOGO}model +(?P<model>\S.*)")
_ENGINE = re.compile(rf"\s*Initializing (?:an|a) (?:V\d )?LLM engine \({_VERSION}\) with config: ")
_OLD_ENGINE = re.compile(r"\s*Initializing an LLM engine with config: ")
_ARGS = re.compile(r"\s*non-default args: (?=\{)")
_NAMESPACE = re.compile(r"\s*args: Namespace(?=\()")
_PLATFORM = re.compile(r"\s*Automatically detected platform (?P<platform>[\w-]{1,40})")
_WORLD = re.compile(r"\s*(?:world_size=(?P<one>\d{1,6}) rank=|rank \d+ in world size (?P<two>\d{1,6}) )")
_GPU = re.compile(r"\s*(?:GPU models and configuration: *)?GPU (?P<gpu>\d{1,4}): \w")
_PYTHON_FRAME = re.compile(r"\s*File \"[^\"]{0,400}\bvllm[/\\]entrypoints[/\\]llm\.py\", line \d")
_PYTHON_CALL = re.compile(r"\s*(?:[\w.]{1,80} = )?(?:\w{1,80}\.)?LLM(?=\()")
_ONE_LINER = re.compile(r".{0,200}\bpython[\d.]* -c .{0,400}?\bLLM(?=\()")
# One look decides for nearly every record that it holds no fact.
_FACT = re.compile(
    r"\s*(?:[▀▄█]|vLLM |Initializing an? |non-default args: |args: Namespace|Automatically detected platform "
    r"|world_size=|rank \d|GPU |File \"|(?:[\w.]{1,80} = )?(?:\w{1,80}\.)?LLM\()"
)
_COMPOSE = re.compile(r"(?:\[[A-Za-z][\w.-]*\]|[A-Za-z][\w.-]*) +\| ")
_KUBERNETES = re.compile(r"\[pod/|Defaulted container \"|\d{4}-\d\d-\d\dT[\d:.]+\S* std(?:out|err) [FP] ")
_RESTARTING = re.compile(r"\S+ exited with code \d+")
_SLURM = re.compile(r"(?:srun|slurmstepd): ")
_BEGUN = re.compile(r"vllm serve|vllm\.entrypoints|(?:docker|podman|nerdctl) run")
_IDIOMS: Mapping[str | None, Idiom] = {"kubernetes": "k8s", "compose": "compose"}
_FROM_SERVER_FILES = frozenset({"cli_args.py", "api_server.py"})


def is_run_start(record: Record) -> bool:
    """Whether a record is the banner of a vLLM that starts."""
    text = record.text
    return bool(_SERVER.match(text) or _LOGO_VERSION.match(text) or _SERVING.match(text))


class FactsCollector:
    """Collects the facts of one run from its records, in order.

    ``started`` says whether a banner was among them.
    """

    def __init__(self) -> None:
        """Begin with no facts."""
        self._version: str | None = None
        self._models: dict[str, str] = {}
        self._args: facts_values.Dump | None = None
        self._call: facts_values.Dump | None = None
        self._defaults: dict[str, object] = {}
        self._engine: dict[str, object] = {}
        self._launch: Launch | None = None
        self._late: Launch | None = None
        self._begun: list[str] = []
        self._platform: str | None = None
        self._deployment: str | None = None
        self._world_size: int | None = None
        self._gpus: set[int] = set()
        self._python = False
        self._seen = 0
        self.started = False

    def next_run(self) -> FactsCollector:
        """A collector for the run that starts now, on the same host and by the same hand.

        What was read ahead of a banner (platform, launch command) stays; what the run said of itself does not.
        """
        following = FactsCollector()
        following._launch = self._late or self._launch
        following._platform, following._deployment = self._platform, self._deployment
        following._gpus = set(self._gpus)
        return following

    def observe(self, record: Record) -> None:
        """Take a record of the run; most cost one look."""
        if self._seen < HINTS_LIMIT:
            self._seen += 1
            if self._deployment is None:
                self._deployment = _deployment(record)
        text = record.text
        if self._begun and self._continue_command(record):
            return
        if record.level is None and ("vllm" in text or " run " in text):
            self._observe_command(text)
        if _FACT.match(text):
            self._observe_fact(record, text)

    def facts(self) -> RunFacts:
        """The facts as they stand."""
        dump = self._args or self._call
        launch = next((known for known in (self._launch, self._late) if known and self._fits(known)), None)
        args: dict[str, object] = {}
        unusable: tuple[str, ...] = ()
        if dump is not None:
            args, unusable = dict(dump.values), tuple(dump.unusable)
        elif launch is not None:
            dump = facts_launch.launch_args(launch)
            args, unusable = dump.values, tuple(dump.unusable)
        engine = {**self._defaults, **self._engine}
        version = self._version
        basis: Basis | None = "log" if version else None
        if version is None and launch is not None:
            version = facts_launch.image_version(launch)
            basis = "inferred" if version else None
        return RunFacts(
            vllm_version=version,
            version_basis=basis,
            model=_model(args) or next(iter(self._models.values()), None) or _text(engine.get("model")),
            args=args,
            unusable=unusable,
            engine=engine,
            launch=launch.words if launch else None,
            launch_idiom=self._idiom(launch),
            platform=self._platform,
            deployment=self._deployment,
            world_size=self._world_size or _product(args, engine),
            gpus=len(self._gpus) or None,
        )

    def _observe_fact(self, record: Record, text: str) -> None:
        if banner := _SERVER.match(text) or _SERVING.match(text) or _LOGO_VERSION.match(text):
            self.started = True
            self._take_version(banner["version"])
            if "model" in banner.re.groupindex:
                self._take_model("banner", banner["model"])
        elif logo := _LOGO_MODEL.match(text):
            self._take_model("banner", logo["model"])
        elif engine := _ENGINE.match(text) or _OLD_ENGINE.match(text):
            if "version" in engine.re.groupindex:
                self._take_version(engine["version"])
            if not self._engine:
                self._engine = facts_values.read_config(text[engine.end() :])
        elif dump := _ARGS.match(text):
            self._take_args(facts_values.read_dict(text[dump.end() :]), record)
        elif namespace := _NAMESPACE.match(text):
            self._take_namespace(facts_values.read_namespace(text[namespace.end() :]))
        elif platform := _PLATFORM.match(text):
            self._platform = self._platform or platform["platform"]
        elif world := _WORLD.match(text):
            self._world_size = self._world_size or int(world["one"] or world["two"])
        elif gpu := _GPU.match(text):
            if len(self._gpus) < GPUS_LIMIT:
                self._gpus.add(int(gpu["gpu"]))
        elif _PYTHON_FRAME.match(text):
            self._python = True
        elif call := _PYTHON_CALL.match(text):
            self._take_call(text[call.end() :])

    def _observe_command(self, text: str) -> None:
        if text.rstrip().endswith("\\") and len(text) <= facts_launch.LINE_LIMIT and _BEGUN.search(text):
            self._begun = [text]
        elif launch := facts_launch.read_launch(text):
            self._take_launch(launch)
        elif " -c " in text and (one_liner := _ONE_LINER.match(text)):
            self._take_call(text[one_liner.end() :])

    def _continue_command(self, record: Record) -> bool:
        """Whether a record belongs to a command with backslashes that was begun."""
        text = record.text
        begun = len(self._begun) < CONTINUATION_LIMIT and self._begun[-1].rstrip().endswith("\\")
        if begun and record.level is None and facts_launch.may_continue(text):
            if text.strip():
                self._begun.append(text.strip().removeprefix("> "))
            if text.rstrip().endswith("\\") or not text.strip():
                return True
            belongs = True
        else:
            belongs = False
        command = " ".join(part.rstrip().rstrip("\\") for part in self._begun)
        self._begun = []
        if launch := facts_launch.read_launch(command):
            self._take_launch(launch)
        return belongs

    def _take_launch(self, launch: Launch) -> None:
        if not self.started:
            self._launch = launch
        elif launch.prompted:
            self._late = launch

    def _take_version(self, version: str) -> None:
        version = version.rstrip(".")
        try:
            Version(version)
        except InvalidVersion:
            return
        self._version = self._version or version

    def _take_model(self, source: str, model: str) -> None:
        model = model.strip()
        if len(model) <= MODEL_LIMIT:
            self._models.setdefault(source, model)

    def _take_args(self, dump: facts_values.Dump, record: Record) -> None:
        if record.lines[-1].cut and facts_values.CUT not in dump.unusable:
            dump.unusable.append(facts_values.CUT)
        if self._args is None:
            self._args = dump
            # The server logs them behind its banner, and from 0.10.1 on under its process tag; LLM() has neither.
            bare = not self.started and record.process is None and record.logger_file not in _FROM_SERVER_FILES
            if bare and not dump.values.keys() & {"model_tag", "host", "port"} and record.level is not None:
                self._python = True

    def _take_namespace(self, dump: facts_values.Dump) -> None:
        if self._args is not None:
            return
        for name in INTERNAL:
            dump.values.pop(name, None)
        self._defaults = {
            name: value
            for name, value in dump.values.items()
            if is_default(name, value) and isinstance(value, (int, float)) and not isinstance(value, bool)
        }
        dump.values = {name: value for name, value in dump.values.items() if not is_default(name, value)}
        dump.unusable = [name for name in dump.unusable if name not in INTERNAL]
        self._args = dump

    def _take_call(self, text: str) -> None:
        self._python = True
        dump = facts_values.read_call(text)
        if self._call is None and (dump.values or dump.unusable):
            self._call = dump

    def _fits(self, launch: Launch) -> bool:
        """Whether a command can be this run's: a pasted one of another model is not."""
        stated = facts_launch.launch_model(launch)
        if stated is None or "$" in stated:
            return True
        args = self._args.values if self._args else {}
        known = {args.get("model"), args.get("model_tag"), self._engine.get("model"), *self._models.values()} - {None}
        return not known or stated in known

    def _idiom(self, launch: Launch | None) -> Idiom | None:
        if launch is not None:
            return launch.idiom
        if self._python and not self.started:
            return "python"
        return _IDIOMS.get(self._deployment)


def _deployment(record: Record) -> str | None:
    line = record.first.text
    if _KUBERNETES.match(line):
        return "kubernetes"
    if _COMPOSE.match(line) or _RESTARTING.match(line):
        return "compose"
    if _SLURM.match(line):
        return "slurm"
    if record.pod is not None:
        return "kubernetes"
    return None


def _model(args: Mapping[str, object]) -> str | None:
    return _text(args.get("model_tag")) or _text(args.get("model"))


def _text(value: object) -> str | None:
    return value if isinstance(value, str) and value and len(value) <= MODEL_LIMIT else None


def _product(args: Mapping[str, object], engine: Mapping[str, object]) -> int | None:
    """Tensor times pipeline parallel size, where either is known."""
    sizes = [args.get(name, engine.get(name)) for name in ("tensor_parallel_size", "pipeline_parallel_size")]
    known = [size for size in sizes if isinstance(size, int) and not isinstance(size, bool) and 0 < size < 10**6]
    if not known:
        return None
    product = 1
    for size in known:
        product *= size
    return product
