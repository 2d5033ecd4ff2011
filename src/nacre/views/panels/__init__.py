"""What a person sees of a result: panels, notices, tables. The only room that draws with rich, which is loaded here.

A terminal's own sixteen colours and no background, so that they look right on light and on dark. Rules above and below,
nothing at the sides: what is copied from a panel is what the command printed. Every text that is not ours has been
through `views.escape`.
"""
