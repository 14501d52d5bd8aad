"""`python -m tidemark.record -o run.tml script.py args`: records PyTorch's memory allocator."""

from tidemark.torch._launch import main_record

if __name__ == "__main__":
    main_record()
