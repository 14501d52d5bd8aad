"""scripts/prove_schedule.py: jobs never need more together than there is, and all of them run."""
import pathlib
import sys
import threading
import time
import unittest

ROOT = pathlib.Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT / "scripts"))

from prove_schedule import BESIDE, GIB, Job, room_on, run_jobs  # noqa: E402


class Watched:
    """Jobs that tell what ran beside what."""

    def __init__(self):
        self.lock, self.running, self.ran = threading.Lock(), [], []
        self.most_together, self.most_held, self.beside_alone = 0, 0, 0

    def job(self, need):
        return Job(need, lambda: self.run(need))

    def run(self, need):
        with self.lock:
            self.running.append(need)
            self.ran.append(need)
            self.most_together = max(self.most_together, len(self.running))
            self.most_held = max(self.most_held, sum((each or 0) + BESIDE for each in self.running))
            if need is None:
                self.beside_alone = max(self.beside_alone, len(self.running) - 1)
        time.sleep(0.02)
        with self.lock:
            self.running.remove(need)


class Schedule(unittest.TestCase):
    def run_needs(self, needs, room=110 * GIB, most=6):
        watched = Watched()
        run_jobs([watched.job(need) for need in needs], room, most)
        self.assertEqual(sorted(watched.ran, key=str), sorted(needs, key=str))
        return watched

    def test_needs_together_stay_within_the_room(self):
        watched = self.run_needs([n * GIB for n in (58, 50, 40, 30, 20, 9, 8, 7, 6, 5, 4, 3, 2)])
        self.assertLessEqual(watched.most_held, 110 * GIB)
        self.assertGreater(watched.most_together, 1)

    def test_small_ones_run_together_up_to_the_most(self):
        self.assertEqual(self.run_needs([GIB] * 20).most_together, 6)
        self.assertEqual(self.run_needs([GIB] * 5, most=1).most_together, 1)

    def test_what_is_unknown_or_too_large_runs_alone_and_last(self):
        watched = self.run_needs([None, GIB, 109 * GIB, 2 * GIB, None])
        self.assertEqual(watched.beside_alone, 0)
        self.assertEqual(watched.ran, [2 * GIB, GIB, None, 109 * GIB, None])
        self.assertEqual(self.run_needs([GIB, GIB], room=0).most_together, 1)

    def test_the_room_is_a_part_of_what_is_free_on_the_smallest(self):
        one = "NVIDIA H200, 580.159.04, 143771 MiB, 0 MiB"
        self.assertEqual(room_on([one]) // GIB, 109)
        self.assertLess(room_on([one, "NVIDIA H200, 580.159.04, 143771 MiB, 70000 MiB"]), 60 * GIB)
        self.assertEqual(room_on(["No such file"]), 0)
        self.assertEqual(room_on([]), 0)


if __name__ == "__main__":
    unittest.main()
