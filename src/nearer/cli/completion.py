"""`nearer completion`: print a script that completes commands in a shell."""

from __future__ import annotations

import click


@click.command(
    epilog="""\b
Example:
  nearer completion bash > ~/.local/share/bash-completion/completions/nearer
  nearer completion zsh > ~/.zfunc/_nearer
  nearer completion fish > ~/.config/fish/completions/nearer.fish"""
)
@click.argument("shell", type=click.Choice(["bash", "zsh", "fish"]))
def completion_command(shell: str) -> None:
    """Print a script that enables completion of nearer's commands, options and file names in SHELL."""
    from click.shell_completion import get_completion_class

    from nearer.cli.app import cli

    kind = get_completion_class(shell)
    assert kind is not None
    click.echo(kind(cli, {}, "nearer", "_NEARER_COMPLETE").source())
