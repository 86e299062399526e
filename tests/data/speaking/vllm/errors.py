# ruff: noqa
"""Each way in which a package can say something, for the tests of what reads it; nothing imports this."""


class RequestError(Exception):
    def __init__(self, message, *, parameter=None, value=None):
        super().__init__(message)
        self.parameter, self.value = parameter, value

    def __str__(self):
        extras = []
        if self.parameter is not None:
            extras.append(f"parameter={self.parameter}")
        if self.value is not None:
            extras.append(f"value={self.value}")
        base = super().__str__()
        return f"{base} ({', '.join(extras)})" if extras else base


class GoneError(RuntimeError):
    def __init__(self, worker, code=None):
        super().__init__(f"Worker {worker} left the ring before it was asked to (code {code}).")


def refuse(name, limit):
    raise RequestError(f"The lantern {name} holds more wicks than {limit}.", parameter="wicks", value=limit)


def lose(worker):
    raise GoneError(worker, code=3)
