"""More buffers than GPU memory, from Python: six buffers of 4 MiB on a simulated GPU of 8 MiB, with
a controller that decides which one is evicted. On a GPU, use `tidemark.Context("cuda:0")`, and
CuPy, Numba or torch instead of NumPy (`cupy.asarray(pin)`, `torch.from_dlpack(pin)`).

    PYTHONPATH=python python3 examples/deferrable.py
"""
import numpy

import tidemark

PAGES = 4 << 20


class LastPinnedLeaves(tidemark.Controller):
    """A program that cycles through its data needs the buffer that it used last the latest."""

    def __init__(self):
        self.order = []

    def pinned(self, number, times):
        if number in self.order:
            self.order.remove(number)
        self.order.append(number)

    def choose(self, wanted, candidates):
        there = {one.number for one in candidates}
        return [number for number in reversed(self.order) if number in there]


def main():
    gpu = tidemark.Context("sim")
    with tidemark.DeferrableMemory(gpu, gpu_bytes=2 * PAGES, host=64 << 20,
                                   victims=LastPinnedLeaves()) as memory:
        buffers = [memory.from_array(numpy.full(PAGES // 4, number, "f4")) for number in range(6)]
        addresses = [buffer.address for buffer in buffers]
        right = True
        for _ in range(3):
            for number, buffer in enumerate(buffers):
                with buffer.pin() as pin:  # always at the same address
                    array = numpy.asarray(pin)
                    right = right and bool((array == number).all())
                    del array  # arrays keep the pin
        right = right and addresses == [buffer.address for buffer in buffers]
        figures = memory.statistics()
        print(f"6 buffers of 4 MiB in 8 MiB: {figures.deferrals} deferrals, "
              f"{figures.retrievals} retrievals, bytes {'right' if right else 'WRONG'}")
        return 0 if right else 1


if __name__ == "__main__":
    raise SystemExit(main())
