"""`lightwave link agree`: what two modules run a lane at, or why they do not."""

import click

from ops.cli.output import output_option, show


@click.command(name="agree")
@click.argument("module")
@click.argument("other")
@output_option
def link_agree(module: str, other: str, output: str) -> None:
    """Print the best rate of a lane that a MODULE and an OTHER have in common, or why there is none.

    A module is a kind and a generation, such as cwdm4-bidi-800G. Lightwave Fabrics, 2.3, 3.3.1.
    """
    from shared.models.optics.modules import agree, parse_module

    one, two = parse_module(module), parse_module(other)
    found = agree(one, two)
    content = {
        "modules": [one.name, two.name],
        "rate": None if found.rate is None else found.rate.name,
        "lanes": found.lanes,
        "gbps": found.gbps,
        "reason": found.reason,
    }
    show(content, output, lambda: found.reason)
