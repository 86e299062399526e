# ruff: noqa
"""More of the same: texts in variables, branches, constants, loops; see errors.py."""

import warnings
from http import HTTPStatus
from textwrap import dedent

from fastapi import HTTPException

from vllm.logger import init_logger

logger = init_logger(__name__)

ADVICE = "Trim the wicks or carry fewer lanterns."
_current = "harbour"


def set_current(name):
    global _current
    assert name != _current, f"Harbour light {name} burns already instead of {_current}."
    _current = name


class Lantern:
    UNLIT = "The lantern was never lit."

    def verify(self, wicks, oil, strict):
        if wicks > oil:
            raise ValueError(f"wicks ({wicks}) must not exceed the oil measures ({oil}). " + ADVICE)
        if oil % wicks != 0:
            raise ValueError("oil (%d) cannot be shared evenly by %s wicks: %.2f left over" % (oil, wicks, oil / wicks))
        if strict:
            message = f"The lantern keeper {self.keeper!r} refuses"
            if wicks:
                message += f" wicks of kind {wicks}"
            else:
                message += " an empty lantern"
            message += "; ask the harbour office."
            raise PermissionError(message)
        hint = " Light it first." if self.new else ""
        raise RuntimeError(self.UNLIT + hint)

    def carry(self, load, names):
        assert load, "nothing to carry across the pier"
        assert load is not None, ("A load has to be a crate ", "when the pier is closed")
        if load not in names:
            raise KeyError(f"lantern '{load}' is not hung on this pier")
        if self.far:
            raise TimeoutError("The pier was not reached after %f minutes by %s", self.minutes, load)
        raise TypeError("{} lanterns cannot hang on a pier of {pier!r} hooks".format(load, pier=self.hooks))

    def report(self, error, problems):
        logger.error("Keeper %s dropped the lantern on %r: %s", self.keeper, self.pier, error)
        logger.warning_once("The lantern %s burns at %d percent of its oil", self.keeper, self.level)
        logger.critical(f"Harbour {self.pier} goes dark before midnight" + (", all lanterns out" if problems else ""))
        lines = [f"{problem} is broken" for problem in problems]
        logger.error("Lanterns to mend tonight: " + ", ".join(lines))
        try:
            self.mend()
        except Exception as e:
            raise RuntimeError(f"Mending the lantern failed: {e}") from e
        raise ValueError(
            dedent(f"""
                The keeper of {self.pier} signs three pages:
                  first for {self.keeper}
            """).strip()
        )

    def serve(self, request):
        if request.status:
            raise HTTPException(status_code=400, detail=f"No berth number {request.status} in this harbour")
        warnings.warn("Berth signals are old fashioned, raise flags instead", DeprecationWarning, stacklevel=2)
        return self.create_error_response(
            message=f"The berth `{request.name}` lies dry until the evening tide.",
            err_type="NotFoundError",
            status_code=HTTPStatus.NOT_FOUND,
        )

    def near_empty(self, a, b):
        if a != b:
            raise ValueError(f"{a} must be {b}")
        raise IndexError(f"{a} is not a rope of {b}")

    def quiet(self, error):
        logger.info("Lantern %s failed to raise an error: %s", self.keeper, error)
        logger.debug("RuntimeError while the keeper %s slept: %s", self.keeper, error)
        logger.warning("The rope %s frays although no error was raised, RuntimeError or other", self.rope)
