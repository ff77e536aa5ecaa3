"""``mindspore.log``: what a program tells in levels, on standard error or into a file.

    GLOG_v            0 DEBUG, 1 INFO, 2 WARNING (default), 3 ERROR, 4 CRITICAL: what is below is left out
    GLOG_logtostderr  "0": into ``<GLOG_log_dir>/mindspore.log`` instead

They are read at the first message, as in MindSpore. Python's ``logging`` does the work (logger "mindspore"), so its
handlers, filters and pytest's ``caplog`` see the messages.

Source: https://www.mindspore.cn/docs/en/master/api_python/env_var_list.html
"""

from __future__ import annotations

import functools
import logging
import os
from collections.abc import Callable
from functools import cache
from logging.handlers import RotatingFileHandler
from pathlib import Path
from typing import Any, ClassVar

from msnb.base import ContextError

__all__ = ["critical", "debug", "error", "get_level", "get_log_config", "info", "warning"]

_LEVELS = {"0": logging.DEBUG, "1": logging.INFO, "2": logging.WARNING, "3": logging.ERROR, "4": logging.CRITICAL}
_FORMAT = "[%(levelname)s] ME(%(process)d,%(processName)s):%(asctime)s [%(pathname)s:%(lineno)d] %(message)s"
_KEYS = (
    "GLOG_v", "GLOG_logtostderr", "GLOG_log_dir", "logger_maxBytes", "logger_backupCount", "GLOG_stderrthreshold",
)  # fmt: skip


def get_level() -> str:
    """The number of the lowest level that is told, as a text.

    Raises:
        ValueError: ``GLOG_v`` is none of 0 to 4.
    """
    level = os.environ.get(_KEYS[0], "2")
    if level not in _LEVELS:
        raise ContextError(f"GLOG_v is {level!r}; it is 0 (debug), 1 (info), 2 (warning), 3 (error) or 4 (critical).")
    return level


def get_log_config() -> dict[str, str]:
    """The settings as they are."""
    given = {key: os.environ[key] for key in _KEYS if key in os.environ}
    return {"GLOG_v": get_level(), "GLOG_logtostderr": "1", **given}


@cache
def _logger() -> logging.Logger:
    found = logging.getLogger("mindspore")
    config = get_log_config()
    handler: logging.Handler = logging.StreamHandler()
    if config["GLOG_logtostderr"] == "0":
        folder = Path(config.get("GLOG_log_dir", "."))
        folder.mkdir(parents=True, exist_ok=True)
        most, copies = int(config.get("logger_maxBytes", 52428800)), int(config.get("logger_backupCount", 30))
        handler = RotatingFileHandler(folder / "mindspore.log", maxBytes=most, backupCount=copies, delay=True)
    handler.setFormatter(logging.Formatter(_FORMAT))
    found.addHandler(handler)
    found.setLevel(_LEVELS[config["GLOG_v"]])
    return found


def _told(level: int, message: Any, args: tuple[Any, ...], options: dict[str, Any]) -> None:
    _logger().log(level, message, *args, stacklevel=3, **options)


_get_logger = _logger


def debug(message: Any, *args: Any, **options: Any) -> None:
    """Tell what helps to find a fault: a text, and what fills its ``%s``."""
    _told(logging.DEBUG, message, args, options)


def info(message: Any, *args: Any, **options: Any) -> None:
    """Tell what happens: a text, and what fills its ``%s``."""
    _told(logging.INFO, message, args, options)


def warning(message: Any, *args: Any, **options: Any) -> None:
    """Tell what may be wrong: a text, and what fills its ``%s``."""
    _told(logging.WARNING, message, args, options)


def error(message: Any, *args: Any, **options: Any) -> None:
    """Tell what went wrong: a text, and what fills its ``%s``."""
    _told(logging.ERROR, message, args, options)


def critical(message: Any, *args: Any, **options: Any) -> None:
    """Tell what ends the program: a text, and what fills its ``%s``."""
    _told(logging.CRITICAL, message, args, options)


class _LogActionOnce:
    """A decorator: what a function warns of is told at its first call of this key only.

    Args:
        logger: has ``warning``: this module, or another one.
        key: names the warning.
        no_warning: it is never told.
    """

    is_logged: ClassVar[dict[Any, bool]] = {}

    def __init__(self, logger: Any, key: Any, no_warning: bool = False) -> None:
        self.logger, self.key, self.no_warning = logger, key, no_warning

    def __call__(self, function: Callable[..., Any]) -> Callable[..., Any]:
        """The function, muted after its first call."""

        @functools.wraps(function)
        def muted(*args: Any, **kwargs: Any) -> Any:
            known = self.no_warning or self.is_logged.setdefault(self.key, False)
            self.is_logged[self.key] = True
            if not known:
                return function(*args, **kwargs)
            told, self.logger.warning = self.logger.warning, lambda *_, **__: None
            try:
                return function(*args, **kwargs)
            finally:
                self.logger.warning = told

        return muted
