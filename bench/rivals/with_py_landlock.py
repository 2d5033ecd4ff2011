"""py-landlock with a launcher: a Python that confines itself and becomes `bash -c true`."""

import os

from py_landlock import Landlock

Landlock().allow_read("/").allow_execute("/").apply()
os.execvp("bash", ["bash", "-c", "true"])
