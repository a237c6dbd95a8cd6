"""Completion of FIELD=VALUE: the fields of a kind, and the values that a field can have, if they are few."""

from typing import Literal, get_args, get_origin

from ops.cli.common.name_completion import list_names
from ops.cli.common.param_types import field_of_heading


def field_tests(word: str, incomplete: str) -> list[str]:
    """FIELD= of every field of a kind, or FIELD=VALUE behind a field; none for an unknown kind."""
    from services.gateway.resources import kind_views
    from services.gateway.resources.row_fields import RowFields
    from services.gateway.runtime_ports import KindView

    views = [view for view in vars(kind_views).values() if isinstance(view, KindView)]
    view = next((view for view in views if view.kind.word == word), None)
    if view is None:
        return []
    fields = RowFields(view.row, view.kind)
    written, equals, _ = incomplete.partition("=")
    if not equals:
        names = [f"{name}=" for name in fields.names]
        headings = [f"{column.heading}=" for column in view.kind.columns]
        return [*names, *(heading for heading in headings if heading not in names)]
    meanings = fields.find(written.removesuffix("!"))
    values: list[str] = list(meanings[0].words) if meanings else []
    for kind in [meaning.kind for meaning in meanings[:1]]:
        if get_origin(kind) is Literal:
            values += map(str, get_args(kind))
        elif kind is bool:
            values += ["yes", "no"]
        elif field_of_heading(written) == "name":
            values += list_names(word)
    return [f"{written}={value}" for value in values]
