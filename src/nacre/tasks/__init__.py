"""Tasks: runs that may outlive the call that started them, and the program too."""
