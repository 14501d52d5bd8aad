"""The policies as functions, which return values for `policy` arguments:
torch(expandable_segments=True) is "torch:expandable_segments=true".

Options that are left out have their defaults. Sizes are bytes, or texts with a unit: "32MiB".
scripts/make_catalogue.py writes this file from `tidemark policies --json`: don't edit it.
"""

from __future__ import annotations

from typing import Literal, Optional, Union

from tidemark._spec import size as _size, spec

__all__ = ["cuda_malloc", "cuda_async", "bump", "best_fit", "buddy", "torch", "vpmm", "arena",
           "extent", "rmm_pool", "rmm_arena", "rmm_binning", "rmm_fixed", "rmm_cuda_async", "cupy",
           "bfc", "quick_pool", "tlsf", "kv_pages", "plan"]

TorchVersion = Literal["1.13", "2.0", "2.1", "2.2", "2.3", "2.4", "2.5", "2.6", "2.7", "2.8", "2.9",
    "2.10", "2.11", "2.12", "2.13", "2.14", "2.15"]

QuickPoolCoalesce = Literal["percent_releasable", "percent_releasable_hwm", "blocks_releasable",
    "blocks_releasable_hwm"]


def cuda_malloc() -> str:
    """No pool: every request is a cudaMalloc, every free a cudaFree."""
    return spec("cuda-malloc", {})


def cuda_async(*, threshold: Optional[Union[int, str]] = None,
               initial: Optional[Union[int, str]] = None) -> str:
    """The driver's stream-ordered pool: cudaMallocAsync, cudaFreeAsync.

    Parameters
    ----------
    threshold: what the pool keeps at a synchronization, a size; max = everything (bytes; default 0)
    initial: what is asked for and given back to the pool before the first request (default 0; 0 to
        1TiB)
    """
    return spec("cuda-async", {"threshold": threshold, "initial": _size(initial)})


def bump(*, segment: Optional[Union[int, str]] = None, alignment: Optional[Union[int, str]] = None,
         release_empty: Optional[bool] = None) -> str:
    """Never reuses an address: the floor of an allocator's own cost.

    Parameters
    ----------
    segment: what is taken from the device at once (default 256MiB; 512 to 1TiB)
    alignment: addresses and sizes are multiples of this power of two (default 512; 16 to 1GiB)
    release_empty: give a segment back as soon as nothing lives in it (default true)
    """
    return spec("bump", {
        "segment": _size(segment),
        "alignment": _size(alignment),
        "release_empty": release_empty,
    })


def best_fit(*, segment: Optional[Union[int, str]] = None,
             split: Optional[Union[int, str]] = None) -> str:
    """One coalescing pool that grows; smallest fitting block, lowest address.

    Parameters
    ----------
    segment: the least that is taken from the device at once (default 32MiB; 512 to 1TiB)
    split: a block is cut if at least this much would be left over (default 512; 512 to 1TiB)
    """
    return spec("best-fit", {"segment": _size(segment), "split": _size(split)})


def buddy(*, min_block: Optional[Union[int, str]] = None,
          segment: Optional[Union[int, str]] = None) -> str:
    """Blocks are powers of two, halved on demand; only twins join again.

    Parameters
    ----------
    min_block: the smallest block, a power of two (default 512; 512 to 1GiB)
    segment: what is taken from the device at once, a power of two (default 32MiB; 512 to 1TiB)
    """
    return spec("buddy", {"min_block": _size(min_block), "segment": _size(segment)})


