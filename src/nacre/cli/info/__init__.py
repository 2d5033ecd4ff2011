"""Commands that print information: doctor, config, profiles, schema, audit."""
