"""The reference page of the commands, made from the parameters by which `league` reads them."""

import re
from collections.abc import Iterator

import click

from agentleague.cli.app import SECTIONS, app
from agentleague.cli.options import common_options
from agentleague.cli.settings_options import SettingOption, SettingsCommand
from page_parts import GENERATED, code, page, table

ABOUT = """\
Data goes to stdout, talk to stderr. Exit codes: 0 done, 1 failed, 2 misused, 3 `league verify`
found a difference. `league COMMAND --help` says the same as this page.

Every command also has `--help`, `--quiet` (say nothing on stderr but errors) and `--debug` (print
the traceback of an error too). `league --version` says which version it is."""
OPTION = re.compile(r"(?<![\w-])--?[a-z][a-z-]*")
ROLES = {"serve": "service", "leagues create": "manager"}  # whose settings a command takes
EVERYWHERE = {name for option in common_options() for name in option.opts} | {"--help"}


def commands_page() -> str:
    """Every command in the order of `league --help`."""
    with click.Context(app, info_name="league", **app.context_settings) as context:
        sections = [_section(context, heading) for heading in SECTIONS]
    return page("# Commands", GENERATED, ABOUT, *sections)


def _section(context: click.Context, heading: str) -> str:
    commands = (each for name in SECTIONS[heading] for each in _commands(context, name))
    return page(f"## {heading}", *(_command(context, *each) for each in commands))


def _commands(context: click.Context, name: str) -> Iterator[tuple[str, click.Command]]:
    """The command itself, or those below it."""
    command = app.get_command(context, name)
    assert command
    if isinstance(command, click.Group):
        yield from ((f"{name} {below}", each) for below, each in command.commands.items())
    else:
        yield name, command


def _command(parent: click.Context, name: str, command: click.Command) -> str:
    with click.Context(command, info_name=name, parent=parent) as context:
        usage = " ".join(["league", name, *command.collect_usage_pieces(context)])
        options = [each for each in command.get_params(context) if isinstance(each, click.Option)]
        examples, words = _help(command.help or "")
        elsewhere = SettingOption if isinstance(command, SettingsCommand) else ()
        own = [each for each in options if not (isinstance(each, elsewhere) or each.hidden)]
        rows = [_row(each, context) for each in own if not EVERYWHERE & set(each.opts)]
        role = ROLES.get(name, name)
        settings = (
            f"And an option for each [setting of a {role}](settings.md#settings-of-a-{role})."
            if any(isinstance(each, elsewhere) for each in options)
            else ""
        )
        return page(
            f"### league {name}",
            words,
            f"    {usage}",
            f"Examples:\n\n{examples}" if examples else "",
            table(("option", "what it does"), rows) if rows else "",
            settings,
        )


def _help(text: str) -> tuple[str, str]:
    """The examples as a block of code, and all other paragraphs."""
    paragraphs = re.split(r"\n\s*\n", text.strip())
    examples = [each for each in paragraphs if each.startswith("\b")]
    lines = [line for each in examples for line in each.splitlines() if line.startswith("  ")]
    words = [_typed(" ".join(each.split())) for each in paragraphs if not each.startswith("\b")]
    return "\n".join(f"    {line.strip()}" for line in lines), "\n\n".join(words)


def _row(option: click.Option, context: click.Context) -> tuple[str, str]:
    record = option.get_help_record(context)
    assert record
    names, words = record
    return code(names), _typed(words)


def _typed(text: str) -> str:
    """The text with every option in it marked as something to type, unless it is so already."""
    parts = text.split("`")
    parts[::2] = (OPTION.sub(lambda found: code(found[0]), part) for part in parts[::2])
    return "`".join(parts)
