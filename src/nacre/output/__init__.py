"""Turn captured output into the text that a model reads. Pure: no file is opened and nothing is drawn here.

The steps, and the reason for their order:

1. `binary`       names bytes that are not text instead of printing them; UTF-16 with a byte order mark is text.
2. `ansi.decode`  turns bytes into characters. Escape sequences stay: what a sequence swallows or overwrites is only
                  known from the whole text, and control characters are half of a sequence.
3. `ansi.render`  renders what a person would finally see. It removes every control character but newline and tab.
4. `redact.mask`  masks secrets after rendering, so that no colour code splits one, and before truncation, so that no
                  cut leaves half of one.
5. `fold`         folds runs of lines that say the same.
6. `truncate`     keeps what fits and reports exactly how much does not, with imitated notes escaped (`notes`);
                  `markers` states it, with the `error_lines` of the omitted part.
"""
