"""Deferrable memory on a simulated GPU, whose memory is memory of this process."""

import gc
import os
import pickle
import subprocess
import sys
import threading
import time
import warnings

import pytest

import tidemark

numpy = pytest.importorskip("numpy")

MIB = 1 << 20
WORDS = MIB // 2  # of 4 bytes: a page of the GPU


@pytest.fixture
def open_memory():
    opened = []

    def opener(gpu_bytes=8 * MIB, **options):
        opened.append(tidemark.DeferrableMemory(tidemark.Context("sim"), gpu_bytes, 64 * MIB,
                                                **options))
        return opened[-1]

    yield opener
    for memory in opened:
        memory.close()


@pytest.fixture
def memory(open_memory):
    return open_memory()


def filled(memory, value, pages=1, **options):
    return memory.from_array(numpy.full(pages * WORDS, value, "f4"), **options)


def holds(buffer, value):
    with buffer.pin(mode="read") as pin:
        return bool((numpy.asarray(pin) == value).all())


def test_more_than_the_gpu_has_each_at_one_address(memory):
    buffers = [filled(memory, number) for number in range(10)]
    addresses = [buffer.address for buffer in buffers]
    assert memory.statistics().resident == 4
    for number, buffer in enumerate(buffers):
        assert holds(buffer, number)
        assert buffer.defer() == "deferred"
        assert buffer.defer() == "away"
        assert buffer.facts().tier == "host"
        assert holds(buffer, number)
        assert memory.at(buffer.address + 100) is buffer
    assert [buffer.address for buffer in buffers] == addresses
    assert memory.statistics().deferrals >= 10
    assert memory.free_bytes(4 * MIB) >= 4 * MIB


def test_what_is_away_cannot_be_touched_by_accident(memory):
    buffer = filled(memory, 1)
    with buffer.pin() as pin:
        view = pin.view()
    assert pin.buffer is buffer
    for use in (lambda: pin.address, pin.view, lambda: pin.__dlpack__(),
                lambda: numpy.asarray(pin)):
        with pytest.raises(tidemark.OptionError, match="has ended"):
            use()
    assert buffer.defer() == "busy"  # the view keeps it
    view[0] = 1
    view.release()
    del view
    assert buffer.defer() == "deferred"
    # A kernel that comes without a pin ends its program, as on a GPU.
    with pytest.raises(tidemark.Error):
        memory._copy(buffer.address, buffer.address, 1, 0)


# D-T11.
def test_arrays_keep_the_pin_until_they_are_gone(memory):
    buffer = filled(memory, 3)
    for make in (numpy.asarray, numpy.from_dlpack, memoryview_of):
        with buffer.pin() as pin:
            array = make(pin)
        assert buffer.state == "pinned"
        assert buffer.defer() == "busy"
        assert array[5] == 3
        part = array[1:3]
        del array
        assert buffer.state == "pinned"
        del part
        assert buffer.state == "resident"
        assert buffer.defer() == "deferred"


def memoryview_of(pin):
    return pin.view().cast("f")


def test_a_capsule_that_nobody_takes_ends_with_itself(memory):
    buffer = filled(memory, 3)
    with buffer.pin() as pin:
        capsule = pin.__dlpack__(stream=None)
        assert pin.__dlpack_device__() == (1, 0)
        with pytest.raises(BufferError):
            pin.__dlpack__(copy=True)
        with pytest.raises(AttributeError):
            pin.__cuda_array_interface__
    assert buffer.state == "pinned"
    del capsule
    assert buffer.state == "resident"


def test_the_cuda_array_interface_keeps_the_pin(memory):
    buffer = filled(memory, 3)
    memory.is_simulated = False  # what a program on a GPU sees
    with buffer.pin() as pin:
        shown = pin.__cuda_array_interface__
    assert shown["data"] == (buffer.address, False) and shown["shape"] == (WORDS,)
    assert shown["typestr"] == "<f4" and shown["version"] == 3
    assert buffer.state == "pinned"  # an array would hold `pin`
    del pin
    assert buffer.state == "resident"
    with buffer.pin() as pin:
        pin.__cuda_array_interface__
    pin.release()
    assert buffer.state == "resident"
    assert not hasattr(pin, "__cuda_array_interface__")


def test_a_group_is_pinned_together_or_not_at_all(memory):
    one, two, three = (filled(memory, number, pages=2) for number in range(3))
    with memory.pin(one, two, one, mode="read") as pins:
        assert [pin.buffer for pin in pins] == [one, two, one]
        assert one.facts().pins == two.facts().pins == 1
        with pytest.raises(tidemark.CancelledError, match="no room within the given time"):
            three.pin(patience=0.001)
    assert one.facts().pins == 0
    with pytest.raises(tidemark.SpaceError, match="can't fit together") as refused:
        with memory.pin(one, two, three):
            pass
    assert "4.00 MiB" in str(refused.value)
    with pytest.raises(RuntimeError):
        with memory.pin(one):
            raise RuntimeError
    assert one.facts().pins == 0


