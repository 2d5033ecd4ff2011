"""Panels, notices and tables that show a result to a person. Drawn with rich, which is imported here.

Uses the terminal's own sixteen colours and no background, to look right on light and on dark. There are rules above and
below, and nothing at the sides: text copied from a panel is what the command printed. All text from outside nacre is
escaped by `views.console.escape`.
"""
