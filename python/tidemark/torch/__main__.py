"""`python -m tidemark.torch script.py args`: explains an out-of-memory error when it occurs."""

from tidemark.torch._launch import main_explain

main_explain()
