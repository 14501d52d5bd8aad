// Stores of libtidemark.so: buffers that move between the memory of a GPU, of the host, and files.
// A part of tidemark.h, which includes it and whose conventions hold here.
#pragma once

#include "replay/c_api/tidemark.h"

#ifdef __cplusplus
extern "C" {
#endif

/* Buffers of bytes in tiers: a GPU, pinned or plain host memory, files. A buffer that is accessed
 * stays where it is until the access is released; others leave for slower tiers when room is wanted
 * (core/tiers/store/tiered_store.h). */
typedef struct tm_store tm_store;
typedef struct tm_access tm_access;

typedef enum tm_tier { TM_TIER_GPU = 0, TM_TIER_HOST = 1, TM_TIER_DISK = 2 } tm_tier;

typedef struct tm_store_options {
    size_t struct_size;
    tm_context* gpu;     /* may be closed first; null: no GPU. A simulated one's memory is memory of
                            this process, at addresses that it can read and write */
    uint64_t gpu_bytes;  /* of that GPU's memory; with `gpu` not 0 */
    uint64_t host_bytes; /* not 0; pinned if there is a GPU */
    const char* directory; /* for files, which go when the store is closed; null: no such tier */
    uint64_t disk_bytes;   /* 0: as much as there is */
    const char* victims;   /* which buffer leaves: "lru", ... (tidemark victims); null: lru */
    uint64_t controller_patience; /* how long a pin waits for the reader of events (tm_store_watch)
                                     to make room, before the victims' policy does; 0: 50 ms */
    double spill_start; /* shares of the GPU's memory and, with files, of the host's: while more is
                           used than the first, buffers that nobody uses leave before room is */
    double spill_stop;  /* wanted, down to the second; 0: never, and down to the first */
    const char* prefetch; /* "learned": what the store's past says comes next is brought back before
                             it is wanted; "none"; null: as the victims' policy foresees */
} tm_store_options;

TM_API tm_status tm_store_open(const tm_store_options* options, tm_store** store);

/* Accesses that are not released yet stay valid, and the store ends with the last of them. Null is
 * closed without effect. Waits for copies and for queued work on the buffers. Errors: cancelled
 * (tm_set_waits): all that can be done with it then is to close it again. */
TM_API tm_status tm_store_close(tm_store* store);

/* How the functions of stores wait that are called by this thread from now on; null: as in the
 * beginning, for as long as it takes. A call whose wait ends early withdraws what it wanted and
 * fails with `cancelled`, and the error says what holds the room. */
typedef struct tm_wait_options {
    size_t struct_size;
    uint64_t timeout;               /* nanoseconds that one call waits at most; 0: no limit */
    int (*interrupted)(void* user); /* called by the thread that waits, some 20 times a second: not
                                       0: the wait ends (a signal has come, say); null: never */
    void* user;
} tm_wait_options;

TM_API tm_status tm_set_waits(const tm_wait_options* options);

/* Waits for room, rather than being refused, as long as somebody may let go of some: accesses are
 * open, memory is reserved, or copies are under way. */
#define TM_PATIENT 1u
#define TM_STAYS 2u         /* the buffer never leaves its tier */
#define TM_KEEPS_ADDRESS 4u /* of a GPU: see "Deferrable buffers" */

/* A new buffer of `bytes` in `tier`, its content undefined, charged to `reservation` if that is not
 * 0. `flags`: TM_PATIENT; TM_STAYS or TM_KEEPS_ADDRESS. One that keeps its address waits until
 * others let go of their pins, no longer than 30 s (cancelled). Errors: no_space. */
TM_API tm_status tm_buffer_create(tm_store* store, uint64_t bytes, tm_tier tier, uint32_t flags,
                                  uint64_t reservation, uint64_t* buffer);

/* Errors: not_found; bad_input: somebody has an access. One that keeps its address may be pinned:
 * it ends with its last pin. */
TM_API tm_status tm_buffer_destroy(tm_store* store, uint64_t buffer);

typedef enum tm_mode {
    TM_READ = 0,      /* shared */
    TM_WRITE = 1,     /* alone */
    TM_OVERWRITE = 2, /* alone, and the content does not matter: nothing is copied */
    TM_PIN = 3        /* stays there; says nothing about who reads or writes */
} tm_mode;

/* Brings the buffer to `tier` if it is elsewhere, and keeps it there until tm_access_release. On a
 * GPU its bytes are there for work queued on `stream` from now on. `flags`: TM_PATIENT. Errors:
 * no_space, not_found, io. Waits for copies. */
TM_API tm_status tm_buffer_acquire(tm_store* store, uint64_t buffer, tm_tier tier, tm_mode mode,
                                   tm_stream stream, uint32_t flags, tm_access** access);

/* Where the bytes are: on a GPU and on the disk's side one piece, in host memory perhaps several.
 * At most `capacity` are written; `count` is how many there are. */
typedef struct tm_piece {
    uint64_t address;
    uint64_t bytes;
} tm_piece;

TM_API tm_status tm_access_pieces(tm_access* access, tm_piece* pieces, size_t capacity,
                                  size_t* count);

/* Ends it after what is queued on its stream so far. Null is released without effect. */
TM_API void tm_access_release(tm_access* access);

/* Brings it there without keeping it, into room that there is. Errors: no_space. */
TM_API tm_status tm_buffer_prefetch(tm_store* store, uint64_t buffer, tm_tier tier);

/* Among the victims of a policy that looks at hints, lower ones leave first. */
TM_API tm_status tm_buffer_hint(tm_store* store, uint64_t buffer, int32_t hint);

/* After how many accesses of the store the buffer is used next, for policies that look at that
 * ("belady", "cost"). 0: nobody knows; UINT64_MAX: never. */
TM_API tm_status tm_buffer_next_use(tm_store* store, uint64_t buffer, uint64_t accesses);

/* Whether it stays where it is from now on, as with TM_STAYS. */
TM_API tm_status tm_buffer_stays(tm_store* store, uint64_t buffer, int stays);

/* A buffer over `bytes` of the program's own memory of the GPU, which outlives it: nothing is
 * charged for it there, it doesn't leave, and its end frees nothing. Others may have it in other
 * tiers. Errors: bad_option without a GPU. */
TM_API tm_status tm_buffer_adopt(tm_store* store, uint64_t address, uint64_t bytes,
                                 uint64_t* buffer);

/* The program begins something that has a name (a step, a layer): what learns from its past knows
 * it again. */
TM_API tm_status tm_store_mark(tm_store* store, const char* name);

/* The tiers with its content: 1 << TM_TIER_..., added. */
TM_API tm_status tm_buffer_tiers(tm_store* store, uint64_t buffer, uint32_t* tiers);

/* Sets memory of a tier aside. Errors: no_space (without TM_PATIENT). */
TM_API tm_status tm_reserve(tm_store* store, tm_tier tier, uint64_t bytes, uint32_t flags,
                            uint64_t* reservation);
TM_API tm_status tm_reservation_end(tm_store* store, uint64_t reservation);

/* Has buffers leave `tier` until `bytes` came free, as far as they may; `freed` is how far. */
TM_API tm_status tm_store_free_bytes(tm_store* store, tm_tier tier, uint64_t bytes,
                                     uint64_t* freed);

/* For programs that spill by themselves: whether a tier is too full, which buffers would leave it
 * next, and the leaving of one. `start` and `stop` are shares of the tier's capacity, above which
 * spilling is to begin and down to which it is to go on; 0: the store's own. */
typedef struct tm_tier_pressure {
    size_t struct_size;
    uint64_t used;
    uint64_t spill_start; /* bytes */
    uint64_t spill_stop;
    uint64_t excess;       /* what has to leave before it may stop */
    uint32_t should_spill; /* 1: more than spill_start is used */
    uint32_t reserved;
} tm_tier_pressure;

TM_API tm_status tm_store_pressure(tm_store* store, tm_tier tier, double start, double stop,
                                   tm_tier_pressure* pressure);

typedef struct tm_candidate {
    uint64_t buffer;
    uint64_t bytes;
    uint64_t freed; /* what would come free in the tier */
} tm_candidate;

/* Those that would leave for `bytes` by the policy of the store, in order; nothing leaves. At most
 * `capacity` are written; `count` is how many there are. */
TM_API tm_status tm_store_candidates(tm_store* store, tm_tier tier, uint64_t bytes,
                                     tm_candidate* candidates, size_t capacity, size_t* count);

/* Has the buffer leave `tier` for a slower one, and waits for the copy; `freed` is 0 if it is used,
 * stays or is not there. Errors: not_found; what a failed copy gave. */
TM_API tm_status tm_buffer_evict(tm_store* store, uint64_t buffer, tm_tier tier, uint64_t* freed);

typedef struct tm_tier_counters {
    size_t struct_size;
    uint64_t capacity;
    uint64_t used;       /* by buffers, at this moment */
    uint64_t reserved;   /* set aside and not used */
    uint64_t copied_out; /* to slower tiers */
    uint64_t copied_in;  /* from them */
    uint64_t evictions;  /* buffers that left to make room */
    uint64_t hits;       /* accesses that found the buffer here */
    uint64_t misses;
    uint64_t failed; /* copies */
} tm_tier_counters;

TM_API tm_status tm_store_counters(tm_store* store, tm_tier tier, tm_tier_counters* counters);

/* ---- Blocks of host memory ----------------------------------------------------------------------
 */

/* Host memory in blocks of one size, pinned where there is a GPU: pools of blocks are pinned as
 * they are needed, and a request gets a run of blocks, side by side or not
 * (core/tiers/host/host_blocks.h).
 */
typedef struct tm_blocks tm_blocks;
typedef struct tm_block_run tm_block_run;

typedef struct tm_blocks_options {
    size_t struct_size;
    tm_context* gpu; /* pinned for it, and open until the blocks are closed; null: plain memory */
    uint64_t block;  /* bytes, a multiple of 64; 0: 1 MiB */
    uint32_t blocks_per_pool; /* 0: 128 */
    uint32_t initial_pools;
    uint64_t capacity; /* bytes; what is not a whole block is not used */
} tm_blocks_options;

TM_API tm_status tm_blocks_open(const tm_blocks_options* options, tm_blocks** blocks);

/* Runs that are not freed yet stay valid, and the memory ends with the last of them. Null is closed
 * without effect. */
TM_API tm_status tm_blocks_close(tm_blocks* blocks);

/* Blocks for `bytes`, all or none. Errors: no_space; what pinning said. */
TM_API tm_status tm_blocks_alloc(tm_blocks* blocks, uint64_t bytes, tm_block_run** run);

/* Where they are, one piece a block: at most `capacity` are written; `count` is how many there are.
 * Not while another thread trims the run. */
TM_API tm_status tm_block_run_pieces(tm_block_run* run, tm_piece* pieces, size_t capacity,
                                     size_t* count);

/* Gives back the blocks that are not needed for `bytes`. */
TM_API tm_status tm_block_run_trim(tm_block_run* run, uint64_t bytes);

/* Null is freed without effect. */
TM_API void tm_block_run_free(tm_block_run* run);

/* Gives pools back that are free as a whole, as long as `keep` bytes stay pinned. */
TM_API tm_status tm_blocks_trim(tm_blocks* blocks, uint64_t keep, uint64_t* freed);

typedef struct tm_blocks_usage {
    size_t struct_size;
    uint64_t block; /* bytes */
    uint64_t used;  /* blocks in runs */
    uint64_t free;  /* blocks that are there and in no run */
    uint64_t pools;
    uint64_t peak;    /* blocks in runs at most */
    uint64_t refused; /* requests */
} tm_blocks_usage;

TM_API tm_status tm_blocks_look(tm_blocks* blocks, tm_blocks_usage* usage);

/* ---- Deferrable buffers ------------------------------------------------------------------------
 */

/* A buffer of the GPU tier that was created with TM_KEEPS_ADDRESS has one address for life, in
 * whole pages of 2 MiB. Its bytes are there while it is pinned, and anywhere in the tiers
 * otherwise; touching the address then faults. All functions above serve it too: an access in
 * another tier reads or changes it there (docs/deferrable.md). */

/* Pins all of `buffers` or none, and brings back those that are away. Waits for copies and, no
 * longer than `patience` nanoseconds (0: 30 s), until others let go; holds nothing meanwhile.
 * `mode`: TM_READ leaves other copies valid, so that leaving again may cost no copy; TM_WRITE and
 * TM_PIN don't; neither keeps others from pinning them. The pieces of the access are the buffers'
 * addresses, in order, each once; it ends by tm_access_release, and the buffers may leave after
 * what is queued on `stream` then. Errors: not_found; no_space: they can't fit together, which the
 * error lists; cancelled: the patience is over, or tm_store_stop; what a failed copy gave. About
 * 0.3 us where they are there. */
TM_API tm_status tm_buffer_pin(tm_store* store, const uint64_t* buffers, size_t count, tm_mode mode,
                               tm_stream stream, uint64_t patience, tm_access** access);

typedef enum tm_defer_answer {
    TM_DEFERRED = 0,
    TM_BUSY = 1, /* pinned, or queued work on it is not done */
    TM_AWAY = 2, /* it was not there */
    TM_NO_ROOM = 3
} tm_defer_answer;

/* Has it leave the GPU, and waits for the copy. `flags`: TM_PATIENT waits for queued work on it,
 * too, rather than being busy. Errors: not_found. */
TM_API tm_status tm_buffer_defer(tm_store* store, uint64_t buffer, uint32_t flags,
                                 tm_defer_answer* answer);

#define TM_MAKE_ROOM 8u /* others leave for it, rather than only into room that there is */

/* Brings it back without keeping it, and waits for that. `flags`: TM_MAKE_ROOM. Errors: not_found,
 * no_space, what a failed copy gave. */
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
    uint64_t bytes; /* as wanted */
    uint64_t address;
    uint64_t uses; /* pins ever */
    uint32_t pins; /* now */
    tm_buffer_state state;
    int32_t tier; /* the fastest that has its bytes, tm_tier; -1: none */
    uint32_t reserved;
} tm_buffer_facts;

