"""Runs jobs of scripts/prove-on-gpu in parallel, as many as fit in the GPU's memory."""
import concurrent.futures
import re
import typing

GIB = 1 << 30
BESIDE = 2 * GIB  # added to each job's need: memory of a process outside the allocator, and slack
USABLE = 0.78  # of the memory that is free at the start


class Job(typing.NamedTuple):
    """`need` is the most that its allocator is predicted to hold, in bytes; None: unknown, or its
    timing matters, so that it runs alone."""

    need: typing.Optional[int]
    task: typing.Callable[[], None]


def room_on(gpus):
    """The bytes that jobs may hold together, from nvidia-smi's lines "name, driver, memory, memory in
    use": a share of the smallest GPU's free memory. 0, so that all run alone, if it can't be
    determined."""
    sizes = [re.search(r", (\d+) MiB, (\d+) MiB$", line) for line in gpus]
    if not sizes or None in sizes:
        return 0
    return int(min(int(each[1]) - int(each[2]) for each in sizes) * USABLE) << 20


def next_that_fits(waiting, left):
    """The index in `waiting` of the first job that needs at most `left` bytes; None without one."""
    return next((at for at, job in enumerate(waiting) if job.need + BESIDE <= left), None)


def run_jobs(jobs, room, most):
    """Runs all jobs: up to `most` at the same time while their needs stay within `room`, the largest
    first; then, one after the other, those that do not fit or must be alone. Tasks must not raise."""
    waiting, alone, running = [], [], {}
    for job in jobs:
        fits = job.need is not None and job.need + BESIDE <= room
        (waiting if fits else alone).append(job)
    waiting.sort(key=lambda job: -job.need)
    with concurrent.futures.ThreadPoolExecutor(most) as pool:
        while waiting or running:
            at = next_that_fits(waiting, room - sum(running.values()))
            if at is not None and len(running) < most:
                job = waiting.pop(at)
                running[pool.submit(job.task)] = job.need + BESIDE
                continue
            done, _ = concurrent.futures.wait(
                running, return_when=concurrent.futures.FIRST_COMPLETED)
            for each in done:
                del running[each]
                each.result()
    for job in alone:
        job.task()
