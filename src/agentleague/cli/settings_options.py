"""An option for every setting of a role, and the settings from options, environment and file."""

import os
from collections.abc import Callable, Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any, TypeVar

import click

from agentleague.cli.options import Completed
from agentleague.cli.output import verbose_option
from agentleague.roles.settings import PlayerSettings, RefereeSettings
from agentleague.runtime.network import manager_url
from agentleague.runtime.settings import Given, Setting, describe, read_settings

Agent = TypeVar("Agent", RefereeSettings, PlayerSettings)
Decorated = TypeVar("Decorated", bound=Callable[..., Any])


class SettingOption(click.Option):
    """One setting, as text: its value is checked with all other settings."""

    def __init__(self, setting: Setting) -> None:
        options = list(setting.options)
        if setting.is_flag:
            options = [f"{option}/--no-{option[2:]}" for option in options]
        shown = f"  [{_plain(setting.value)}]" if _plain(setting.value) else ""
        # Where only a few texts are allowed, the shell completes them.
        text: Any = Completed(lambda: setting.choices) if setting.choices else str
        super().__init__(
            [*options, setting.name],
            default=None,
            type=bool if setting.is_flag else text,
            metavar=None if setting.is_flag else setting.metavar,
            help=setting.sentence.rstrip(".") + "." + shown,
        )
        self.heading = setting.heading

    def get_help_record(self, ctx: click.Context) -> tuple[str, str] | None:
        """Show only the first, shorter name."""
        record = super().get_help_record(ctx)
        if record is None or "/" in record[0]:
            return record
        return f"{self.opts[0]} {self.metavar}", record[1]


class SettingsCommand(click.Command):
    """A command with settings: its help lists its own options first, then the settings by group."""

    def format_options(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        groups: dict[str, list[tuple[str, str]]] = {"Options": []}
        for parameter in self.get_params(ctx):
            record = parameter.get_help_record(ctx)
            if record and isinstance(parameter, click.Option):
                groups.setdefault(getattr(parameter, "heading", "Options"), []).append(record)
        for heading, records in groups.items():
            with formatter.section(heading):
                formatter.write_dl(records, col_max=34)


def settings_options(cls: type, *names: str) -> Callable[[Decorated], Decorated]:
    """Give a command an option for each setting of this role, or for these."""

    def add(command: Decorated) -> Decorated:
        parameters = command.__dict__.setdefault("__click_params__", [])
        rows = [row for row in reversed(describe(cls)) if not names or row.name in names]
        parameters.extend(map(SettingOption, rows))
        return command

    return add


def agent_options(cls: type) -> Callable[[Decorated], Decorated]:
    """Give the command of a referee or player --config, -v, and an option for each setting."""
    config = click.option(
        "--config",
        metavar="FILE.toml",
        type=click.Path(path_type=Path, dir_okay=False),
        help="A file of settings; `league init` writes one.",
    )
    return lambda command: config(verbose_option(settings_options(cls)(command)))


def agent_settings(cls: type[Agent], config: Path | None, options: Mapping[str, Any]) -> Agent:
    """The settings of a referee or player, with the whole URL of its manager."""
    asked = given_settings(cls, config, options).make(cls)
    return replace(asked, manager_url=manager_url(asked.manager_url))


def given_settings(cls: type, file: Path | None, options: Mapping[str, Any]) -> Given:
    """Read the settings of a role from a file, the environment and options."""
    return read_settings(cls, file=file, environment=os.environ, options=options)


def _plain(value: Any) -> str:
    if isinstance(value, bool):
        return str(value).lower()
    if isinstance(value, float):
        return f"{value:g}"
    return ",".join(value) if isinstance(value, tuple) else str(value or "")