/* Errors: not_found. */
TM_API tm_status tm_buffer_look(tm_store* store, uint64_t buffer, tm_buffer_facts* facts);

/* The buffer that the address lies in, wherever its bytes are. Errors: not_found. */
TM_API tm_status tm_buffer_at(tm_store* store, uint64_t address, uint64_t* buffer);

/* Those that keep their addresses, as of one moment: at most `capacity` are written; `count` is how
 * many there are. */
TM_API tm_status tm_store_deferrables(tm_store* store, tm_buffer_facts* facts, size_t capacity,
                                      size_t* count);

typedef struct tm_deferrable_statistics {
    size_t struct_size;
    uint64_t buffers;
    uint64_t bytes;
    uint64_t resident; /* of the buffers */
    uint64_t resident_bytes;
    uint64_t pins;   /* now */
    uint64_t uses;   /* pins ever, of the buffers that live */
    uint64_t waited; /* pins that were not granted at once */
    uint64_t deferrals;
    uint64_t retrievals;
    uint64_t failures;
    uint64_t pressures;  /* reported to the reader of events */
    uint64_t unrelieved; /* of them, after which there was no room still */
    uint64_t lost_events;
} tm_deferrable_statistics;

TM_API tm_status tm_store_statistics(tm_store* store, tm_deferrable_statistics* statistics);

