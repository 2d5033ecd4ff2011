"""Output: what was captured in, the text that a model reads out. Pure: no file is opened here, nothing is drawn.

The order, and why:

1. `binary`    bytes that are not text are named, not printed; UTF-16 with a mark at its beginning is text.
2. `decode`    bytes → characters. Escape sequences are still in it: what a sequence swallows or overwrites can only be
               known in one piece, and control characters are half of a sequence.
3. `terminal`  what a person would finally see. It takes every control character with it but newline and tab.
4. `secrets`   masked when the text is as it will be read, so that no colour splits one, and before anything is cut,
               so that no cut leaves half of one.
5. `fold`      runs of lines that say the same.
6. `truncate`  what fits, and exactly how much does not, with `spoofed_notes` escaped as they are shown;
               `notes` says so, with the `error_lines` of what was left out.
"""
