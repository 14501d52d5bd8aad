// libtidemark.so for C, and for every language that calls C.
//
// Contexts are allocators for programs: a policy on a GPU or on a simulated device. Traces are
// recordings, read as columns. tm_run asks what the program `tidemark` answers, in this process.
//
// Conventions. Every function that can fail gives a tm_status; tm_last_error says more, on the
// thread that called. Sizes are bytes, times nanoseconds, addresses integers. Text is UTF-8 and
// ends with a zero; it belongs to the object that gave it, and lives until that is freed or, where
// said so, until the next call. Structs begin with their size, set by the caller (TM_INIT does): a
// library that knows more fields leaves those alone that the caller does not have, and a caller
// that knows more finds them as it set them. Null for an options struct means its defaults.
//
// Thread-safety: all functions may be called from any thread, on the same object too, except where
// a function says otherwise; what frees an object must be its last call. Null for an object is a
// bad_option, or gives an empty text.
//
// No exception leaves the library, nothing is printed, no signal handler is installed, and CUDA is
// loaded when the first context on a GPU is opened.
#pragma once

#include <stddef.h>
#include <stdint.h>
#include <string.h>

#ifdef __cplusplus
extern "C" {
#endif

#define TM_API __attribute__((visibility("default")))

/* Grows when what a caller was compiled for would be misunderstood; new functions and new fields at
 * the end of structs don't change it. */
#define TM_ABI_VERSION 1

/* A struct of the library with its size set and all else zero: TM_INIT(tm_request, r); */
#define TM_INIT(type, name)           \
    type name;                        \
    memset(&(name), 0, sizeof(name)); \
    (name).struct_size = sizeof(name)

TM_API uint32_t tm_abi_version(void);
TM_API const char* tm_version(void); /* "0.1.0" */

/* The bytes of a struct of this file in this library, tm_struct_size("tm_request"), for bindings
 * that declare them anew; 0: it has none of that name. */
TM_API size_t tm_struct_size(const char* name);

/* Errors. Numbers are stable. */
typedef enum tm_status {
    TM_OK = 0,
    TM_OUT_OF_MEMORY = 1, /* ordinary: the policy or the device has no room, or a limit */
    TM_BAD_ADDRESS = 2,   /* freed already, inside an allocation, or none of ours */
    TM_BAD_OPTION = 3,    /* an argument that cannot be */
    TM_BAD_INPUT = 4,     /* a file that is not what it should be */
    TM_NOT_FOUND = 5,
    TM_IO = 6,
    TM_DRIVER = 7,
    TM_UNSUPPORTED = 8,
    TM_NO_SPACE = 9,
    TM_CANCELLED = 10, /* by a progress function */
    TM_INTERNAL = 11   /* this computer has no memory left, or a library threw */
} tm_status;

typedef struct tm_error {
    size_t struct_size;
    tm_status status;
    const char* what;  /* "unrecognized key 'spilt'" */
    const char* where; /* "policy torch", "run.pickle:0x1f40"; may be "" */
    const char* hint;  /* "did you mean split?"; may be "" */
} tm_error;

/* The last failure on this thread; TM_OK if there was none. Its text lives until the thread's next
 * failure. Returns its status. */
TM_API tm_status tm_last_error(tm_error* error);

/* Says how far long work is, now and then, from the thread that called; `total` 0 = not known. Any
 * result but 0 asks for the end: the call then gives TM_CANCELLED, or what it has so far. It must
 * not call the library. */
typedef int (*tm_progress)(void* user, const char* label, uint64_t done, uint64_t total);

/* ---- Contexts: memory for a program ---------------------------------------------------------- */

/* A stream as CUDA knows it: a CUstream or cudaStream_t as an integer; 0 and 1 are the legacy
 * default stream, 2 (that of the calling thread) is taken as unknown. On a simulated device any
 * number is a stream. A program may destroy a stream as soon as its calls about it have returned,
 * but one of tm_record_use or tm_buffer_acquire: that lives as long as the context. A context with
 * several streams records an event for each free on one that isn't the default stream. */
typedef uint64_t tm_stream;

/* "Nobody knows": memory requested so may be used on any stream at once, and memory freed so is
 * used again after all work that the device had by then is done. Slower than a known stream. */
#define TM_STREAM_UNKNOWN UINT64_MAX

/* Of tm_free only: the stream of the request, which the program may have destroyed since. Its
 * handle is not used, so another stream gets the memory after all work that the device has by
 * then; where the stream is still there, naming it is better. */
#define TM_STREAM_OF_REQUEST (UINT64_MAX - 1)

typedef struct tm_context tm_context;

typedef struct tm_context_options {
    size_t struct_size;
    const char* machine; /* "cuda:0", "sim", "sim:h200"; null: cuda:0 if there is one, else sim */
    const char* policy;  /* "extent", "torch:max_split_size_mb=64"; null: extent on a GPU that can,
                            else torch */
    uint64_t memory;     /* of a simulated device; 0: as large as its card */
    uint64_t limit;      /* on the bytes requested and not freed; 0: none */
    uint64_t thread_cache; /* bytes that each thread keeps for itself; 0: as fits the device, none
                              where it is recorded; TM_CACHE_NONE */
    const char* record;    /* a live recording of that name is published (see docs/format-live.md),
                              or into that file: what has a '/' or ends in .tml; null: none */
    int overwrite;         /* what is there under that file's name; else it is an error */
    uint32_t streams;      /* that tm_stream_acquire makes before it waits; 0: 16 */
} tm_context_options;

#define TM_CACHE_NONE UINT64_MAX

/* Errors: not_found (no GPU), bad_option (policy, machine), driver. Milliseconds on a GPU. */
TM_API tm_status tm_context_open(const tm_context_options* options, tm_context** context);

/* Gives unused memory back. What still lives stays valid until the process ends; its number is put
 * into `leaked` if that is not null. Null is closed without effect. */
TM_API tm_status tm_context_close(tm_context* context, uint64_t* leaked);

/* "cuda:0", "NVIDIA H200"; lives as long as the context. */
TM_API const char* tm_context_machine(const tm_context* context);
TM_API const char* tm_context_device_name(const tm_context* context);
TM_API const char* tm_context_policy(const tm_context* context); /* with its options */

/* A request of 0 bytes is granted an odd address that no other has: no memory, freed without
 * effect. Without it the address is null. */
#define TM_UNIQUE_EMPTY 1u

typedef struct tm_request {
    size_t struct_size;
    uint64_t bytes;
    uint64_t alignment; /* a power of two; 0 = 512 */
    tm_stream stream;
    uint32_t pool;     /* a private pool, see tm_pool_begin; 0: the program's memory */
    uint32_t flags;    /* TM_UNIQUE_EMPTY */
    uint32_t tag;      /* of the caller; tm_base_of gives it again */
    uint32_t reserved; /* 0 */
} tm_request;

/* Grants `request`; its address, and in `granted` (may be null) what it costs. Errors:
 * out_of_memory, bad_option (alignment). About 0.1 us from a thread's cache. */
TM_API tm_status tm_alloc(tm_context* context, const tm_request* request, uint64_t* address,
                          uint64_t* granted);

/* Takes back what was granted at `address`, after the work queued on `stream` and on those of
 * tm_record_use. `bytes` is what was requested, or 0 if the caller does not know; another size than
 * that is a bad_address, and nothing is freed. Null is freed without effect. */
TM_API tm_status tm_free(tm_context* context, uint64_t address, uint64_t bytes, tm_stream stream);

/* `stream` uses the allocation at `address` too. Errors: bad_option for a stream that nobody knows:
 * such memory is freed on TM_STREAM_UNKNOWN. */
TM_API tm_status tm_record_use(tm_context* context, uint64_t address, tm_stream stream);

/* What recordings call the requests of `tag` from now on: a library, a part of the program. ""
 * leaves them without a name. Does nothing in a context that records nothing. */
TM_API tm_status tm_name_tag(tm_context* context, uint32_t tag, const char* name);

/* Ends the recording of a context that has one (tm_context_options::record): what is left is
 * recorded, and what comes is not. The context goes on; a second call does nothing. For programs
 * that end without closing it. From any thread. Errors: io. */
TM_API tm_status tm_end_recording(tm_context* context);

/* Called where a request would be refused, by the thread that made it and with no lock held: it may
 * free memory, here or elsewhere. `attempt` counts from 0 for each request. 0: the request is
 * refused; else it is made again. Requests that it makes itself are refused without it. */
typedef int (*tm_oom_handler)(void* user, uint64_t bytes, uint32_t attempt);

/* From now on, instead of the one before; null: none. A call that is under way may still end. */
TM_API tm_status tm_set_oom_handler(tm_context* context, tm_oom_handler handler, void* user);

/* Streams of the context's own, each for one user at a time, and not synchronized with the default
 * stream. Where all are in use it waits until one is released, as long as tm_set_waits says, or
 * with TM_GROW makes one more. They live as long as the context. Errors: cancelled, driver. */
#define TM_GROW 16u
TM_API tm_status tm_stream_acquire(tm_context* context, uint32_t flags, tm_stream* stream);

/* The next to acquire it gets it with the work that is queued on it. Errors: not_found: nobody has
 * acquired it. */
TM_API tm_status tm_stream_release(tm_context* context, tm_stream stream);

/* Gives unused memory back to the device: without waiting for it, or (`wait`) after that. */
TM_API tm_status tm_trim(tm_context* context, int wait);

typedef struct tm_block {
    size_t struct_size;
    uint64_t address; /* where it begins */
    uint64_t requested;
    uint64_t granted;
    tm_stream stream;
    uint32_t pool;
    uint32_t tag;
    uint64_t number; /* of its request, rising for each thread */
} tm_block;

/* The living allocation that `address` is in. Errors: bad_address. */
TM_API tm_status tm_base_of(tm_context* context, uint64_t address, tm_block* block);

typedef enum tm_region_state {
    TM_REGION_ALLOCATED = 0,
    TM_REGION_WAITING = 1, /* let go, and the device is not done with it */
    TM_REGION_FREE = 2,
    TM_REGION_HOLE = 3 /* can't be granted before a trim */
} tm_region_state;

/* A piece of what the context holds of the device; the pieces of a segment follow each other. */
typedef struct tm_region {
    uint64_t address;
    uint64_t bytes;
    uint64_t requested; /* of an allocated one */
    uint64_t segment;   /* where the segment begins that it lies in */
    uint64_t segment_bytes;
    tm_stream stream;
    uint32_t pool;
    uint32_t state;      /* tm_region_state */
    uint32_t expandable; /* 1: the segment is pages that are mapped, and grows and shrinks */
    uint32_t reserved;
} tm_region;

/* All of them, of about one moment: at most `capacity` are written; `count` is how many there are.
 * O(regions). */
TM_API tm_status tm_context_regions(tm_context* context, tm_region* regions, size_t capacity,
                                    size_t* count);

typedef struct tm_statistics {
    size_t struct_size;
    uint64_t reserved;  /* held from the device */
    uint64_t allocated; /* granted, after rounding */
    uint64_t active;    /* allocated, or freed and awaited by the device */
    uint64_t requested;
    uint64_t cached; /* freed, and kept by threads */
    uint64_t live;   /* allocations */
    uint64_t peak_reserved;
    uint64_t peak_allocated_least; /* with thread caches a peak is known as a range */
    uint64_t peak_allocated_most;
    uint64_t peak_requested_least;
    uint64_t peak_requested_most;
    uint64_t granted; /* requests */
    uint64_t hits;    /* of those, from a thread's cache */
    uint64_t refused;
    uint64_t freed;
    uint64_t retries; /* caches emptied, and the device tried again */
    uint64_t segments_created;
    uint64_t segments_released;
    uint64_t device_free; /* what the device says at this moment */
    uint64_t device_total;
    uint64_t deferred; /* bytes whose free waits to be made: of unknown streams, or as the policy
                          option defer_frees says */
    uint64_t deferred_peak;
    uint64_t flushes;         /* batches of such frees */
    uint64_t plan_deviations; /* requests of pools that came otherwise than tm_pool_plan said */
} tm_statistics;

/* Everything of one moment; all other calls wait for it. */
TM_API tm_status tm_statistics_of(tm_context* context, tm_statistics* statistics);

/* Peaks begin anew with what is there now. */
TM_API tm_status tm_reset_peaks(tm_context* context);

/* On the bytes requested and not freed; 0 lifts it. */
TM_API tm_status tm_set_limit(tm_context* context, uint64_t bytes);

/* Private pools, as graph captures and MemPools have them (core/allocator/allocator.h): requests
 * say their pool themselves; scopes nest and repeat. A stream that was captured in a scope lives
 * until the scope has ended. A closed pool's memory goes back with the next trim. `pool` is any
 * number but 0. */
TM_API tm_status tm_pool_begin(tm_context* context, uint32_t pool);
TM_API tm_status tm_pool_end(tm_context* context, uint32_t pool);
TM_API tm_status tm_pool_close(tm_context* context, uint32_t pool);

/* One request of a pool, known from a run before. */
typedef struct tm_planned {
    uint64_t bytes;
    uint64_t alignment; /* a power of two; 0 = 512 */
    tm_stream stream;
    uint32_t begin; /* positions: requests and frees of the pool, counted together */
    uint32_t end;
    uint32_t escapes; /* 1: it outlives the capture, and `end` does not matter */
    uint32_t reserved;
} tm_planned;

/* The requests that are going to come to the pool, in order, before the first of them: policies
 * that plan
 * ("arena:mode=planned") then use bytes again within the pool. Requests that come otherwise are
 * served apart, and counted (tm_statistics::plan_deviations). Errors: unsupported: the policy plans
 * no pools; bad_input: a request that ends before it begins, or no power of two. */
TM_API tm_status tm_pool_plan(tm_context* context, uint32_t pool, const tm_planned* requests,
                              size_t count);

/* From now on the GPU `device` (its number for CUDA) reads and writes all memory of the context, as
 * cudaDeviceEnablePeerAccess does for memory of cudaMalloc alone. Does nothing on a simulated
 * device. Errors: driver. */
TM_API tm_status tm_peer_access(tm_context* context, int device);

/* Memory for other processes on the same GPU. A handle is of the whole piece of memory that
 * `address` lies in, `offset` is where in it; tm_ipc_open maps it here until tm_ipc_close. Errors:
 * unsupported on simulated devices and for policies on virtual memory. */
typedef struct tm_ipc_handle {
    size_t struct_size;
    uint64_t offset;
    uint8_t bytes[64];
} tm_ipc_handle;

TM_API tm_status tm_ipc_export(tm_context* context, uint64_t address, tm_ipc_handle* handle);
TM_API tm_status tm_ipc_open(tm_context* context, const tm_ipc_handle* handle, uint64_t* address);
TM_API tm_status tm_ipc_close(tm_context* context, uint64_t address);

/* ---- Buffers that may leave the GPU ------------------------------------------------------------
 */

#include "replay/c_api/tidemark_store.h"

/* ---- Policies of the caller -------------------------------------------------------------------
 */

/* The device of one run of a policy, with the memory that the policy holds there. Valid between
 * `create` and the end of `destroy`, for the thread that calls the policy. */
typedef struct tm_policy_device tm_policy_device;

/* Memory from the device, and back to it; what is granted lies in such a piece. Errors:
 * out_of_memory, driver; bad_address for what is no piece or has a grant in it; bad_option (null,
 * of tm_policy_order too). */
TM_API tm_status tm_policy_malloc(tm_policy_device* device, uint64_t bytes, uint64_t* address);
TM_API tm_status tm_policy_free(tm_policy_device* device, uint64_t address);

/* Work that is queued on the stream `after` from now on waits for what is queued on `before`. */
TM_API tm_status tm_policy_order(tm_policy_device* device, uint32_t before, uint32_t after);

/* A policy as functions. `self` is what `create` gave, one for each run; runs may be made by
 * several threads at once, each with its own. Streams are numbers, 0 is the default stream. The
 * device is done with a freed block on the stream that it was granted to, whoever used it: the
 * library sees to that. A policy that grants memory of one stream to another calls tm_policy_order
 * itself (--check finds where it did not). Functions that may be null are marked. */
typedef struct tm_policy {
    size_t struct_size;
    const char* name;    /* letters, digits, '_', '-' */
    const char* summary; /* one line; may be null */
    void* user;
    void* (*create)(void* user, tm_policy_device* device); /* null: it cannot be made */
    void (*destroy)(void* self);                           /* may be null */
    /* 0: granted, at *address and of *granted bytes, at least `bytes`. Else: no memory. */
    int (*allocate)(void* self, uint64_t bytes, uint64_t alignment, uint32_t stream, uint32_t pool,
                    uint64_t* address, uint64_t* granted);
    void (*deallocate)(void* self, uint64_t address, uint64_t granted, uint32_t stream);
    void (*trim)(void* self, int wait); /* may be null: gives unused memory back */
    /* What the policy did wrong (it granted what it does not hold, or twice): the request is then
     * refused. May be null. */
    void (*fault)(void* self, const char* what);
} tm_policy;

/* Makes it known by its name: in tm_run ("-p", NAME) and in tm_context_options. The same name again
 * replaces the functions for runs that begin later. At most 64 names a process. Errors: bad_option
 * (the name of a policy of ours, a missing function), no_space. */
TM_API tm_status tm_policy_register(const tm_policy* policy);

/* ---- Traces -----------------------------------------------------------------------------------
 */

typedef struct tm_trace tm_trace;

typedef struct tm_trace_options {
    size_t struct_size;
    int strict;           /* the first oddity is an error */
    int lenient;          /* malformed records are skipped and counted */
    int as_recorded;      /* without what can be inferred of events that the recording lost */
    tm_progress progress; /* may be null; `done` are bytes */
    void* user;
} tm_trace_options;

/* Reads a recording in any format that `tidemark` knows, or "generate:NAME:options". */
TM_API tm_status tm_trace_open(const char* path, const tm_trace_options* options, tm_trace** trace);
TM_API void tm_trace_close(tm_trace* trace); /* null too */

/* All events as columns, in order of time. Pointers are valid while the trace is open, for `count`
 * elements each. What the numbers mean: traces/model/event.h, docs/format-tmk.md. */
typedef struct tm_columns {
    size_t struct_size;
    uint64_t count;
    const uint64_t* time;    /* ns since the first event */
    const uint64_t* size;    /* bytes */
    const uint64_t* address; /* as recorded; 0 = unknown */
    const uint32_t* slot;    /* of the allocation; 0xffffffff = none */
    const uint32_t* stream;
    const uint32_t* stack; /* for tm_trace_stack; 0 = none */
    const uint32_t* aux;
    const uint32_t* tag; /* for tm_trace_string; 0 = none */
    const uint16_t* device;
    const uint8_t* kind; /* for tm_event_kind */
    const uint8_t* flags;
} tm_columns;

/* The first call gathers them (48 bytes an event); O(1) then. Errors: bad_input (a damaged file).
 */
TM_API tm_status tm_trace_columns(tm_trace* trace, tm_columns* columns);

/* "allocate", "free", ...; "unknown". */
TM_API const char* tm_event_kind(uint8_t kind);

/* What is known of the trace but its events: a JSON object with `format`, `source`, `event_count`,
 * `duration_ns`, `start_time_ns`, `devices`, `streams`, `pools`, `settings`, `metadata`,
 * `warnings`, `hash` and `strings` and `stacks` (their numbers). Lives as long as the trace. */
TM_API const char* tm_trace_info(tm_trace* trace);

/* A string by its number: bytes, which need not be UTF-8 nor end with a zero. */
TM_API tm_status tm_trace_string(tm_trace* trace, uint32_t number, const char** text,
                                 size_t* length);

typedef struct tm_frame {
    uint32_t function; /* strings, by number */
    uint32_t file;
    uint32_t line;
} tm_frame;

/* The frames of a stack, innermost first: at most `capacity` are written; `count` is how many it
 * has. */
TM_API tm_status tm_trace_stack(tm_trace* trace, uint32_t number, tm_frame* frames, size_t capacity,
                                size_t* count);

/* ---- Files ------------------------------------------------------------------------------------
 */

typedef enum tm_file_kind {
    TM_FILE_OTHER = 0,
    TM_FILE_RECORDING = 1,
    TM_FILE_PICTURE = 2 /* a PNG */
} tm_file_kind;

/* Whether a file may be written, as commands decide it: one that is there is replaced by one of the
 * same kind, but a recording by nothing, unless `overwrite` says so. For programs that write files
 * themselves. Errors: bad_option; io: it can't be written at all. */
TM_API tm_status tm_check_output(const char* path, tm_file_kind kind, int overwrite);

/* ---- Recorder ---------------------------------------------------------------------------------
 */

/* What another allocator does, as a live recording: a .tml file that every command reads and that
 * survives the program's death, and which `tidemark view --attach` follows (docs/format-live.md). A
 * process has one recorder, that of a context (tm_context_options::record) counts too. A child made
 * by fork() records nothing. */
typedef struct tm_recorder tm_recorder;

typedef struct tm_recorder_options {
    size_t struct_size;
    const char* name;       /* of the program in lists; null: its file name */
    const char* path;       /* of the recording; null: one of its own in the folder of recordings */
    uint64_t history_limit; /* bytes on the disk; beyond them the oldest part goes, and the
                               recording is PATH-000001.tml and so on. 0: all is kept */
    uint32_t devices;       /* 1 to 16; 0: one, of unknown name and size */
    uint32_t rings;         /* threads that can record at the same time; 0: 64 */
    const char* const* device_names;   /* so many; null: unknown */
    const uint64_t* device_capacities; /* so many; null: unknown */
    int overwrite;                     /* what is there under that path; else it is an error */
} tm_recorder_options;

/* Errors: unsupported (the process has a recorder), bad_option (also where `path` is there), io. */
TM_API tm_status tm_recorder_open(const tm_recorder_options* options, tm_recorder** recorder);

/* Records what is left and ends the recording. No other function of this recorder may run
 * meanwhile. Null is closed without effect. Errors: io. */
TM_API tm_status tm_recorder_close(tm_recorder* recorder);

/* The file, with a history limit without its number; and the file that viewers attach to. */
TM_API const char* tm_recorder_path(const tm_recorder* recorder);
TM_API const char* tm_recorder_shared_path(const tm_recorder* recorder);

/* The kinds of docs/format-live.md, by its numbers. */
typedef enum tm_event_record {
    TM_EVENT_ALLOCATE = 1, /* address, size = requested, extra = granted */
    TM_EVENT_FREE = 2,     /* address, size = granted */
    TM_EVENT_REFUSED = 3, /* size = requested, extra = cause, address = bytes the device had free */
    TM_EVENT_RECORD_USE = 4,
    TM_EVENT_TRIM = 5,
    TM_EVENT_FREE_REQUESTED = 6, /* address, size = requested: a free in two steps */
    TM_EVENT_FREE_COMPLETED = 7,
    TM_EVENT_SEGMENT_ALLOC = 8, /* address, size: memory from the device */
    TM_EVENT_SEGMENT_FREE = 9,
    TM_EVENT_RESERVE = 10, /* addresses without memory */
    TM_EVENT_UNRESERVE = 11,
    TM_EVENT_MAP = 12, /* extra = where the same memory is mapped too and counts; 0: here */
    TM_EVENT_UNMAP = 13,
    /* Something that the GPU ran touched a block: address, size = 1 (reads), 2 (writes) or 3
     * (both), extra = the launch (uses with the same number belong together), tag = its name. */
    TM_EVENT_USE = 14,
    /* tag = the operator that asks for the device's next allocation, and its arguments' shapes. */
    TM_EVENT_OPERATION = 21,
    TM_EVENT_LIVE_BLOCK = 48, /* what lived before anything was recorded: as 1, 8, 12 */
    TM_EVENT_LIVE_SEGMENT = 49,
    TM_EVENT_LIVE_MAPPING = 51,
    TM_EVENT_LIVE_RETIRED = 52 /* a block whose free is requested */
} tm_event_record;

typedef struct tm_event {
    size_t struct_size;
    uint64_t stream; /* the program's handle; 0 = the default stream */
    uint64_t address;
    uint64_t size;
    uint64_t extra;
    uint32_t pool;   /* private; 0 = the program's memory */
    uint32_t tag;    /* of tm_recorder_string; 0 = none */
    uint32_t stack;  /* of tm_recorder_stack; 0 = none */
    uint16_t device; /* below tm_recorder_options::devices */
    uint16_t kind;   /* tm_event_record */
} tm_event;

/* Records an event, inside whatever lock decides the order of events among threads. Some 20 ns:
 * takes no lock, never waits, and allocates only where a stream or a site is new to the thread. An
 * event that finds no room is dropped and counted, which is no error. Errors: bad_option (kind,
 * device). */
TM_API tm_status tm_recorder_event(tm_recorder* recorder, const tm_event* event);

/* A stretch of the program that has a name begins or (`ends`) ends; a point. */
TM_API tm_status tm_recorder_range(tm_recorder* recorder, const char* name, int ends);
TM_API tm_status tm_recorder_mark(tm_recorder* recorder, const char* text);

/* Ids for tm_event, in O(length): the same text and the same stack give the thread the same id, and
 * ids of one thread may be used by all. 0: there is no room for it now. */
TM_API uint32_t tm_recorder_string(tm_recorder* recorder, const char* text);

typedef struct tm_recorded_frame {
    const char* function;
    const char* file;
    uint32_t line;
} tm_recorded_frame;

TM_API uint32_t tm_recorder_stack(tm_recorder* recorder, const tm_recorded_frame* frames,
                                  size_t count); /* innermost first, at most 256 */

/* What is known of the program or (`of_allocator`) of the settings of what is recorded; docs say
 * which names have a meaning. The last of a key counts. Errors: no_space. */
TM_API tm_status tm_recorder_setting(tm_recorder* recorder, const char* key, const char* value,
                                     int of_allocator);

typedef struct tm_recorder_counts {
    size_t struct_size;
    uint64_t published; /* records that found room */
    uint64_t dropped;   /* and those that didn't */
    uint64_t lost;      /* of the published: could not be written, or never came */
} tm_recorder_counts;

TM_API tm_status tm_recorder_count(const tm_recorder* recorder, tm_recorder_counts* counts);

/* ---- Questions --------------------------------------------------------------------------------
 */

typedef struct tm_answer tm_answer;

typedef struct tm_run_options {
    size_t struct_size;
    tm_progress progress; /* may be null */
    void* user;
    tm_trace* const* traces; /* open ones, until the answer: an argument that is the path of such a
                                trace means it, and the file is not read again where it would be
                                read in the same way (strict, lenient) */
    size_t trace_count;
} tm_run_options;

/* Runs `tidemark ARGUMENTS...` in this process (without the program's name): with --json its output
 * is the object that docs/json.md describes. TM_OK is an answer, whose exit code is 0, 1 (the
 * answer is no), 4 (a request was out of memory) or 130 (ended early: what was complete by then);
 * where the program would end with another one, the status and tm_last_error say why. Several may
 * run at once, in threads. `view`, `live` and commands that read standard input are unsupported. */
TM_API tm_status tm_run(const char* const* arguments, size_t count, const tm_run_options* options,
                        tm_answer** answer);
TM_API const char* tm_answer_output(const tm_answer* answer, size_t* length);
TM_API const char* tm_answer_notes(const tm_answer* answer); /* what it said on standard error */
TM_API int tm_answer_exit_code(const tm_answer* answer);
TM_API void tm_answer_free(tm_answer* answer); /* null too */

#ifdef __cplusplus
}
#endif
