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
    initial: memory that is requested from the pool and freed again before the first request
        (default 0; 0 to 1TiB)
    """
    return spec("cuda-async", {"threshold": threshold, "initial": _size(initial)})


def bump(*, segment: Optional[Union[int, str]] = None, alignment: Optional[Union[int, str]] = None,
         release_empty: Optional[bool] = None) -> str:
    """Never reuses an address: the lower bound on an allocator's own cost.

    Parameters
    ----------
    segment: size of the segments that are reserved from the device (default 256MiB; 512 to 1TiB)
    alignment: addresses and sizes are multiples of this power of two (default 512; 16 to 1GiB)
    release_empty: release a segment as soon as no block in it is live (default true)
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
    segment: smallest segment that is reserved from the device (default 32MiB; 512 to 1TiB)
    split: a block is split if at least this much would be left over (default 512; 512 to 1TiB)
    """
    return spec("best-fit", {"segment": _size(segment), "split": _size(split)})


def buddy(*, min_block: Optional[Union[int, str]] = None,
          segment: Optional[Union[int, str]] = None) -> str:
    """Blocks are powers of two, halved on demand; only twins join again.

    Parameters
    ----------
    min_block: the smallest block, a power of two (default 512; 512 to 1GiB)
    segment: what is reserved from the device at once, a power of two (default 32MiB; 512 to 1TiB)
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
        version 2.6 always 20 (MiB; default 20; 20 to any)
    roundup_power2_divisions: round requests up to this many steps between powers of two: one
        number, or a list [256:1,512:2,>:8] by MiB; numbers are powers of two, 0 and 1 = off
        (default 0)
    garbage_collection_threshold: release old unused blocks when more than this fraction of the
        limit is reserved; below 1; 0 = off; needs a limit (default 0; 0 to 1)
    large_segment_size_mb: size of the segments that requests from 1 MiB to 10 MiB are cut from
        (MiB; default 20; 11 to 1000000)
    per_process_memory_fraction: limit on reserved bytes as a fraction of the device's memory; 0 =
        never set; 1 = no limit from version 2.9 on, all of the memory before (default 0; 0 to 1)
    backend: native is PyTorch's own allocator; cudaMallocAsync leaves everything to the driver's
        pool (default native)
    graph_capture_record_stream_reuse: no effect here: recordings don't say what a captured graph's
        topology lets the allocator reuse (default false)
    release_lock_on_cudamalloc: no effect here: only racing threads notice it (default false)
    throw_on_cudamalloc_oom: a request beyond per_process_memory_fraction or limit fails before any
        cache is emptied for it; from version 2.12 on (default false)
    expandable_segments_reserve: address space that an expandable segment reserves, which no request
        may exceed: a fraction of the device's memory (0.5) or GiB (40G); off = 9/8 of the memory,
        which is also the maximum; from version 2.13 on (default off)
    expandable_segments_reserve_by_class: no effect here: recordings don't say which class a stream
        has (default off)
    release_lock_on_hipmalloc: no effect here: only racing threads notice it (default false)
    pinned_use_hip_host_register: no effect here: host memory (default false)
    pinned_max_cached_size_mb: no effect here: host memory (MiB; default 0)
    pinned_max_round_threshold_mb: no effect here: host memory (MiB; default 0)
    pinned_free_catch_all: no effect here: host memory (default false)
    pinned_use_cuda_host_register: no effect here: host memory (default false)
    pinned_num_register_threads: no effect here: host memory (default 1)
    pinned_use_background_threads: no effect here: host memory (default false)
    pinned_reserve_segment_size_mb: no effect here: host memory (MiB; default 0)
    pinned_max_power2_size_mb: no effect here: host memory (MiB; default 0)
    version: version of PyTorch to follow where versions differ (default 2.11)
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
    page: size of a page, a multiple of the device's granularity; 0 = the granularity; smaller
        requests go to the device's own pool (default 0; 0 to 1TiB)
    va_size: address space that is reserved at once, a multiple of the page; a request that needs
        more reserves more (default 8TiB; 1 to 256TiB)
    pages: pages that are created at the start (default 0; 0 to 1000000000)
    harvest: document: the free region before the new addresses stays, the stream's other regions
        move whole, new pages come last; source: new pages come first, then what is missing, page by
        page from the oldest regions (default document)
    growth: what to do when no region fits: wait = move all free memory, other streams' too, before
        making pages; grow = make pages while there is memory; cost = move, but wait only for
        regions of worth_waiting bytes (default wait)
    worth_waiting: with growth=cost: wait for another stream's region only if it has at least this
        size, else make new pages (default 128MiB)
    soft_limit: reserved bytes beyond which growth works as with wait, 0 = none (default 0)
    limit: most that may be reserved, 0 = no limit (default 0)
    waste: a free region is split for a request only if it is at most this many times as large, or
        if nothing else is left; 0 = any (default 0; 0 to 1000000)
    capture: while a graph is captured, requests that no free region serves: reject = they fail (out
        of memory), survive = new pages serve them (default reject)
    peers: other devices that may read and write the pages: a list, [1,2], or their number, 2
        (default [])
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
    """Numr's arena: private pools in arenas that grow in place, bump or planned; free lists of
    exact sizes for the rest (RMM's arena is rmm-arena).

    Parameters
    ----------
    mode: how private pools place requests: each address only once (bump), or by a plan made from a
        dry run (planned) (default bump)
    arena: size of each private pool's arena, reserved at its first request; 0 = the arena grows
        (default 0; 0 to 1TiB)
    share: none: each private pool has its own arena; sequence: all share one, since their graphs
        never run together (default none)
    escapes: whether blocks that outlive a planned capture get bytes of their own (apart), or may
        reuse the bytes of blocks that were freed before (default apart)
    free_list_cap_mb: most that the free lists keep; beyond it, the oldest buffer of the largest
        size goes to the driver's pool (MiB; default 1024; 0 to 1048576)
    pool_release_threshold_mb: what the driver's pool keeps when the program waits for the device
        (MiB; default 512; 0 to 1048576)
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
    slack: reserved memory may exceed the most that was ever live by this share before free parts
        are stitched together; more is faster (default 0.03; 0 to 10)
    handle: without `expect`: size of the largest piece of physical memory, or 1/64 of the most that
        was live if that is more; smaller pieces are easier to combine, but cost more driver calls
        (default 256MiB; 64KiB to 1TiB)
    slab: requests below half of this size are packed into blocks of this size (default 2MiB; 64KiB
        to 1GiB)
    candidates: of this many tightest-fitting free blocks, the one that loses least by it is split
        (default 8; 1 to 1000)
    edge: worth of free memory at the edge of a piece, relative to a whole free piece (default 0.5;
        0 to 1)
    leftover: cost of a byte left over from a split block, relative to a byte of a whole free piece
        (default 0.5; 0 to 100)
    worth: mapping one more piece is worth this much memory, as a share of the most that was live
        (default 0.0005; 0.000001 to 1)
    patience: stitched pieces per 12 MiB of the most that was live; beyond this number each further
        piece raises the slack, up to 0.08, since the program fragments its memory too fast for
        stitching to pay (default 0.4; 0 to 1000000)
    mappings: how many second mappings of pieces are kept for later requests (default 256; 0 to
        1000000)
    expect: the most memory that is expected to be live, from a prediction or an earlier run: nearly
        all of it is reserved in a few large pieces before anything is stitched, and slack applies
        to what is live beyond it; 0 = unknown (default 0)
    limit: most that may be reserved, 0 = no limit (default 0)
    va_size: address space that is reserved (default 8TiB; 64KiB to 64TiB)
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
    initial: memory that the pool reserves at the first request, a multiple of 256 (default 0; 0 to
        1TiB)
    maximum: most that the pool may reserve, a multiple of 256; 0 = no bound (default 0; 0 to 1TiB)
    """
    return spec("rmm-pool", {"initial": _size(initial), "maximum": _size(maximum)})


