"""What is said of a command line that cannot be: what is wrong with it, and what to type."""

import re
from pathlib import Path

import click

EXTRA = re.compile(r"Got unexpected extra arguments? \((.*)\)")
REMARK = re.compile(r"\s{2,}\S.*")  # after an example


def in_words(error: click.UsageError) -> str:
    """The mistake, an example of how it is done, and where to read more."""
    context = error.ctx
    if isinstance(error, click.exceptions.NoArgsIsHelpError) or context is None:
        return error.format_message()
    is_group = isinstance(context.command, click.Group)
    lines = [f"Error: {_mistake(error, context)}"]
    example = None if is_group else _example(context, _names(error))
    if example:
        lines.append(f"For example: {example}")
    lines.append(f"All {'commands' if is_group else 'options'}: {context.command_path} --help")
    return "\n".join(lines)


def _mistake(error: click.UsageError, context: click.Context) -> str:
    extra = EXTRA.fullmatch(error.message)
    if isinstance(error, click.NoSuchOption):
        near = " or ".join(error.possibilities or _commands_like(error.option_name, context))
        return f"there is no option {error.option_name}{f'; did you mean {near}?' if near else ''}"
    if isinstance(error, click.BadOptionUsage):
        return _badly_used(error.option_name, error.message, context)
    if isinstance(error, click.MissingParameter):
        return f"{_shown(error.param, context)} is missing; type: {_usage(context)}"
    if isinstance(error, click.BadParameter) and error.param:
        verb = "" if error.message.startswith("must ") else ":"
        return f"{_shown(error.param, context)}{verb} {error.message}"
    if extra:
        return f"{extra[1]!r} is more than this command takes{_meant(extra[1], context)}"
    if isinstance(context.command, click.Group) and error.message.startswith("No such command"):
        there = ", ".join(context.command.list_commands(context))
        return f"{error.message[0].lower()}{error.message[1:].rstrip('.')}; there are: {there}"
    return error.message


def _meant(extra: str, context: click.Context) -> str:
    """The option that somebody left out, by what its value looks like."""
    likely = {
        "--players": extra.isdecimal(),
        "--player": extra.endswith(".py"),
        "--game": extra.endswith(".py"),
        "--dir": Path(extra).is_dir(),
    }
    known = {name for param in context.command.params for name in param.opts}
    near = next((name for name, fits in likely.items() if fits and name in known), None)
    return f"; did you mean {near} {extra}?" if near else ""


def _commands_like(option: str, context: click.Context) -> list[str]:
    """The command that somebody typed as an option, if it is one."""
    name, command = option.lstrip("-"), context.command
    is_one = isinstance(command, click.Group) and name in command.list_commands(context)
    return [f"{context.command_path} {name}"] if is_one else []


def _badly_used(name: str, message: str, context: click.Context) -> str:
    if "requires" not in message:
        return f"{name} takes no value"
    for param in context.command.params:
        if name in param.opts:
            return f"{name} needs a value: {name} {param.make_metavar(context)}"
    return f"{name} needs a value"


def _shown(param: click.Parameter | None, context: click.Context) -> str:
    """An option by its name, an argument as the usage line has it."""
    if param is None:
        return "something"
    return param.opts[-1] if isinstance(param, click.Option) else param.make_metavar(context)


def _usage(context: click.Context) -> str:
    """The shortest command line that is complete."""
    words = [context.command_path]
    for param in context.command.params:
        metavar = param.make_metavar(context)
        is_named = isinstance(param, click.Argument) and metavar[:1] != "["  # or by an option
        if not param.required and not is_named:
            continue
        name = f"{param.opts[-1]} " if isinstance(param, click.Option) else ""
        words.append(name + metavar)
    return " ".join(words)


def _names(error: click.UsageError) -> list[str]:
    """The options that an example had best show."""
    if isinstance(error, click.NoSuchOption):
        return list(error.possibilities or ())
    if isinstance(error, click.BadOptionUsage):
        return [error.option_name]
    param = error.param if isinstance(error, click.BadParameter) else None
    return param.opts if isinstance(param, click.Option) else []


def _example(context: click.Context, names: list[str]) -> str | None:
    """The first example of the help that shows one of these options, or the first of all."""
    lines = [line.strip() for line in (context.command.help or "").splitlines()]
    examples = [REMARK.sub("", line) for line in lines if line.startswith("league ")]
    fitting = [line for line in examples if set(names) & set(line.split())]
    return next(iter(fitting or examples), None)
