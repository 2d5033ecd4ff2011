"""Rules about disks, accounts, services and system files."""
