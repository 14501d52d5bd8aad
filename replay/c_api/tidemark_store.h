// Stores of libtidemark.so: buffers that move between the memory of a GPU, host memory, and files.
// A part of tidemark.h, which includes it; the conventions of tidemark.h apply.
#pragma once

#include "replay/c_api/tidemark.h"

#ifdef __cplusplus
extern "C" {
#endif

/* Buffers of bytes in tiers: a GPU, pinned or plain host memory, files. A buffer that is being
 * accessed stays where it is until the access is released. Other buffers are evicted to slower
 * tiers when room is needed (core/tiers/store/tiered_store.h). */
typedef struct tm_store tm_store;
typedef struct tm_access tm_access;

typedef enum tm_tier { TM_TIER_GPU = 0, TM_TIER_HOST = 1, TM_TIER_DISK = 2 } tm_tier;

typedef struct tm_store_options {
    size_t struct_size;
    tm_context* gpu;       /* null: no GPU tier. May be closed before the store. The memory of a
                              simulated GPU is memory of this process, which can access it at the
                              same addresses */
    uint64_t gpu_bytes;    /* capacity of the GPU tier; with `gpu` not 0 */
    uint64_t host_bytes;   /* capacity of the host tier, not 0; pinned memory if there is a GPU */
    const char* directory; /* for the disk tier's files, which are deleted when the store is closed;
                              null: no disk tier */
    uint64_t disk_bytes;   /* capacity of the disk tier; 0: whatever the disk has room for */
    const char* victims;   /* policy that chooses which buffer to evict: "lru", ... (see `tidemark
                              victims`); null: lru */
    uint64_t controller_patience; /* nanoseconds that a pin waits for the reader of events
                                     (tm_store_watch) to make room, before the victims' policy makes
                                     it; 0: 50 ms */
    /* Evicting ahead of need, as shares of the capacity of the GPU tier and, with files, of the
     * host tier. While more than `spill_start` is used, unused buffers are evicted, until no more
     * than `spill_stop` is used. 0: never, and down to spill_start. */
    double spill_start;
    double spill_stop;
    const char* prefetch; /* "learned": brings back early what the store's past says is used next;
                             "none"; null: as the victims' policy foresees */
} tm_store_options;

TM_API tm_status tm_store_open(const tm_store_options* options, tm_store** store);

/* Closes the store after waiting for copies and for queued work on its buffers. Accesses that are
 * not released yet stay valid, and the store's memory is freed with the last of them. A null store
 * is closed without effect. Errors: cancelled (tm_set_waits): after that, the only valid call is to
 * close the store again. */
TM_API tm_status tm_store_close(tm_store* store);

/* How calls wait that this thread makes from now on: those of stores, and tm_stream_acquire. Null
 * restores the default, which waits as long as it takes. A call whose wait ends early withdraws its
 * request and fails with `cancelled`; the error says what holds the room. */
typedef struct tm_wait_options {
    size_t struct_size;
    uint64_t timeout;               /* nanoseconds that one call waits at most; 0: no limit */
    int (*interrupted)(void* user); /* called by the waiting thread about 20 times a second; return
                                       not 0 to end the wait (after a signal, say); null: never */
    void* user;
} tm_wait_options;

TM_API tm_status tm_set_waits(const tm_wait_options* options);

/* Wait for room instead of failing, as long as room may still come free: while accesses are open,
 * memory is reserved, or copies are under way. */
#define TM_PATIENT 1u
#define TM_STAYS 2u         /* the buffer never leaves its tier */
#define TM_KEEPS_ADDRESS 4u /* of a GPU: see "Deferrable buffers" */

/* Creates a buffer of `bytes` in `tier`. Its content is undefined. If `reservation` is not 0, the
 * bytes are charged to it. `flags`: TM_PATIENT; TM_STAYS or TM_KEEPS_ADDRESS. With TM_KEEPS_ADDRESS
 * the call waits up to 30 s until others release their pins, then fails with cancelled. Errors:
 * no_space. */
TM_API tm_status tm_buffer_create(tm_store* store, uint64_t bytes, tm_tier tier, uint32_t flags,
                                  uint64_t reservation, uint64_t* buffer);

/* Destroys a buffer. One that keeps its address may be pinned: it is freed with its last pin.
 * Errors: not_found; bad_input: an access to the buffer is open. */
TM_API tm_status tm_buffer_destroy(tm_store* store, uint64_t buffer);

typedef enum tm_mode {
    TM_READ = 0,      /* shared */
    TM_WRITE = 1,     /* exclusive */
    TM_OVERWRITE = 2, /* exclusive, and the old content does not matter: nothing is copied */
    TM_PIN = 3        /* stays there; says nothing about who reads or writes */
} tm_mode;

/* Moves the buffer to `tier` if it is elsewhere, and keeps it there until tm_access_release. Waits
 * for copies. On a GPU, work that is queued on `stream` from now on finds the bytes there. `flags`:
 * TM_PATIENT. Errors: no_space, not_found, io. */
TM_API tm_status tm_buffer_acquire(tm_store* store, uint64_t buffer, tm_tier tier, tm_mode mode,
                                   tm_stream stream, uint32_t flags, tm_access** access);

/* Where the bytes are: one piece on a GPU and for the disk tier, perhaps several in host memory.
 * Writes at most `capacity` pieces, and their total number to `count`. */
typedef struct tm_piece {
    uint64_t address;
    uint64_t bytes;
} tm_piece;

TM_API tm_status tm_access_pieces(tm_access* access, tm_piece* pieces, size_t capacity,
                                  size_t* count);

/* Ends the access after the work that is queued on its stream so far. A null access is released
 * without effect. */
TM_API void tm_access_release(tm_access* access);

/* Copies the buffer to `tier` if there is free room, and does not keep it there. Errors: no_space.
 */
TM_API tm_status tm_buffer_prefetch(tm_store* store, uint64_t buffer, tm_tier tier);

/* For a victims' policy that uses hints: it evicts buffers with lower hints first. */
TM_API tm_status tm_buffer_hint(tm_store* store, uint64_t buffer, int32_t hint);

/* After how many accesses of the store the buffer is used next, for policies that use that
 * ("belady", "cost"). 0: unknown; UINT64_MAX: never. */
TM_API tm_status tm_buffer_next_use(tm_store* store, uint64_t buffer, uint64_t accesses);

/* Whether the buffer stays where it is from now on, as with TM_STAYS. */
TM_API tm_status tm_buffer_stays(tm_store* store, uint64_t buffer, int stays);

/* Creates a buffer over `bytes` of the program's own GPU memory, which must outlive the buffer. The
 * store does not charge or evict that memory, and destroying the buffer does not free it. Others
 * may access copies of it in other tiers. Errors: bad_option without a GPU. */
TM_API tm_status tm_buffer_adopt(tm_store* store, uint64_t address, uint64_t bytes,
                                 uint64_t* buffer);

/* The program starts something that has a name (a step, a layer). A forecast that learns from the
 * store's past recognizes it by that name. */
TM_API tm_status tm_store_mark(tm_store* store, const char* name);

/* The tiers that have the buffer's content: the sum of 1 << TM_TIER_... */
TM_API tm_status tm_buffer_tiers(tm_store* store, uint64_t buffer, uint32_t* tiers);

/* Reserves memory of a tier. Errors: no_space (without TM_PATIENT). */
TM_API tm_status tm_reserve(tm_store* store, tm_tier tier, uint64_t bytes, uint32_t flags,
                            uint64_t* reservation);
TM_API tm_status tm_reservation_end(tm_store* store, uint64_t reservation);

/* Evicts buffers from `tier` until `bytes` are freed, or no more can be evicted. Writes the number
 * of bytes that it freed to `freed`. */
TM_API tm_status tm_store_free_bytes(tm_store* store, tm_tier tier, uint64_t bytes,
                                     uint64_t* freed);

/* For programs that spill by themselves: tm_store_pressure shows whether a tier is too full,
 * tm_store_candidates which buffers would be evicted next, and tm_buffer_evict evicts one. `start`
 * and `stop` are shares of the tier's capacity: spilling starts above `start` and goes on down to
 * `stop`. 0: the store's own. */
typedef struct tm_tier_pressure {
    size_t struct_size;
    uint64_t used;         /* bytes */
    uint64_t spill_start;  /* bytes */
    uint64_t spill_stop;   /* bytes */
    uint64_t excess;       /* bytes to evict before spilling may stop */
    uint32_t should_spill; /* 1: more than spill_start is used */
    uint32_t reserved;
} tm_tier_pressure;

TM_API tm_status tm_store_pressure(tm_store* store, tm_tier tier, double start, double stop,
                                   tm_tier_pressure* pressure);

typedef struct tm_candidate {
    uint64_t buffer;
    uint64_t bytes;
    uint64_t freed; /* bytes that its eviction would free in the tier */
} tm_candidate;

/* The buffers that the store's policy would evict to free `bytes`, in order. Evicts nothing. Writes
 * at most `capacity` candidates, and their total number to `count`. */
TM_API tm_status tm_store_candidates(tm_store* store, tm_tier tier, uint64_t bytes,
                                     tm_candidate* candidates, size_t capacity, size_t* count);

/* Evicts the buffer from `tier` to a slower one, and waits for the copy. `freed` is 0 if the buffer
 * is in use, stays, or is not in the tier. Errors: not_found; the error of a failed copy. */
TM_API tm_status tm_buffer_evict(tm_store* store, uint64_t buffer, tm_tier tier, uint64_t* freed);

typedef struct tm_tier_counters {
    size_t struct_size;
    uint64_t capacity;   /* bytes */
    uint64_t used;       /* bytes of buffers, now */
    uint64_t reserved;   /* bytes that are reserved and not used */
    uint64_t copied_out; /* bytes to slower tiers */
    uint64_t copied_in;  /* bytes from them */
    uint64_t evictions;  /* of buffers, to make room */
    uint64_t hits;       /* accesses that found the buffer here */
    uint64_t misses;
    uint64_t failed; /* copies */
} tm_tier_counters;

TM_API tm_status tm_store_counters(tm_store* store, tm_tier tier, tm_tier_counters* counters);

/* ---- Blocks of host memory ----------------------------------------------------------------------
 */

/* Host memory in blocks of one size, pinned where there is a GPU. Whole pools of blocks are pinned
 * as they are needed. A request gets a run of blocks, which need not be adjacent
 * (core/tiers/host/host_blocks.h).
 */
typedef struct tm_blocks tm_blocks;
typedef struct tm_block_run tm_block_run;

typedef struct tm_blocks_options {
    size_t struct_size;
    tm_context* gpu; /* the memory is pinned for it; must stay open until the blocks are closed;
                        null: plain memory */
    uint64_t block;  /* bytes, a multiple of 64; 0: 1 MiB */
    uint32_t blocks_per_pool; /* 0: 128 */
    uint32_t initial_pools;
    uint64_t capacity; /* bytes; a rest that is smaller than a block is not used */
} tm_blocks_options;

TM_API tm_status tm_blocks_open(const tm_blocks_options* options, tm_blocks** blocks);

/* Runs that are not freed yet stay valid, and the memory is freed with the last of them. Null is
 * closed without effect. */
TM_API tm_status tm_blocks_close(tm_blocks* blocks);

/* Allocates blocks for `bytes`, all or none. Errors: no_space; the error of a failed pinning. */
TM_API tm_status tm_blocks_alloc(tm_blocks* blocks, uint64_t bytes, tm_block_run** run);

/* Where the run's blocks are, one piece a block. Writes at most `capacity` pieces, and their total
 * number to `count`. Must not run while another thread trims the run. */
TM_API tm_status tm_block_run_pieces(tm_block_run* run, tm_piece* pieces, size_t capacity,
                                     size_t* count);

/* Frees the blocks that are not needed for `bytes`. */
TM_API tm_status tm_block_run_trim(tm_block_run* run, uint64_t bytes);

/* Null is freed without effect. */
TM_API void tm_block_run_free(tm_block_run* run);

/* Releases pools that are entirely free, as long as `keep` bytes stay pinned. Writes the number of
 * bytes that it released to `freed`. */
TM_API tm_status tm_blocks_trim(tm_blocks* blocks, uint64_t keep, uint64_t* freed);

typedef struct tm_blocks_usage {
    size_t struct_size;
    uint64_t block; /* bytes of one */
    uint64_t used;  /* blocks in runs */
    uint64_t free;  /* existing blocks in no run */
    uint64_t pools;
    uint64_t peak;    /* the most blocks that were in runs */
    uint64_t refused; /* requests that failed */
} tm_blocks_usage;

TM_API tm_status tm_blocks_look(tm_blocks* blocks, tm_blocks_usage* usage);

/* ---- Deferrable buffers ------------------------------------------------------------------------
 */

/* A buffer of the GPU tier that was created with TM_KEEPS_ADDRESS has the same address for its
 * whole lifetime, in whole pages of 2 MiB. While it is pinned, its bytes are at that address.
 * Otherwise they may be in any tier, and touching the address faults. All functions above work on
 * it too: an access in another tier reads or changes it there (docs/deferrable.md). */

/* Pins all of `buffers` or none, and brings back those that are not on the GPU. Waits for copies,
 * and at most `patience` nanoseconds (0: 30 s) until others release what they hold; it holds
 * nothing meanwhile. About 0.3 us if the buffers are there.
 *
 * `mode`: TM_READ leaves copies in other tiers valid, so that the next eviction may need no copy;
 * TM_WRITE and TM_PIN don't. Neither keeps others from pinning the buffers. The pieces of the
 * access are the buffers' addresses, in order, each once. tm_access_release ends it; the buffers
 * may leave after the work that is queued on `stream` at that time.
 *
 * Errors: not_found; no_space: the buffers can't fit together, and the error lists them; cancelled:
 * the patience is over, or tm_store_stop; the error of a failed copy. */
TM_API tm_status tm_buffer_pin(tm_store* store, const uint64_t* buffers, size_t count, tm_mode mode,
                               tm_stream stream, uint64_t patience, tm_access** access);

typedef enum tm_defer_answer {
    TM_DEFERRED = 0,
    TM_BUSY = 1, /* it is pinned, or queued work on it is not done */
    TM_AWAY = 2, /* it was not on the GPU */
    TM_NO_ROOM = 3
} tm_defer_answer;

/* Moves the buffer off the GPU, and waits for the copy. `flags`: TM_PATIENT also waits for queued
 * work on the buffer, instead of answering TM_BUSY. Errors: not_found. */
TM_API tm_status tm_buffer_defer(tm_store* store, uint64_t buffer, uint32_t flags,
                                 tm_defer_answer* answer);

#define TM_MAKE_ROOM 8u /* evict others for it, instead of using free room only */

/* Brings the buffer back to the GPU and waits for the copy, but does not keep it there. `flags`:
 * TM_MAKE_ROOM. Errors: not_found, no_space, the error of a failed copy. */
TM_API tm_status tm_buffer_retrieve(tm_store* store, uint64_t buffer, uint32_t flags);

typedef enum tm_buffer_state {
    TM_STATE_RESIDENT = 0,
    TM_STATE_PINNED = 1,
    TM_STATE_DEFERRING = 2,
    TM_STATE_DEFERRED = 3,
    TM_STATE_RETRIEVING = 4,
    TM_STATE_FREED = 5
} tm_buffer_state;

typedef struct tm_buffer_facts {
    size_t struct_size;
    uint64_t buffer;
    uint64_t bytes; /* as requested */
    uint64_t address;
    uint64_t uses; /* pins so far */
    uint32_t pins; /* now */
    tm_buffer_state state;
    int32_t tier; /* the fastest that has its bytes, tm_tier; -1: none */
    uint32_t reserved;
} tm_buffer_facts;

/* Errors: not_found. */
TM_API tm_status tm_buffer_look(tm_store* store, uint64_t buffer, tm_buffer_facts* facts);

/* The buffer that contains the address, wherever its bytes are. Errors: not_found. */
TM_API tm_status tm_buffer_at(tm_store* store, uint64_t address, uint64_t* buffer);

/* All buffers that keep their addresses, as of one moment. Writes at most `capacity` of them, and
 * their total number to `count`. */
TM_API tm_status tm_store_deferrables(tm_store* store, tm_buffer_facts* facts, size_t capacity,
                                      size_t* count);

typedef struct tm_deferrable_statistics {
    size_t struct_size;
    uint64_t buffers;
    uint64_t bytes;
    uint64_t resident; /* of the buffers */
    uint64_t resident_bytes;
    uint64_t pins;   /* now */
    uint64_t uses;   /* pins so far, of the buffers that exist */
    uint64_t waited; /* pins that had to wait */
    uint64_t deferrals;
    uint64_t retrievals;
    uint64_t failures;
    uint64_t pressures;  /* reported to the reader of events */
    uint64_t unrelieved; /* pressures after which there was still no room */
    uint64_t lost_events;
} tm_deferrable_statistics;

TM_API tm_status tm_store_statistics(tm_store* store, tm_deferrable_statistics* statistics);

/* What happens to deferrable buffers, for one reader that fetches it; there are no callbacks. */
typedef enum tm_store_event_kind {
    TM_STORE_REGISTERED = 0,
    TM_STORE_DEFERRING = 1, /* its bytes are being copied away */
    TM_STORE_DEFERRED = 2,
    TM_STORE_RETRIEVING = 3, /* room for it has been found */
    TM_STORE_RETRIEVED = 4,
    TM_STORE_FAILED = 5,  /* a copy failed: the bytes are where they were */
    TM_STORE_FREED = 6,   /* the last event of this buffer */
    TM_STORE_PRESSURE = 7 /* `bytes` are needed that are not free (buffer 0) */
} tm_store_event_kind;

typedef struct tm_store_event {
    uint64_t buffer;
    uint64_t bytes;
    uint32_t kind; /* tm_store_event_kind */
    uint32_t reserved;
} tm_store_event;

/* Makes the caller the reader of events. The first events are a TM_STORE_REGISTERED for each
 * existing buffer. Errors: unsupported: there is a reader already. */
TM_API tm_status tm_store_watch(tm_store* store);

/* Fetches events; waits at most `patience` nanoseconds for the first. Each call also reports to the
 * store that the reader has dealt with the events of its earlier calls, so pins that wait for room
 * go on. A `count` of 0: no event came, or there will be none (tm_store_stop). */
TM_API tm_status tm_store_events(tm_store* store, uint64_t patience, tm_store_event* events,
                                 size_t capacity, size_t* count);
TM_API tm_status tm_store_unwatch(tm_store* store);

/* Makes pins that wait fail with cancelled, and later ones that would have to wait; wakes the
 * reader of events. Everything else goes on. */
TM_API tm_status tm_store_stop(tm_store* store);

/* Declares that no more work comes on the stream. Its handle may be used again for another
 * stream. */
TM_API tm_status tm_stream_ended(tm_store* store, tm_stream stream);

/* Copies on `stream` between pinned addresses of the store's GPU and host memory, or within either;
 * if `wait` is not 0, waits until the copy is done. Errors: bad_option (no GPU), driver. */
TM_API tm_status tm_store_copy(tm_store* store, uint64_t target, uint64_t source, uint64_t bytes,
                               tm_stream stream, int wait);

#ifdef __cplusplus
}
#endif
