"""py-landlock with a launcher: a Python process that sandboxes itself and executes `bash -c true`."""

import os

from py_landlock import Landlock

Landlock().allow_read("/").allow_execute("/").apply()
os.execvp("bash", ["bash", "-c", "true"])
