"""`python -m tidemark COMMAND ...` runs the program `tidemark` of this Python."""

from tidemark.programs import run_tidemark

if __name__ == "__main__":
    run_tidemark()