def torch(*, expandable_segments: Optional[bool] = None, max_split_size_mb: Optional[int] = None,
          max_non_split_rounding_mb: Optional[int] = None,
          roundup_power2_divisions: Optional[Union[int, str]] = None,
          garbage_collection_threshold: Optional[float] = None,
          large_segment_size_mb: Optional[int] = None,
          per_process_memory_fraction: Optional[float] = None,
          backend: Optional[Literal["native", "cudaMallocAsync", "hipMallocAsync"]] = None,
          graph_capture_record_stream_reuse: Optional[bool] = None,
          release_lock_on_cudamalloc: Optional[bool] = None,
          throw_on_cudamalloc_oom: Optional[bool] = None,
          expandable_segments_reserve: Optional[Union[int, str]] = None,
          expandable_segments_reserve_by_class: Optional[Union[int, str]] = None,
          release_lock_on_hipmalloc: Optional[bool] = None,
          pinned_use_hip_host_register: Optional[bool] = None,
          pinned_max_cached_size_mb: Optional[int] = None,
          pinned_max_round_threshold_mb: Optional[int] = None,
          pinned_free_catch_all: Optional[bool] = None,
          pinned_use_cuda_host_register: Optional[bool] = None,
          pinned_num_register_threads: Optional[int] = None,
          pinned_use_background_threads: Optional[bool] = None,
          pinned_reserve_segment_size_mb: Optional[int] = None,
          pinned_max_power2_size_mb: Optional[int] = None, version: Optional[TorchVersion] = None,
          limit: Optional[Union[int, str]] = None) -> str:
    """PyTorch's caching allocator: segments, split and merged, per stream.

    Parameters
    ----------
    expandable_segments: grow segments page by page inside reserved addresses (default false)
    max_split_size_mb: blocks of this size and above are never split and serve only such requests; 0
        = no limit, else at least the size of a large segment (20) (MiB; default 0)
    max_non_split_rounding_mb: how much larger than its request an unsplittable block may be; before
        version 2.6 20 in any case (MiB; default 20; 20 to any)
    roundup_power2_divisions: round requests up to this many steps between powers of two: one
        number, or a list [256:1,512:2,>:8] by MiB; numbers are powers of two, 0 and 1 = off
        (default 0)
    garbage_collection_threshold: release old unused blocks when more than this fraction of the
        limit is reserved; below 1; 0 = off; needs a limit (default 0; 0 to 1)
    large_segment_size_mb: size of the segments that requests from 1 MiB to 10 MiB are cut from
        (MiB; default 20; 11 to 1000000)
    per_process_memory_fraction: limit on reserved bytes as a part of the device's memory; 0 = never
        set; 1 = no limit from version 2.9 on, before: all of the memory (default 0; 0 to 1)
    backend: native is PyTorch's own allocator; cudaMallocAsync leaves all to the driver's pool
        (default native)
    graph_capture_record_stream_reuse: no effect here: what a captured graph's topology allows to
        reuse isn't recorded (default false)
    release_lock_on_cudamalloc: no effect here: only threads that race see it (default false)
    throw_on_cudamalloc_oom: a request beyond per_process_memory_fraction or limit is refused before
        any cache is emptied for it; from version 2.12 on (default false)
    expandable_segments_reserve: addresses that an expandable segment reserves, which no request may
        exceed: a part of the device's memory (0.5) or GiB (40G); off = 9/8 of it, and never more;
        from version 2.13 on (default off)
    expandable_segments_reserve_by_class: no effect here: which stream is of which class isn't
        recorded (default off)
    release_lock_on_hipmalloc: no effect here: only threads that race see it (default false)
    pinned_use_hip_host_register: no effect here: host memory (default false)
    pinned_max_cached_size_mb: no effect here: host memory (MiB; default 0)
    pinned_max_round_threshold_mb: no effect here: host memory (MiB; default 0)
    pinned_free_catch_all: no effect here: host memory (default false)
    pinned_use_cuda_host_register: no effect here: host memory (default false)
    pinned_num_register_threads: no effect here: host memory (default 1)
    pinned_use_background_threads: no effect here: host memory (default false)
    pinned_reserve_segment_size_mb: no effect here: host memory (MiB; default 0)
    pinned_max_power2_size_mb: no effect here: host memory (MiB; default 0)
    version: of PyTorch, where versions differ (default 2.11)
    limit: most that may be reserved, 0 = no limit (default 0)
    """
    return spec("torch", {
        "expandable_segments": expandable_segments,
        "max_split_size_mb": max_split_size_mb,
        "max_non_split_rounding_mb": max_non_split_rounding_mb,
        "roundup_power2_divisions": roundup_power2_divisions,
        "garbage_collection_threshold": garbage_collection_threshold,
        "large_segment_size_mb": large_segment_size_mb,
        "per_process_memory_fraction": per_process_memory_fraction,
        "backend": backend,
        "graph_capture_record_stream_reuse": graph_capture_record_stream_reuse,
        "release_lock_on_cudamalloc": release_lock_on_cudamalloc,
        "throw_on_cudamalloc_oom": throw_on_cudamalloc_oom,
        "expandable_segments_reserve": expandable_segments_reserve,
        "expandable_segments_reserve_by_class": expandable_segments_reserve_by_class,
        "release_lock_on_hipmalloc": release_lock_on_hipmalloc,
        "pinned_use_hip_host_register": pinned_use_hip_host_register,
        "pinned_max_cached_size_mb": pinned_max_cached_size_mb,
        "pinned_max_round_threshold_mb": pinned_max_round_threshold_mb,
        "pinned_free_catch_all": pinned_free_catch_all,
        "pinned_use_cuda_host_register": pinned_use_cuda_host_register,
        "pinned_num_register_threads": pinned_num_register_threads,
        "pinned_use_background_threads": pinned_use_background_threads,
        "pinned_reserve_segment_size_mb": pinned_reserve_segment_size_mb,
        "pinned_max_power2_size_mb": pinned_max_power2_size_mb,
        "version": version,
        "limit": _size(limit),
    })