def test_retrieval_is_in_the_background(memory):
    buffers = [filled(memory, number) for number in range(4)]
    for buffer in buffers:
        assert buffer.defer() == "deferred"
    assert buffers[0].retrieve().result() is None
    assert buffers[0].state == "resident"
    for future in memory.prefetch(*buffers[1:], budget=4 * MIB):
        future.result()
    assert [buffer.state for buffer in buffers] == ["resident"] * 3 + ["deferred"]
    held = memory.empty(2 * MIB).pin()
    with pytest.raises(tidemark.SpaceError):
        buffers[3].retrieve(make_room=False).result()
    held.release()


def test_a_buffer_is_freed_in_any_state_once(memory):
    buffer = filled(memory, 1)
    pin = buffer.pin()
    buffer.destroy()
    assert buffer.state == "freed"
    assert numpy.asarray(pin)[0] == 1  # until its last pin's end
    with pytest.raises(tidemark.NotFoundError):
        buffer.destroy()
    for use in (buffer.pin, buffer.facts, buffer.defer, buffer.retrieve().result):
        with pytest.raises(tidemark.NotFoundError):
            use()
    pin.release()
    other = filled(memory, 2)
    number = other.number
    assert memory.buffer(number) is other
    del other
    assert memory.buffers() == []
    with pytest.raises(tidemark.NotFoundError):
        memory.buffer(number)


def test_arrays_of_others_become_buffers(memory):
    with pytest.raises(tidemark.OptionError, match="contiguous"):
        memory.from_array(numpy.zeros((4, 4), "f4")[:, 1])
    with pytest.raises(tidemark.OptionError, match="isn't a numeric type"):
        memory.empty(3, "tape")
    square = memory.from_array(numpy.arange(6, dtype="i8").reshape(2, 3), tag="square")
    assert (square.shape, square.typestr, square.tag) == ((2, 3), "<i8", "square")
    assert square.facts().tag == "square"
    with square.pin() as pin:
        assert numpy.asarray(pin).tolist() == [[0, 1, 2], [3, 4, 5]]
    text = memory.from_array(b"deferrable")
    assert text.tobytes() == b"deferrable"
    assert text.defer() == "deferred"
    assert text.tobytes() == b"deferrable"
    assert text.facts().tier == "host"  # it was read there
    assert memory.empty((2, 2), numpy.float64).size == 32
    assert memory.empty(4, "bfloat16").size == 8
    with pytest.raises(tidemark.OptionError, match="don't fit"):
        text.write(b"something longer")

    class OnDevice:  # as CuPy, Numba and torch show it
        values = numpy.arange(4, dtype="f4")
        __cuda_array_interface__ = {**values.__array_interface__, "version": 3}

    assert memory.from_array(OnDevice()).tobytes() == OnDevice.values.tobytes()


# D-P15.
def test_a_buffer_is_pickled_from_where_it_is(memory):
    buffer = filled(memory, 5, tag=("layer", 1))
    assert buffer.defer() == "deferred"
    content = pickle.dumps(buffer)
    assert buffer.state == "deferred"
    with buffer.pin():
        assert pickle.dumps(buffer) == content
    with pytest.raises(tidemark.OptionError, match="make_default"):
        pickle.loads(content)
    memory.make_default()
    again = pickle.loads(content)
    assert holds(again, 5) and again.tag == ("layer", 1) and again.number != buffer.number


def test_closing_wakes_who_waits(open_memory):
    memory = open_memory(4 * MIB)
    one, two = filled(memory, 1, pages=2), filled(memory, 2, pages=2)
    pin = one.pin()
    waited = []

    def wait():
        try:
            two.pin()
        except tidemark.CancelledError as refusal:
            waited.append(refusal)

    waiter = threading.Thread(target=wait)
    waiter.start()
    while memory.statistics().waited < 2:
        pass
    memory.close()
    waiter.join()
    assert "closing" in str(waited[0])
    assert numpy.asarray(pin)[0] == 1  # it ends with the last array of it
    with pytest.raises(tidemark.OptionError, match="closed"):
        memory.empty(1)


class Recorded(tidemark.Controller):
    """Sends the youngest away."""

    def __init__(self):
        self.notes = []
        self.threads = set()

    def note(self, *what):
        self.notes.append(what)
        self.threads.add(threading.current_thread())

    def registered(self, number, size):
        self.note("registered", number)

    def pinned(self, number, times):
        self.note("pinned", number, times)

    def deferred(self, number, size):
        self.note("deferred", number)

    def retrieved(self, number, size):
        self.note("retrieved", number)

    def freed(self, number, size):
        self.note("freed", number)

    def choose(self, wanted, candidates):
        self.note("choose", wanted)
        return [max(one.number for one in candidates)]


