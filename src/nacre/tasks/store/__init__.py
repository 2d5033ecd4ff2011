"""Tasks on disk: their directories, records and logs."""
