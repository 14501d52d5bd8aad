"""scripts/prove_edges.py: the programs are varied and repeatable, and every kind runs to its end.

A made-up torch stands for the real one: it counts memory, refuses what is over the limit, and
checks that a context is left before the next call that must not be inside it.
"""
import contextlib
import pathlib
import sys
import types
import unittest

ROOT = pathlib.Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT / "scripts"))

import prove_edges  # noqa: E402
from prove_edges import GIB, KINDS, MIB  # noqa: E402


class OutOfMemoryError(RuntimeError):
    pass


class Tensor:
    def __init__(self, torch, size):
        self.torch, self.size = torch, size
        torch.used += size
        if torch.used > torch.limit:
            torch.calls.append("refused")
            raise OutOfMemoryError
        torch.calls.append(size)

    def __len__(self):
        return self.size

    numel = __len__

    def __del__(self):
        self.torch.used -= self.size

    def zero_(self):
        return self

    def add_(self, _):
        return self

    def record_stream(self, _):
        self.torch.calls.append("record_stream")


def made_up_torch(limit):
    """The part of torch that a program touches."""
    torch = types.SimpleNamespace(limit=limit, used=0, calls=[], uint8="uint8")
    torch.OutOfMemoryError = OutOfMemoryError

    def says(name):
        return lambda *arguments, **options: torch.calls.append(name)

    @contextlib.contextmanager
    def inside(name, *_, **__):
        torch.calls.append(name)
        try:
            yield
        finally:
            torch.calls.append("left " + name)

    def new_stream():
        return types.SimpleNamespace(wait_stream=says("wait_stream"))

    torch.empty = lambda size, dtype, device: Tensor(torch, size)
    torch._C = types.SimpleNamespace(_accelerator_setAllocatorSettings=says("settings"))
    torch.cuda = types.SimpleNamespace(
        get_device_properties=lambda _: types.SimpleNamespace(total_memory=139 * GIB),
        Stream=new_stream, current_stream=new_stream, _sleep=says("sleep"),
        stream=lambda _: inside("stream"), synchronize=says("synchronize"),
        MemPool=lambda **options: [says("pool " + "".join(options))()],
        use_mem_pool=lambda _: inside("use_mem_pool"), graph=lambda _, pool: inside("capture"),
        CUDAGraph=lambda: types.SimpleNamespace(pool=lambda: (1, 0), reset=says("reset")),
        empty_cache=says("empty_cache"))
    return torch


class Edges(unittest.TestCase):
    def run_kind(self, kind, seed=1, steps=6000):
        limit = 4 * GIB if KINDS[kind]["limited"] else 0
        torch = made_up_torch(limit or 139 * GIB)
        options = types.SimpleNamespace(seed=seed, limit=limit)
        program = prove_edges.Program(torch, kind, steps, options)
        program.run()
        return torch.calls, program

    def test_every_kind_runs_to_its_end_and_does_what_it_is_for(self):
        wanted = {"streams": "record_stream", "pools": "use_mem_pool", "capture": "capture",
                  "toggle": "settings"}
        for kind, what in KINDS.items():
            with self.subTest(kind):
                calls, program = self.run_kind(kind)
                self.assertGreaterEqual(program.attempts, 6000)
                for feature, call in wanted.items():
                    if feature in what:
                        self.assertTrue(call in calls, call)
                if what["limited"]:
                    self.assertTrue("refused" in calls)
                self.assertEqual(calls.count("use_mem_pool"), calls.count("left use_mem_pool"))

    def test_a_program_is_repeatable_and_seeds_differ(self):
        for kind in ("pools", "capture-streams", "toggle-all"):
            calls = self.run_kind(kind)[0]
            self.assertTrue(calls == self.run_kind(kind)[0], kind)
            self.assertTrue(calls != self.run_kind(kind, seed=2)[0], kind)

    def test_marks_tell_what_a_snapshot_does_not(self):
        marks = self.run_kind("toggle-all", steps=30000)[1].marks
        self.assertTrue({"settings", "cache_emptied"} <= {mark[0] for mark in marks})
        self.assertEqual([mark[1] for mark in marks], sorted(mark[1] for mark in marks))

    def test_settings_that_crash_torch_when_they_change_are_not_changed(self):
        changed = {setting for what in KINDS.values() for setting in what.get("toggle", [])}
        self.assertGreater(len(changed), 3)
        self.assertFalse([each for each in changed if each.startswith("max_split_size_mb")])

    def test_the_plan_is_varied_and_repeatable(self):
        programs = prove_edges.plan(len(KINDS) * 3, 7, devices=2)
        self.assertEqual(programs, prove_edges.plan(len(KINDS) * 3, 7, devices=2))
        self.assertEqual({each["kind"] for each in programs}, set(KINDS))
        self.assertEqual(len({each["name"] for each in programs}), len(programs))
        self.assertGreater(len({each["conf"] for each in programs}), 12)
        self.assertTrue(all(3_000 <= each["steps"] <= 30_000 for each in programs))
        needs = {each["kind"]: prove_edges.need(each) for each in programs}
        self.assertEqual([kind for kind, need in needs.items() if need is None], ["exhaust"])
        self.assertTrue(all(prove_edges.need(each) == each["limit"]
                            for each in programs if each["limit"]))
        limits = [each["limit"] for each in programs if KINDS[each["kind"]]["limited"]]
        self.assertTrue(all(GIB < limit <= 8 * GIB for limit in limits))
        self.assertNotIn("two-devices", {each["kind"] for each in
                                         prove_edges.plan(len(KINDS), 7, devices=1)})

    def test_sizes_are_where_they_should_be(self):
        import random
        drawn = prove_edges.Sizes("boundaries", random.Random(1))
        sizes = {drawn.draw() for _ in range(20000)}
        for edge in (MIB, MIB + 1, 10 * MIB, 10 * MIB - 511, 20 * MIB + 512, 511):
            self.assertIn(edge, sizes)
        self.assertGreaterEqual(min(sizes), 1)


if __name__ == "__main__":
    unittest.main()