def rmm_arena(*, size: Optional[Union[int, str]] = None) -> str:
    """RMM's arena: one piece of memory, superblocks by stream, first fit.

    Parameters
    ----------
    size: memory that the arena reserves at the first request and keeps; 0 = half of the device's
        free memory (default 0; 0 to 1TiB)
    """
    return spec("rmm-arena", {"size": _size(size)})


def rmm_binning(*, min: Optional[int] = None, max: Optional[int] = None,
                streams: Optional[Union[int, str]] = None) -> str:
    """RMM's bins: blocks of powers of two over RMM's pool.

    Parameters
    ----------
    min: the smallest bin has blocks of 2 to this power (default 18; 8 to 30)
    max: the largest bin has blocks of 2 to this power (default 22; 8 to 30)
    streams: streams whose lists in the pool are searched first, in that order: "3-2-1" (default
        none)
    """
    return spec("rmm-binning", {"min": min, "max": max, "streams": streams})


def rmm_fixed(*, block: Optional[Union[int, str]] = None, preallocate: Optional[int] = None) -> str:
    """RMM's fixed sizes: every request takes one block, first in, first out.

    Parameters
    ----------
    block: size of the block that every request takes, rounded up to a multiple of 256; larger
        requests fail (default 1MiB; 1 to 1GiB)
    preallocate: blocks that are reserved at once, at the first request and whenever none is free
        (default 128; 1 to 65536)
    """
    return spec("rmm-fixed", {"block": _size(block), "preallocate": preallocate})