/* What happens to them, for one reader that fetches it: nobody is called back. */
typedef enum tm_store_event_kind {
    TM_STORE_REGISTERED = 0,
    TM_STORE_DEFERRING = 1, /* its bytes are being copied away */
    TM_STORE_DEFERRED = 2,
    TM_STORE_RETRIEVING = 3, /* room for it has been found */
    TM_STORE_RETRIEVED = 4,
    TM_STORE_FAILED = 5,  /* a copy: the bytes are where they were */
    TM_STORE_FREED = 6,   /* no more of this buffer */
    TM_STORE_PRESSURE = 7 /* `bytes` are wanted that are not free (buffer 0) */
} tm_store_event_kind;

typedef struct tm_store_event {
    uint64_t buffer;
    uint64_t bytes;
    uint32_t kind; /* tm_store_event_kind */
    uint32_t reserved;
} tm_store_event;

/* Begins with a TM_STORE_REGISTERED for each buffer that there is. Errors: unsupported: there is a
 * reader already. */
TM_API tm_status tm_store_watch(tm_store* store);

/* Waits at most `patience` nanoseconds for the first. Fetching more says that what was fetched
 * before has been dealt with: whoever wants room goes on. `count` 0: nothing came, or it is over.
 */
TM_API tm_status tm_store_events(tm_store* store, uint64_t patience, tm_store_event* events,
                                 size_t capacity, size_t* count);
TM_API tm_status tm_store_unwatch(tm_store* store);

/* Refuses pins that wait and that are to come where they would have to wait (cancelled), and wakes
 * the reader of events; the rest goes on. */
TM_API tm_status tm_store_stop(tm_store* store);

/* No more work comes on the stream; its handle may be used again for another one. */
TM_API tm_status tm_stream_ended(tm_store* store, tm_stream stream);

/* Copies between addresses of the store's GPU that are pinned and memory of the host, or within
 * either, on `stream`; with `wait` until that is done. Errors: bad_option (no GPU), driver. */
TM_API tm_status tm_store_copy(tm_store* store, uint64_t target, uint64_t source, uint64_t bytes,
                               tm_stream stream, int wait);

#ifdef __cplusplus
}
#endif