def vpmm(*, page: Optional[Union[int, str]] = None, va_size: Optional[Union[int, str]] = None,
         pages: Optional[int] = None, harvest: Optional[Literal["document", "source"]] = None,
         growth: Optional[Literal["wait", "grow", "cost"]] = None,
         worth_waiting: Optional[Union[int, str]] = None,
         soft_limit: Optional[Union[int, str]] = None, limit: Optional[Union[int, str]] = None,
         waste: Optional[int] = None, capture: Optional[Literal["reject", "survive"]] = None,
         peers: Optional[Union[int, str]] = None) -> str:
    """Pages behind reserved addresses, moved to where a request needs them in a row.

    Parameters
    ----------
    page: bytes of a page, a multiple of the device's granularity; 0 = that; smaller requests are
        left to the device's own pool (default 0; 0 to 1TiB)
    va_size: addresses that are reserved at once, a multiple of the page; more for a request that
        needs more (default 8TiB; 1 to 256TiB)
    pages: pages that are created at the start (default 0; 0 to 1000000000)
    harvest: document: the free region before the new addresses stays, the stream's other regions
        move whole, new pages come last; source: new pages come first, then what is missing, page by
        page from the oldest regions (default document)
    growth: no region fits: wait = move all that is free, of other streams too, before making pages;
        grow = make pages while there is memory; cost = move, but wait only for regions of
        worth_waiting bytes (default wait)
    worth_waiting: growth=cost waits for another stream's region from this size on, and makes new
        pages instead of smaller ones (default 128MiB)
    soft_limit: reserved bytes beyond which growth is as with wait, 0 = none (default 0)
    limit: most that may be reserved, 0 = no limit (default 0)
    waste: a free region is cut for a request only if it is at most this many times as large or
        nothing else is left; 0 = any (default 0; 0 to 1000000)
    capture: while a graph is captured, requests that no free region serves: reject = out of memory,
        survive = served by new pages (default reject)
    peers: other devices that may read and write the pages: [1,2], or how many: 2 (default [])
    """
    return spec("vpmm", {
        "page": _size(page),
        "va_size": _size(va_size),
        "pages": pages,
        "harvest": harvest,
        "growth": growth,
        "worth_waiting": _size(worth_waiting),
        "soft_limit": _size(soft_limit),
        "limit": _size(limit),
        "waste": waste,
        "capture": capture,
        "peers": peers,
    })


def arena(*, mode: Optional[Literal["bump", "planned"]] = None,
          arena: Optional[Union[int, str]] = None,
          share: Optional[Literal["none", "sequence"]] = None,
          escapes: Optional[Literal["apart", "after"]] = None,
          free_list_cap_mb: Optional[int] = None,
          pool_release_threshold_mb: Optional[int] = None) -> str:
    """Private pools from arenas that grow in place, bumped or planned; free lists of exact sizes
    for the rest (numr's; RMM's is rmm-arena).

    Parameters
    ----------
    mode: private pools hand out every address once, or by a plan made from a dry run (default bump)
    arena: size of each private pool's arena, taken at its first request; 0 = it grows (default 0; 0
        to 1TiB)
    share: private pools have arenas of their own, or one if their graphs never run together
        (default none)
    escapes: what outlives a planned capture shares with nobody, or may take the bytes of what was
        freed before it (default apart)
    free_list_cap_mb: most that the free lists keep; beyond it the oldest of the largest size goes
        (MiB; default 1024; 0 to 1048576)
    pool_release_threshold_mb: what the driver's pool keeps when the device is awaited (MiB; default
        512; 0 to 1048576)
    """
    return spec("arena", {
        "mode": mode,
        "arena": _size(arena),
        "share": share,
        "escapes": escapes,
        "free_list_cap_mb": free_list_cap_mb,
        "pool_release_threshold_mb": pool_release_threshold_mb,
    })