def test_a_creation_waits_until_pins_are_let_go(memory):
    first = memory.empty(6 * MIB)
    with first.pin():
        with pytest.raises(tidemark.CancelledError):
            memory.empty(6 * MIB, timeout=0.05)
        pin = memory._pin([first], "pin", 0, None)
        made = []
        other = threading.Thread(target=lambda: made.append(memory.empty(6 * MIB)))
    other.start()
    time.sleep(0.02)
    assert not made
    for one in pin:
        one.__exit__(None, None, None)
    other.join()
    assert made and first.state == "deferred"


def test_a_controller_decides_who_leaves(open_memory):
    controller = Recorded()
    memory = open_memory(4 * MIB, victims=controller, controller_patience=30)
    one, two = filled(memory, 1), filled(memory, 2)
    three = filled(memory, 3)
    assert (one.state, two.state, three.state) == ("resident", "deferred", "resident")
    assert holds(two, 2)
    assert (one.state, two.state, three.state) == ("resident", "resident", "deferred")
    number = three.number
    three.destroy()
    while ("freed", number) not in controller.notes:
        pass
    notes = controller.notes
    assert len(controller.threads) == 1 and threading.current_thread() not in controller.threads
    assert ("registered", one.number) in notes and ("pinned", one.number, 1) in notes
    assert notes.index(("deferred", two.number)) < notes.index(("retrieved", two.number))
    assert memory.statistics().pressures == 2 and memory.statistics().unrelieved == 0


def test_a_controller_that_made_room_and_is_still_at_it_decides_next_time_too(open_memory):
    class Lingering(Recorded):
        def deferred(self, number, size):
            time.sleep(0.2)  # the room has come long before

        def choose(self, wanted, candidates):
            chosen = super().choose(wanted, candidates)
            if len(candidates) == 2:
                memory._defer(chosen[0], True)
                time.sleep(0.2)
            return chosen

    memory = open_memory(4 * MIB, victims=Lingering(), controller_patience=30)
    one, two = filled(memory, 1), filled(memory, 2)
    three = filled(memory, 3)
    assert holds(two, 2)
    assert (one.state, two.state, three.state) == ("resident", "resident", "deferred")


def test_a_controllers_class_is_enough(open_memory):
    class First(tidemark.Controller):
        wanted = []

        def choose(self, wanted, candidates):
            self.wanted.append(wanted)
            return [candidates[0].number]

    memory = open_memory(4 * MIB, victims=First, controller_patience=30)
    buffers = [filled(memory, number) for number in range(3)]
    assert First.wanted == [2 * MIB]
    assert all(holds(buffer, number) for number, buffer in enumerate(buffers))


def test_a_controller_that_fails_is_replaced(open_memory):
    class Failing(tidemark.Controller):
        def choose(self, wanted, candidates):
            raise ValueError("no idea")

    with warnings.catch_warnings(record=True) as said:
        warnings.simplefilter("always")
        memory = open_memory(4 * MIB, victims=Failing(), controller_patience=30)
        buffers = [filled(memory, number) for number in range(4)]
        assert all(holds(buffer, number) for number, buffer in enumerate(buffers))
        memory._controller._thread.join()
    assert isinstance(memory.controller_failure, ValueError)
    assert [one.category for one in said] == [tidemark.ControllerWarning]
    assert "no idea" in str(said[0].message)
    assert memory.statistics().pressures == 1


def test_a_controller_that_does_not_answer_is_waited_for_once(open_memory):
    go_on = threading.Event()

    class Stuck(tidemark.Controller):
        def choose(self, wanted, candidates):
            go_on.wait()
            return ()

    with warnings.catch_warnings(record=True) as said:
        warnings.simplefilter("always")
        memory = open_memory(4 * MIB, victims=Stuck(), controller_patience=0.001)
        buffers = [filled(memory, number) for number in range(4)]
        while not said:
            assert all(holds(buffer, number) for number, buffer in enumerate(buffers))
    assert memory.statistics().pressures == 1
    assert "does not return" in str(said[0].message)
    go_on.set()


# D-T8.
def test_a_controller_may_use_the_memory(open_memory):
    class Busy(tidemark.Controller):
        def registered(self, number, size):
            self.memory.buffers()

        def choose(self, wanted, candidates):
            self.memory.empty(1)  # needs room itself: nobody waits for it then
            return [one.number for one in candidates]

    controller = Busy()
    controller.memory = memory = open_memory(4 * MIB, victims=controller, controller_patience=30)
    buffers = [filled(memory, number) for number in range(4)]
    assert all(holds(buffer, number) for number, buffer in enumerate(buffers))
    assert memory.controller_failure is None
    del controller.memory


