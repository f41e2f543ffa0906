"""Faults of rolling bearings, recognised in the vibration of the machine."""