def extent(*, slack: Optional[float] = None, handle: Optional[Union[int, str]] = None,
           slab: Optional[Union[int, str]] = None, candidates: Optional[int] = None,
           edge: Optional[float] = None, leftover: Optional[float] = None,
           worth: Optional[float] = None, patience: Optional[float] = None,
           mappings: Optional[int] = None, expect: Optional[Union[int, str]] = None,
           limit: Optional[Union[int, str]] = None,
           va_size: Optional[Union[int, str]] = None) -> str:
    """One heap on virtual memory; free parts are stitched together instead of growing.

    Parameters
    ----------
    slack: reserved memory may be this share above the most that was ever live, before free parts
        are stitched together; more is faster (default 0.03; 0 to 10)
    handle: without `expect`: the largest piece of physical memory, or 1/64 of the most that was
        live; smaller ones go together more easily, and cost the driver more calls (default 256MiB;
        64KiB to 1TiB)
    slab: requests below half of it are packed into blocks of this size (default 2MiB; 64KiB to
        1GiB)
    candidates: of so many free blocks that fit tightest the one is cut that loses least by it
        (default 8; 1 to 1000)
    edge: what free memory at the edge of a piece is worth, to that of a whole free piece (default
        0.5; 0 to 1)
    leftover: what a byte of a cut block's rest costs, to a byte of a whole free piece (default 0.5;
        0 to 100)
    worth: mapping one more piece is worth so much memory, as a share of the most that was live
        (default 0.0005; 0.000001 to 1)
    patience: stitched pieces for each 12 MiB of the most that was live, from which on the slack
        grows with each, to 0.08: the program fragments its memory faster than stitching pays
        (default 0.4; 0 to 1000000)
    mappings: second mappings of pieces that are kept for later requests (default 256; 0 to 1000000)
    expect: the most that the program is expected to have live, from a prediction or an earlier run:
        nearly all of it is taken in few large pieces before anything is stitched, and slack is for
        what is live beyond; 0 = unknown (default 0)
    limit: most that may be reserved, 0 = no limit (default 0)
    va_size: addresses that are reserved (default 8TiB; 64KiB to 64TiB)
    """
    return spec("extent", {
        "slack": slack,
        "handle": _size(handle),
        "slab": _size(slab),
        "candidates": candidates,
        "edge": edge,
        "leftover": leftover,
        "worth": worth,
        "patience": patience,
        "mappings": mappings,
        "expect": _size(expect),
        "limit": _size(limit),
        "va_size": _size(va_size),
    })


def rmm_pool(*, initial: Optional[Union[int, str]] = None,
             maximum: Optional[Union[int, str]] = None) -> str:
    """RMM's pool: best fit, free lists by stream, growth by doubling.

    Parameters
    ----------
    initial: what is taken at the first request, a multiple of 256 (default 0; 0 to 1TiB)
    maximum: what the pool may hold at most, a multiple of 256; 0 = no bound (default 0; 0 to 1TiB)
    """
    return spec("rmm-pool", {"initial": _size(initial), "maximum": _size(maximum)})


def rmm_arena(*, size: Optional[Union[int, str]] = None) -> str:
    """RMM's arena: one piece of memory, superblocks by stream, first fit.

    Parameters
    ----------
    size: what is taken at the first request, for good; 0 = half of what the device has free
        (default 0; 0 to 1TiB)
    """
    return spec("rmm-arena", {"size": _size(size)})


def rmm_binning(*, min: Optional[int] = None, max: Optional[int] = None,
                streams: Optional[Union[int, str]] = None) -> str:
    """RMM's bins: blocks of powers of two over RMM's pool.

    Parameters
    ----------
    min: the smallest bin has blocks of 2 to that power (default 18; 8 to 30)
    max: the largest bin has blocks of 2 to that power (default 22; 8 to 30)
    streams: streams whose lists in the pool are searched first, in that order: "3-2-1" (default
        none)
    """
    return spec("rmm-binning", {"min": min, "max": max, "streams": streams})


def rmm_fixed(*, block: Optional[Union[int, str]] = None, preallocate: Optional[int] = None) -> str:
    """RMM's fixed sizes: every request costs one block, first in, first out.

    Parameters
    ----------
    block: what every request costs, rounded up to a multiple of 256; larger ones are refused
        (default 1MiB; 1 to 1GiB)
    preallocate: blocks that are taken at once, at the first request and whenever none is free
        (default 128; 1 to 65536)
    """
    return spec("rmm-fixed", {"block": _size(block), "preallocate": preallocate})