def test_threads_share_more_than_the_gpu_has(memory):
    buffers = [filled(memory, number) for number in range(8)]
    wrong = []

    def work(first):
        for step in range(40):
            number = (first * 3 + step) % 8
            other = (number + first + 1) % 8
            with memory.pin(buffers[number], buffers[other], mode="read") as pins:
                for which, pin in zip((number, other), pins):
                    if numpy.asarray(pin)[7] != which:
                        wrong.append(which)
            buffers[other].defer(wait=False)

    threads = [threading.Thread(target=work, args=(number,)) for number in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert not wrong
    assert memory.statistics().pins == 0


def test_a_program_ends_with_all_of_it_open():
    code = ("import tidemark\n"
            "class Slow(tidemark.Controller):\n"
            "    def deferred(self, number, size): pass\n"
            "memory = tidemark.DeferrableMemory(tidemark.Context('sim'), 4 << 20, 16 << 20,\n"
            "                                   victims=Slow())\n"
            "kept = [memory.from_array(b'1' * (2 << 20)) for _ in range(4)]\n"
            "pin = kept[0].pin()\n"
            "capsule = pin.__dlpack__()\n"
            "kept[2].retrieve()\n"
            "print('done')\n")
    package = os.path.dirname(os.path.dirname(tidemark.__file__))
    done = subprocess.run([sys.executable, "-c", code], text=True, capture_output=True,
                          timeout=60, check=False, env={**os.environ, "PYTHONPATH": package})
    assert (done.returncode, done.stdout, done.stderr) == (0, "done\n", "")


# D-P14.
def test_buffers_leave_ahead_of_need_between_two_marks(open_memory):
    memory = open_memory(16 * MIB, spill_start=0.75, spill_stop=0.5)
    buffers = [filled(memory, number) for number in range(6)]
    assert memory.counters("gpu").used == 12 * MIB
    assert memory.statistics().deferrals == 0
    buffers.append(filled(memory, 6))
    while memory.counters("gpu").used > 8 * MIB:  # the store's thread copies
        time.sleep(0.001)
    facts = memory.statistics()
    assert (facts.deferrals, facts.waited, facts.failures) == (3, 0, 0)
    assert [buffer.state for buffer in buffers] == ["deferred"] * 3 + ["resident"] * 4
    assert all(holds(buffer, number) for number, buffer in enumerate(buffers))


@pytest.mark.parametrize("start, stop", [(1.5, 0), (0.5, 0.8), (-1, 0), (float("nan"), 0)])
def test_marks_are_shares_in_order(start, stop):
    with pytest.raises(tidemark.Error, match="spill_st"):
        tidemark.DeferrableMemory(tidemark.Context("sim"), 4 * MIB, 4 * MIB, spill_start=start,
                                  spill_stop=stop)


# D-P4.
def test_a_child_leaves_its_parents_memory_alone():
    code = ("import os, tidemark\n"
            "memory = tidemark.DeferrableMemory(tidemark.Context('sim'), 4 << 20, 16 << 20)\n"
            "kept = memory.from_array(b'1')\n"
            "child = os.fork()\n"
            "if child: assert os.waitpid(child, 0)[1] == 0\n"
            "else:\n"
            "    del kept, memory\n"
            "    own = tidemark.DeferrableMemory(tidemark.Context('sim'), 4 << 20, 16 << 20)\n"
            "    own.from_array(b'2').defer()\n"
            "    own.close()\n"
            "print('done')\n")
    package = os.path.dirname(os.path.dirname(tidemark.__file__))
    done = subprocess.run([sys.executable, "-c", code], text=True, capture_output=True,
                          timeout=60, check=False, env={**os.environ, "PYTHONPATH": package})
    assert (done.returncode, done.stdout, done.stderr) == (0, "done\ndone\n", "")


def test_a_memory_without_its_objects_is_gone(tmp_path):
    memory = tidemark.DeferrableMemory(tidemark.Context("sim"), 4 * MIB, 4 * MIB, tmp_path,
                                       victims="gdsf")
    buffers = [filled(memory, number) for number in range(6)]
    assert {buffer.facts().tier for buffer in buffers} == {"gpu", "host", "disk"}
    assert all(holds(buffer, number) for number, buffer in enumerate(buffers))
    memory.close()
    memory.close()
    del memory, buffers
    gc.collect()
    with tidemark.Store(4 * MIB, tmp_path):
        pass  # nothing has the directory any more


def test_the_example_runs():
    package = os.path.dirname(os.path.dirname(tidemark.__file__))
    example = os.path.join(os.path.dirname(package), "examples", "deferrable.py")
    done = subprocess.run([sys.executable, example], text=True, capture_output=True, timeout=60,
                          check=False, env={**os.environ, "PYTHONPATH": package})
    assert done.returncode == 0 and "bytes right" in done.stdout, done.stderr