def rmm_cuda_async(*, initial: Optional[Union[int, str]] = None,
                   threshold: Optional[Union[int, str]] = None) -> str:
    """RMM's wrapper of the driver's pool: every request calls cudaMallocAsync.

    Parameters
    ----------
    initial: memory that is requested from the pool and freed again before the first request
        (default 0; 0 to 1TiB)
    threshold: what the pool keeps when the program waits for the device; 0 = everything (default 0;
        0 to 1TiB)
    """
    return spec("rmm-cuda-async", {"initial": _size(initial), "threshold": _size(threshold)})


def cupy(*, limit: Optional[Union[int, str]] = None) -> str:
    """CuPy's pool: best fit in an arena for each stream, exact segments.

    Parameters
    ----------
    limit: most that the pool may reserve; 0 = no limit (default 0; 0 to 1TiB)
    """
    return spec("cupy", {"limit": _size(limit)})


def bfc(*, limit: Optional[Union[int, str]] = None, growth: Optional[bool] = None,
        gc: Optional[bool] = None, max_internal_frag: Optional[Union[int, str]] = None) -> str:
    """TensorFlow's and JAX's: best fit, regions that double, few cuts.

    Parameters
    ----------
    limit: most that may be reserved; 0 = as much as the device has (default 0; 0 to 1TiB)
    growth: reserve regions as they are needed; false: one region of everything that may be reserved
        (default true)
    gc: release unused regions before a request fails (default true)
    max_internal_frag: a chunk is split if at least this much would be left over, or half of the
        chunk (default 128MiB; 256 to 1TiB)
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
    """Umpire's: best fit, exact cuts, merges its segments into one when all are free.

    Parameters
    ----------
    first: smallest segment that is reserved while the pool holds nothing (default 512MiB; 16 to
        1TiB)
    next: smallest segment that is reserved later (default 1MiB; 16 to 1TiB)
    alignment: requests are rounded up to a multiple of this, a power of two (default 16; 16 to 512)
    coalesce: when a free merges the unused segments into one, and up to which total: what the pool
        held before, or (hwm) the most that was ever in use (default percent_releasable_hwm)
    threshold: how much of what the pool holds, or how many segments, must be unused for that; 0 =
        never (percent or segments; default 100; 0 to 100)
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
    segment: smallest segment that is reserved from the device, a multiple of 512 (default 32MiB;
        512 to 1TiB)
    steps: lists for each octave of sizes, a power of two (lists; default 32; 4 to 64)
    """
    return spec("tlsf", {"segment": _size(segment), "steps": steps})


def kv_pages(*, page: Optional[Union[int, str]] = None, slot: Optional[Union[int, str]] = None,
             limit: Optional[Union[int, str]] = None) -> str:
    """Slots of addresses whose pages stay mapped, as in pools for KV caches.

    Parameters
    ----------
    page: size of a page, the unit of mapping: a power of two and a multiple of the device's
        granularity (default 2MiB; 64KiB to 1GiB)
    slot: least address space that is reserved for a request (default 64MiB; 64KiB to 1TiB)
    limit: most memory that pages may take; 0 = no limit (default 0; 0 to 1TiB)
    """
    return spec("kv-pages", {"page": _size(page), "slot": _size(slot), "limit": _size(limit)})


def plan(*, file: Optional[str] = None, segment: Optional[Union[int, str]] = None) -> str:
    """Addresses planned beforehand from a run; best fit for requests that deviate.

    Parameters
    ----------
    file: the plan, as `tidemark bound TRACE -o FILE` writes it; without it, the replay plans its
        own trace first (default none)
    segment: smallest segment that is reserved for requests that deviate from the plan (default
        32MiB; 512 to 1TiB)
    """
    return spec("plan", {"file": file, "segment": _size(segment)})
