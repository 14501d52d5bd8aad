"""`python -m tidemark COMMAND ...`: the program `tidemark`, for this Python."""

from tidemark.programs import run_tidemark

if __name__ == "__main__":
    run_tidemark()