def rmm_cuda_async(*, initial: Optional[Union[int, str]] = None,
                   threshold: Optional[Union[int, str]] = None) -> str:
    """RMM's view of the driver's pool: every call is cudaMallocAsync's.

    Parameters
    ----------
    initial: what is asked for and given back to the pool before the first request (default 0; 0 to
        1TiB)
    threshold: what the pool keeps when the device is awaited; 0 = everything (default 0; 0 to 1TiB)
    """
    return spec("rmm-cuda-async", {"initial": _size(initial), "threshold": _size(threshold)})


def cupy(*, limit: Optional[Union[int, str]] = None) -> str:
    """CuPy's pool: best fit in an arena for each stream, exact segments.

    Parameters
    ----------
    limit: what the pool may hold at most; 0 = no limit (default 0; 0 to 1TiB)
    """
    return spec("cupy", {"limit": _size(limit)})


def bfc(*, limit: Optional[Union[int, str]] = None, growth: Optional[bool] = None,
        gc: Optional[bool] = None, max_internal_frag: Optional[Union[int, str]] = None) -> str:
    """TensorFlow's and JAX's: best fit, regions that double, few cuts.

    Parameters
    ----------
    limit: what may be held at most; 0 = what the device has (default 0; 0 to 1TiB)
    growth: regions as they are needed; false: one region of all that may be held (default true)
    gc: regions of which nothing is in use go back before a request is refused (default true)
    max_internal_frag: a chunk is cut if so much would be left over, or half of it (default 128MiB;
        256 to 1TiB)
    """
    return spec("bfc", {
        "limit": _size(limit),
        "growth": growth,
        "gc": gc,
        "max_internal_frag": _size(max_internal_frag),
    })


def quick_pool(*, first: Optional[Union[int, str]] = None, next: Optional[Union[int, str]] = None,
               alignment: Optional[Union[int, str]] = None,
               coalesce: Optional[QuickPoolCoalesce] = None,
               threshold: Optional[int] = None) -> str:
    """Umpire's: best fit, exact cuts, one segment of many when all is free.

    Parameters
    ----------
    first: the least that is taken from the device while nothing is held (default 512MiB; 16 to
        1TiB)
    next: the least that is taken from the device later (default 1MiB; 16 to 1TiB)
    alignment: requests are rounded up to it, a power of two (default 16; 16 to 512)
    coalesce: after which frees unused segments become one: of what is held, or (hwm) of the most
        that was in use (default percent_releasable_hwm)
    threshold: so much of what is held, or so many segments, must be unused for that; 0 = never
        (percent or segments; default 100; 0 to 100)
    """
    return spec("quick-pool", {
        "first": _size(first),
        "next": _size(next),
        "alignment": _size(alignment),
        "coalesce": coalesce,
        "threshold": threshold,
    })


def tlsf(*, segment: Optional[Union[int, str]] = None, steps: Optional[int] = None) -> str:
    """Lists by size, two levels of bitmaps: a good fit in constant time.

    Parameters
    ----------
    segment: the least that is taken from the device at once, a multiple of 512 (default 32MiB; 512
        to 1TiB)
    steps: lists to an octave of sizes, a power of two (lists; default 32; 4 to 64)
    """
    return spec("tlsf", {"segment": _size(segment), "steps": steps})


def kv_pages(*, page: Optional[Union[int, str]] = None, slot: Optional[Union[int, str]] = None,
             limit: Optional[Union[int, str]] = None) -> str:
    """Slots of addresses whose pages stay mapped, as in pools for KV caches.

    Parameters
    ----------
    page: what is mapped at once, a power of two, a multiple of the device's granularity (default
        2MiB; 64KiB to 1GiB)
    slot: the least addresses that are reserved for a request (default 64MiB; 64KiB to 1TiB)
    limit: what pages may take at most; 0 = no limit (default 0; 0 to 1TiB)
    """
    return spec("kv-pages", {"page": _size(page), "slot": _size(slot), "limit": _size(limit)})


def plan(*, file: Optional[str] = None, segment: Optional[Union[int, str]] = None) -> str:
    """Addresses worked out beforehand from a run; what comes otherwise is best fit.

    Parameters
    ----------
    file: the plan, as `tidemark bound TRACE -o FILE` writes it; without one the trace that is
        replayed is planned before (default none)
    segment: the least that is taken at once for what comes otherwise than planned (default 32MiB;
        512 to 1TiB)
    """
    return spec("plan", {"file": file, "segment": _size(segment)})
