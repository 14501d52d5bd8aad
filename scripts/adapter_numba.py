"""The checks of scripts/prove_adapters.py about the lifetimes of Numba's contexts."""
import textwrap

from adapter_checks import check, program

LIFECYCLES = {
    "an array is live at the end": """
        import numpy, numba.cuda
        kept = numba.cuda.to_device(numpy.arange(1000))
        """,
    "a context is closed under an array": """
        import numpy, numba.cuda
        old = numba.cuda.to_device(numpy.arange(1000))
        numba.cuda.close()
        new = numba.cuda.to_device(numpy.arange(1000))
        del old
        assert (new.copy_to_host() == numpy.arange(1000)).all()
        """,
    "a reset is the first call": """
        import numba.cuda
        numba.cuda.current_context().reset()
        numba.cuda.device_array(10)
        """,
    "four threads": """
        import threading, numpy, numba.cuda
        def work(seed):
            for number in range(200):
                made = numpy.full(1000 + number, seed)
                assert (numba.cuda.to_device(made).copy_to_host() == made).all()
        numba.cuda.current_context()  # Numba's own first call is not for several threads
        threads = [threading.Thread(target=work, args=(seed,)) for seed in range(4)]
        [thread.start() for thread in threads]
        [thread.join() for thread in threads]
        """,
    "1,000 resets": """
        import numba.cuda, tidemark
        context = numba.cuda.current_context()
        kept = []
        for number in range(1000):
            kept.append(numba.cuda.device_array(100_000))
            context.reset()
            del kept[:]
        holder, = tidemark.holders()
        assert holder.count == 0 and holder.peak > 0, holder
        from tidemark import _pools
        assert _pools.client("numba").granted == 1000
        """,
    "200 resets of the device release the memory": """
        import numba.cuda
        def free():
            numba.cuda.device_array(100_000)
            left = numba.cuda.cudadrv.driver.driver.cuMemGetInfo()[0]
            numba.cuda.close()
            return left
        before = [free() for number in range(200)]
        assert max(before) - min(before[1:]) <= 2 << 20, (before[0], before[-1])
        """,
    "processes of their own": """
        import multiprocessing, textwrap
        work = '''
        import numpy, numba.cuda
        assert (numba.cuda.to_device(numpy.arange(1000)).copy_to_host() == numpy.arange(1000)).all()
        '''
        with multiprocessing.get_context("spawn").Pool(3) as pool:
            pool.map(exec, [textwrap.dedent(work)] * 9)
        """,
    "cleanup is deferred": """
        import numba.cuda, tidemark
        with numba.cuda.defer_cleanup():
            for number in range(10):
                numba.cuda.device_array(1000)
            assert tidemark.holders()[0].count == 10
        assert tidemark.holders()[0].count == 0
        """,
}


def prove_lifecycle(_folder, _steps):
    ours = {"NUMBA_CUDA_MEMORY_MANAGER": "tidemark.numba"}
    failed = []
    for what, code in LIFECYCLES.items():
        done = program(code, NUMBA_CUDA_LOW_OCCUPANCY_WARNINGS="0", **ours)
        good = done.returncode == 0 and not done.stderr
        print(f"  {'ok  ' if good else 'FAIL'} {what}", flush=True)
        if not good:
            print(done.stderr[-700:])
            alone = program(code.replace(", tidemark", "").partition("holder")[0],
                            NUMBA_CUDA_LOW_OCCUPANCY_WARNINGS="0")
            print(f"    with Numba's own memory: exit code {alone.returncode} "
                  f"{alone.stderr.strip()[-200:]}")
            if alone.returncode == 0:  # otherwise the failure is Numba's own
                failed.append(what)
    leaking = program("import tidemark.numba\ntidemark.numba.Holding.clear = lambda self: None\n"
                      + textwrap.dedent(LIFECYCLES["1,000 resets"]), **ours)
    check("AssertionError" in leaking.stderr, "the check finds memory that resets keep")
    check(not failed, "all of them")
