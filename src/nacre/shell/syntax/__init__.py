"""The parser of bash."""
