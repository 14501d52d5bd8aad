"""Policies written in Python: a right one in replays and contexts, and what wrong ones end in."""

import pytest

import tidemark


@tidemark.policy
class FirstFit:
    """First fit in pieces of 64 MiB, a stream's memory for that stream alone."""

    PIECE = 64 << 20

    def __init__(self, device):
        self.device = device
        self.free = {}

    def allocate(self, request):
        size = -(-request.size // 512) * 512
        free = self.free.setdefault(request.stream, {})
        for address, room in free.items():
            if room >= size:
                break
        else:
            room = max(size, self.PIECE)
            address = self.device.malloc(room)
            if address is None:
                return None
        free.pop(address, None)
        if room > size:
            free[address + size] = room - size
        return address, size

    def deallocate(self, address, size, stream):
        self.free[stream][address] = size


@tidemark.policy(name="own-nothing")
class Nothing:
    def __init__(self, device):
        pass

    def allocate(self, request):
        return None

    def deallocate(self, address, size, stream):
        raise AssertionError("nothing was granted")


@tidemark.policy
class Liar:
    def __init__(self, device):
        self.address = device.malloc(1 << 20)

    def allocate(self, request):
        return self.address

    def deallocate(self, address, size, stream):
        pass


@tidemark.policy
class Stumbles:
    def __init__(self, device):
        pass

    def allocate(self, request):
        raise KeyError("no such idea")

    def deallocate(self, address, size, stream):
        pass


def test_its_name_is_the_class_in_lower_case():
    assert str(FirstFit) == "first-fit"
    assert "first-fit" in repr(FirstFit)
    assert FirstFit.__doc__.startswith("First fit")
    assert "first-fit" not in dir(tidemark.policies)


def test_it_runs_in_a_replay_with_the_checker_on(small):
    answer = tidemark.replay(small, FirstFit, progress=False)
    assert answer.policy == "first-fit"
    assert answer.peak_reserved_bytes >= answer.peak_requested_bytes
    assert answer.check is True
    assert answer.hazard_count == 0


def test_it_is_compared_with_others(small):
    answer = tidemark.compare(small, policies=["torch", FirstFit], progress=False)
    assert {run.policy for run in answer.runs} == {"torch", "first-fit"}


def test_a_policy_that_grants_nothing_is_out_of_memory(small):
    assert tidemark.replay(small, Nothing, progress=False).out_of_memory > 0


def test_what_it_grants_twice_is_a_fault(small):
    with pytest.raises(tidemark.PolicyFault, match="in use|not in memory"):
        tidemark.replay(small, Liar, progress=False)
    tidemark.replay(small, "torch", progress=False)


def test_what_it_raises_is_raised(small):
    with pytest.raises(KeyError, match="no such idea"):
        tidemark.replay(small, Stumbles, progress=False)


def test_it_serves_a_context():
    with tidemark.Context("sim", policy=FirstFit, memory=1 << 30) as context:
        first = context.alloc(1000)
        second = context.alloc(1000)
        assert second - first == 1024
        context.free(first)
        context.free(second)


def test_a_class_without_functions_is_refused():
    with pytest.raises(tidemark.OptionError, match="deallocate"):
        @tidemark.policy
        class Half:
            def allocate(self, request):
                return None


def test_a_name_that_is_taken_is_refused():
    with pytest.raises(tidemark.OptionError, match="torch"):
        tidemark.policy(name="torch")(FirstFit.kind)
