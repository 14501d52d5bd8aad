"""`python -m tidemark.torch script.py args`: why it ran out of memory, said where it dies."""

from tidemark.torch._launch import main_explain

main_explain()
