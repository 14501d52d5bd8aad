// libtidemark.so for C, and for every language that calls C.
//
// Contexts are allocators for programs: a policy on a GPU or on a simulated device. Stores are
// buffers that move between GPU, host and disk. Traces are recordings, read as columns. tm_run runs
// a `tidemark` command in this process.
//
// Conventions. Every function that can fail returns a tm_status; tm_last_error describes the
// failure on the thread that made the call. Sizes are in bytes, times in nanoseconds, addresses are
// integers. Text is UTF-8 and zero-terminated. It belongs to the object that returned it, and is
// valid until that object is freed or, where a comment says so, until the next call. Every struct
// starts with its size, which the caller sets (TM_INIT does). So a library that is newer than the
// caller leaves out the fields that the caller's struct does not have, and an older one leaves the
// fields that it does not know as the caller set them. A null options struct means the defaults.
//
// Thread-safety. Any thread may call any function, also on the same object at the same time, except
// where a comment says otherwise. The call that frees an object must be the last one that uses it.
// A null object is a bad_option, or returns an empty text.
//
// No exception leaves the library, it prints nothing and installs no signal handler. It loads CUDA
// when the program opens its first context on a GPU.
#pragma once

#include <stddef.h>
#include <stdint.h>
#include <string.h>

#ifdef __cplusplus
extern "C" {
#endif

#define TM_API __attribute__((visibility("default")))

/* Grows when a compiled caller and the library would misunderstand each other. New functions, and
 * new fields at the end of structs, don't change it. */
#define TM_ABI_VERSION 1

/* Declares a struct of the library with its size set and all else zero: TM_INIT(tm_request, r); */
#define TM_INIT(type, name)           \
    type name;                        \
    memset(&(name), 0, sizeof(name)); \
    (name).struct_size = sizeof(name)

TM_API uint32_t tm_abi_version(void);
TM_API const char* tm_version(void); /* "0.2.0" */

/* The size in bytes of a struct of this header in the loaded library, tm_struct_size("tm_request");
 * 0 if the library has no struct of that name. For bindings that declare the structs themselves. */
TM_API size_t tm_struct_size(const char* name);

/* Errors. The numbers are stable. */
typedef enum tm_status {
    TM_OK = 0,
    TM_OUT_OF_MEMORY = 1, /* ordinary: no room in the policy or on the device, or a limit */
    TM_BAD_ADDRESS = 2,   /* already freed, inside an allocation, or not from this context */
    TM_BAD_OPTION = 3,    /* an invalid argument */
    TM_BAD_INPUT = 4,     /* a file with invalid content */
    TM_NOT_FOUND = 5,
    TM_IO = 6,
    TM_DRIVER = 7,
    TM_UNSUPPORTED = 8,
    TM_NO_SPACE = 9,
    TM_CANCELLED = 10, /* by a progress function, or a wait that ended early */
    TM_INTERNAL = 11   /* this computer has no memory left, or a library threw an exception */
} tm_status;

typedef struct tm_error {
    size_t struct_size;
    tm_status status;
    const char* what;  /* "unrecognized key 'spilt'" */
    const char* where; /* "policy torch", "run.pickle:0x1f40"; may be "" */
    const char* hint;  /* "did you mean split?"; may be "" */
} tm_error;

/* Writes the last failure on this thread to `error`, and returns its status; TM_OK if there was
 * none. The texts are valid until the next failure on this thread. */
TM_API tm_status tm_last_error(tm_error* error);

/* Reports the progress of long work from time to time, on the thread that made the call; `total` is
 * 0 if it is not known. Any result but 0 cancels the work: the call then returns TM_CANCELLED, or
 * what it has so far. The function must not call the library. */
typedef int (*tm_progress)(void* user, const char* label, uint64_t done, uint64_t total);

/* ---- Contexts: memory for a program ---------------------------------------------------------- */

/* A CUDA stream: a CUstream or cudaStream_t as an integer. 0 and 1 are the legacy default stream;
 * 2, the per-thread default stream, is treated as TM_STREAM_UNKNOWN. On a simulated device any
 * number is a stream.
 *
 * A program may destroy a stream as soon as its calls that name the stream have returned. The
 * exception is a stream passed to tm_record_use or tm_buffer_acquire: it must stay until the
 * context is closed. A context that has seen several streams records a CUDA event for each free on
 * one that is not the default stream. */
typedef uint64_t tm_stream;

/* The stream is not known. Memory requested on it may be used on any stream at once. Memory freed
 * on it is reused only after all work that the device had at that time is done. This is slower. */
#define TM_STREAM_UNKNOWN UINT64_MAX

/* For tm_free only: the stream of the request, which the program may have destroyed since. The
 * library does not use its handle, so another stream can reuse the memory only after all work that
 * the device has by then. If the stream still exists, better pass the stream itself. */
#define TM_STREAM_OF_REQUEST (UINT64_MAX - 1)

typedef struct tm_context tm_context;

typedef struct tm_context_options {
    size_t struct_size;
    const char* machine;   /* "cuda:0", "sim", "sim:h200"; null: cuda:0 if there is one, else sim */
    const char* policy;    /* "extent", "torch:max_split_size_mb=64"; null: extent on a GPU that
                              supports it, else torch */
    uint64_t memory;       /* bytes of a simulated device; 0: as much as its card has */
    uint64_t limit;        /* on the bytes that are requested and not freed; 0: none */
    uint64_t thread_cache; /* bytes that each thread caches; 0: a size that fits the device, or no
                              cache if the context is recorded; TM_CACHE_NONE: no cache */
    const char* record;    /* null: no recording. A name publishes a live recording of that name
                              (docs/format-live.md); a path, which contains a '/' or ends in .tml,
                              records into that file */
    int overwrite;         /* not 0: `record` may replace an existing file; 0: that is an error */
    uint32_t streams;      /* that tm_stream_acquire creates before it waits for one; 0: 16 */
} tm_context_options;

#define TM_CACHE_NONE UINT64_MAX

/* Opens a context. Takes milliseconds on a GPU. Errors: not_found (no GPU), bad_option (policy,
 * machine), driver. */
TM_API tm_status tm_context_open(const tm_context_options* options, tm_context** context);

/* Closes a context and releases its unused memory to the device. Live allocations stay valid until
 * the process ends; their number is written to `leaked`, which may be null. A null context is
 * closed without effect. */
TM_API tm_status tm_context_close(tm_context* context, uint64_t* leaked);

/* "cuda:0", "NVIDIA H200", and the policy with its options. Valid until the context is closed. */
TM_API const char* tm_context_machine(const tm_context* context);
TM_API const char* tm_context_device_name(const tm_context* context);
TM_API const char* tm_context_policy(const tm_context* context);

/* A flag of tm_request: a request of 0 bytes returns a unique odd address. It has no memory, and
 * freeing it has no effect. Without the flag the address is null. */
#define TM_UNIQUE_EMPTY 1u

typedef struct tm_request {
    size_t struct_size;
    uint64_t bytes;
    uint64_t alignment; /* a power of two; 0: 512 */
    tm_stream stream;
    uint32_t pool;     /* a private pool, see tm_pool_begin; 0: the program's memory */
    uint32_t flags;    /* TM_UNIQUE_EMPTY */
    uint32_t tag;      /* the caller's own number; tm_base_of returns it */
    uint32_t reserved; /* 0 */
} tm_request;

/* Allocates memory: writes its address to `address`, and its size after rounding to `granted`,
 * which may be null. About 0.1 us from a thread's cache. Errors: out_of_memory, bad_option
 * (alignment), driver. */
TM_API tm_status tm_alloc(tm_context* context, const tm_request* request, uint64_t* address,
                          uint64_t* granted);

/* Frees the allocation at `address`, after the work that is queued on `stream` and on the streams
 * named to tm_record_use. `bytes` is the requested size, or 0 if the caller does not know it; with
 * another size the call is a bad_address and frees nothing. Freeing null has no effect. */
TM_API tm_status tm_free(tm_context* context, uint64_t address, uint64_t bytes, tm_stream stream);

/* Declares that `stream` uses the allocation at `address` too. Errors: bad_option for an unknown
 * stream (free such memory on TM_STREAM_UNKNOWN instead), bad_address. */
TM_API tm_status tm_record_use(tm_context* context, uint64_t address, tm_stream stream);

/* Names the requests with `tag` in recordings from now on: a library, or a part of the program. ""
 * removes the name. Has no effect in a context that is not recorded. */
TM_API tm_status tm_name_tag(tm_context* context, uint32_t tag, const char* name);

/* Ends the context's recording (tm_context_options::record): writes the events that are still to be
 * written, and records no later ones. The context stays usable; a second call has no effect. For
 * programs that end without closing the context. Any thread may call it. Errors: io. */
TM_API tm_status tm_end_recording(tm_context* context);

/* Called when a request is about to fail with out_of_memory, on the thread that made it and without
 * a lock held, so it may free memory of this context or of others. `attempt` counts from 0 for each
 * request. Return 0 to let the request fail, anything else to retry it. Requests that the function
 * itself makes fail without calling it again. */
typedef int (*tm_oom_handler)(void* user, uint64_t bytes, uint32_t attempt);

/* Replaces the context's handler; null: none. A call of the old handler may still be running on
 * another thread. */
TM_API tm_status tm_set_oom_handler(tm_context* context, tm_oom_handler handler, void* user);

/* Takes a stream from the context's own pool, for one user at a time. These streams do not
 * synchronize with the default stream and are valid until the context is closed. If all are in use,
 * the call waits for one to be released, at most as long as tm_set_waits allows; with TM_GROW in
 * `flags` it creates one more instead. Errors: cancelled, driver. */
#define TM_GROW 16u
TM_API tm_status tm_stream_acquire(tm_context* context, uint32_t flags, tm_stream* stream);

/* Returns a stream to the pool. Work may still be queued on it: whoever acquires the stream next
 * gets it with that work. Errors: not_found: the stream was not acquired. */
TM_API tm_status tm_stream_release(tm_context* context, tm_stream stream);

/* Releases unused memory to the device: only what is free now, or, if `wait` is not 0, what is free
 * after waiting for the device. */
TM_API tm_status tm_trim(tm_context* context, int wait);

typedef struct tm_block {
    size_t struct_size;
    uint64_t address; /* of its first byte */
    uint64_t requested;
    uint64_t granted; /* size after rounding */
    tm_stream stream;
    uint32_t pool;
    uint32_t tag;
    uint64_t number; /* of its request; rises within each thread */
} tm_block;

/* The live allocation that contains `address`. Errors: bad_address. */
TM_API tm_status tm_base_of(tm_context* context, uint64_t address, tm_block* block);

typedef enum tm_region_state {
    TM_REGION_ALLOCATED = 0,
    TM_REGION_WAITING = 1, /* pending free: freed, but work on the device may still use it */
    TM_REGION_FREE = 2,
    TM_REGION_HOLE = 3 /* can't be allocated before a trim */
} tm_region_state;

/* A part of the memory that the context holds from the device. A segment's parts are adjacent. */
typedef struct tm_region {
    uint64_t address;
    uint64_t bytes;
    uint64_t requested; /* if it is allocated */
    uint64_t segment;   /* address of the segment that contains it */
    uint64_t segment_bytes;
    tm_stream stream;
    uint32_t pool;
    uint32_t state;      /* tm_region_state */
    uint32_t expandable; /* 1: the segment consists of mapped pages, and can grow and shrink */
    uint32_t reserved;
} tm_region;

/* All regions of the context, as of about one moment. Writes at most `capacity` of them, and their
 * total number to `count`. O(regions). */
TM_API tm_status tm_context_regions(tm_context* context, tm_region* regions, size_t capacity,
                                    size_t* count);

typedef struct tm_statistics {
    size_t struct_size;
    uint64_t reserved;  /* bytes held from the device */
    uint64_t allocated; /* bytes of live allocations, after rounding */
    uint64_t active;    /* allocated, or pending free on the device */
    uint64_t requested; /* bytes of live allocations, before rounding */
    uint64_t cached;    /* bytes freed and kept in threads' caches */
    uint64_t live;      /* number of allocations */
    uint64_t peak_reserved;
    uint64_t peak_allocated_least; /* thread caches make a peak known only as a range */
    uint64_t peak_allocated_most;
    uint64_t peak_requested_least;
    uint64_t peak_requested_most;
    uint64_t granted; /* requests that succeeded */
    uint64_t hits;    /* of those, served from a thread's cache */
    uint64_t refused; /* requests that failed */
    uint64_t freed;
    uint64_t retries; /* times all caches were emptied to try the device again */
    uint64_t segments_created;
    uint64_t segments_released;
    uint64_t device_free; /* bytes, as the device reports them now */
    uint64_t device_total;
    uint64_t deferred; /* bytes whose free is put off: of unknown streams, or by the policy's option
                          defer_frees */
    uint64_t deferred_peak;
    uint64_t flushes;         /* batches of such frees */
    uint64_t plan_deviations; /* requests of pools that differed from tm_pool_plan */
} tm_statistics;

/* Figures of one moment: all other calls wait while they are gathered. */
TM_API tm_status tm_statistics_of(tm_context* context, tm_statistics* statistics);

/* Peaks restart from the current values. */
TM_API tm_status tm_reset_peaks(tm_context* context);

/* Limits the bytes that are requested and not freed; 0 removes the limit. */
TM_API tm_status tm_set_limit(tm_context* context, uint64_t bytes);

/* Private pools, like those of graph captures and MemPools (core/allocator/allocator.h). `pool` is
 * any number but 0, and each request names its pool (tm_request::pool). Begin and end mark a scope;
 * scopes nest and may be repeated. A stream that was captured within a scope must not be destroyed
 * before the scope has ended. After tm_pool_close, the next trim releases the pool's memory. */
TM_API tm_status tm_pool_begin(tm_context* context, uint32_t pool);
TM_API tm_status tm_pool_end(tm_context* context, uint32_t pool);
TM_API tm_status tm_pool_close(tm_context* context, uint32_t pool);

/* One request of a pool, known from an earlier run. */
typedef struct tm_planned {
    uint64_t bytes;
    uint64_t alignment; /* a power of two; 0: 512 */
    tm_stream stream;
    uint32_t begin; /* positions among the pool's requests and frees, counted together */
    uint32_t end;
    uint32_t escapes; /* 1: it outlives the capture, and `end` is ignored */
    uint32_t reserved;
} tm_planned;

/* Announces the pool's requests in order, before the first of them. A policy that plans
 * ("arena:mode=planned") can then reuse bytes within the pool. It serves requests that differ from
 * the plan outside of it, and counts them (tm_statistics::plan_deviations). Errors: unsupported:
 * the policy does not plan pools; bad_input: a request ends before it begins, or its alignment is
 * not a power of two. */
TM_API tm_status tm_pool_plan(tm_context* context, uint32_t pool, const tm_planned* requests,
                              size_t count);

/* From now on the GPU `device` (its CUDA number) can read and write all memory of the context.
 * cudaDeviceEnablePeerAccess does that only for memory of cudaMalloc. Has no effect on a simulated
 * device. Errors: driver. */
TM_API tm_status tm_peer_access(tm_context* context, int device);

/* Shares memory with other processes on the same GPU. A handle covers the whole piece of memory
 * that contains `address`; `offset` is the address's position in it. tm_ipc_open maps it into this
 * process until tm_ipc_close. Errors: unsupported on simulated devices and for policies on virtual
 * memory. */
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

/* The device of one run of a policy, and the memory that the policy holds there. Valid from the
 * call of `create` until `destroy` returns. Only the thread that calls the policy may use it. */
typedef struct tm_policy_device tm_policy_device;

/* Reserve memory from the device, and release it. Every block that the policy returns must be in
 * such a piece. Errors: out_of_memory, driver; bad_address: there is no such piece, or a block in
 * it is allocated; bad_option: null (tm_policy_order too). */
TM_API tm_status tm_policy_malloc(tm_policy_device* device, uint64_t bytes, uint64_t* address);
TM_API tm_status tm_policy_free(tm_policy_device* device, uint64_t address);

/* Makes work that is queued on the stream `after` from now on wait for the work that is queued on
 * `before`. */
TM_API tm_status tm_policy_order(tm_policy_device* device, uint32_t before, uint32_t after);

/* A policy as functions. `self` is what `create` returned, one for each run. Several threads may
 * run the policy at once, each with its own `self`. Streams are numbers, 0 is the default stream.
 * Before `deallocate`, the library orders the uses of a block on other streams before later work on
 * the stream that the block was allocated on. A policy that hands memory of one stream to another
 * must call tm_policy_order itself (--check finds where it did not). A comment marks the functions
 * that may be null. */
typedef struct tm_policy {
    size_t struct_size;
    const char* name;    /* letters, digits, '_', '-' */
    const char* summary; /* one line; may be null */
    void* user;
    void* (*create)(void* user, tm_policy_device* device); /* returns null if it fails */
    void (*destroy)(void* self);                           /* may be null */
    /* Returns 0 on success, with a block of *granted bytes, at least `bytes`, at *address. Anything
     * else: no memory. */
    int (*allocate)(void* self, uint64_t bytes, uint64_t alignment, uint32_t stream, uint32_t pool,
                    uint64_t* address, uint64_t* granted);
    void (*deallocate)(void* self, uint64_t address, uint64_t granted, uint32_t stream);
    void (*trim)(void* self, int wait); /* may be null: releases unused memory */
    /* Reports what the policy did wrong: it returned memory that it does not hold, or returned some
     * twice. The request then fails. May be null. */
    void (*fault)(void* self, const char* what);
} tm_policy;

/* Registers the policy under its name, for tm_run ("-p", NAME) and tm_context_options. Registering
 * the same name again replaces the functions for runs that start later. At most 64 names a process.
 * Errors: bad_option (a built-in policy has that name, or a function is missing), no_space. */
TM_API tm_status tm_policy_register(const tm_policy* policy);

/* ---- Traces -----------------------------------------------------------------------------------
 */

typedef struct tm_trace tm_trace;

typedef struct tm_trace_options {
    size_t struct_size;
    int strict;           /* not 0: the first oddity is an error */
    int lenient;          /* not 0: malformed records are skipped and counted */
    int as_recorded;      /* not 0: events that the recording lost are not inferred */
    tm_progress progress; /* may be null; `done` is in bytes */
    void* user;
} tm_trace_options;

/* Reads a recording in any format that `tidemark` knows, or "generate:NAME:options". */
TM_API tm_status tm_trace_open(const char* path, const tm_trace_options* options, tm_trace** trace);
TM_API void tm_trace_close(tm_trace* trace); /* null has no effect */

/* All events as columns, in order of time. Each pointer has `count` elements and is valid while the
 * trace is open. traces/model/event.h and docs/format-tmk.md explain the numbers. */
typedef struct tm_columns {
    size_t struct_size;
    uint64_t count;
    const uint64_t* time;    /* ns since the first event */
    const uint64_t* size;    /* bytes */
    const uint64_t* address; /* as recorded; 0: unknown */
    const uint32_t* slot;    /* of the allocation; 0xffffffff: none */
    const uint32_t* stream;
    const uint32_t* stack; /* for tm_trace_stack; 0: none */
    const uint32_t* aux;
    const uint32_t* tag; /* for tm_trace_string; 0: none */
    const uint16_t* device;
    const uint8_t* kind; /* for tm_event_kind */
    const uint8_t* flags;
} tm_columns;

/* The first call gathers the columns, 48 bytes an event; later ones are O(1). Errors: bad_input. */
TM_API tm_status tm_trace_columns(tm_trace* trace, tm_columns* columns);

/* The name of a kind of event: "allocate", "free", ...; "unknown". */
TM_API const char* tm_event_kind(uint8_t kind);

/* What is known of the trace apart from its events, as a JSON object: `format`, `source`,
 * `event_count`, `duration_ns`, `start_time_ns`, `devices`, `streams`, `pools`, `settings`,
 * `metadata`, `warnings`, `hash`, and the numbers of its `strings` and `stacks`. Valid while the
 * trace is open. */
TM_API const char* tm_trace_info(tm_trace* trace);

/* A string by its number. Its bytes need not be UTF-8, and need not end with a zero. */
TM_API tm_status tm_trace_string(tm_trace* trace, uint32_t number, const char** text,
                                 size_t* length);

typedef struct tm_frame {
    uint32_t function; /* number of a string */
    uint32_t file;     /* number of a string */
    uint32_t line;
} tm_frame;

/* The frames of a stack, innermost first. Writes at most `capacity` of them, and their total number
 * to `count`. */
TM_API tm_status tm_trace_stack(tm_trace* trace, uint32_t number, tm_frame* frames, size_t capacity,
                                size_t* count);

/* ---- Files ------------------------------------------------------------------------------------
 */

typedef enum tm_file_kind {
    TM_FILE_OTHER = 0,
    TM_FILE_RECORDING = 1,
    TM_FILE_PICTURE = 2 /* a PNG */
} tm_file_kind;

/* Whether a program may write this file, by the rules of the commands: a file may replace an
 * existing one of the same kind, but nothing replaces a recording, unless `overwrite` is not 0. For
 * programs that write files themselves. Errors: bad_option: it must not be replaced; io: it can't
 * be written at all. */
TM_API tm_status tm_check_output(const char* path, tm_file_kind kind, int overwrite);

/* ---- Recorder ---------------------------------------------------------------------------------
 */

/* Records what another allocator does, as a live recording: a .tml file that every command reads,
 * that survives the program's death, and that `tidemark view --attach` follows
 * (docs/format-live.md). A process has at most one recorder; that of a context
 * (tm_context_options::record) counts. A child made by fork() records nothing. */
typedef struct tm_recorder tm_recorder;

typedef struct tm_recorder_options {
    size_t struct_size;
    const char* name;       /* of the program in lists; null: its file name */
    const char* path;       /* of the recording; null: a new one in the folder of recordings */
    uint64_t history_limit; /* bytes on the disk: above them the recorder deletes the oldest part,
                               and names the files PATH-000001.tml and so on; 0: keeps everything */
    uint32_t devices;       /* 1 to 16; 0: one, of unknown name and size */
    uint32_t rings;         /* threads that can record at the same time; 0: 64 */
    const char* const* device_names;   /* one for each device; null: unknown */
    const uint64_t* device_capacities; /* bytes, one for each device; null: unknown */
    int overwrite; /* not 0: may replace an existing file at `path`; 0: that is an error */
} tm_recorder_options;

/* Starts a recording. Errors: unsupported (the process has a recorder already), bad_option (also if
 * `path` exists), io. */
TM_API tm_status tm_recorder_open(const tm_recorder_options* options, tm_recorder** recorder);

/* Writes what is left to write, and ends the recording. No other function of this recorder may run
 * meanwhile. A null recorder is closed without effect. Errors: io. */
TM_API tm_status tm_recorder_close(tm_recorder* recorder);

/* The path of the recording (with a history limit: without a number), and the path of the file that
 * viewers attach to. */
TM_API const char* tm_recorder_path(const tm_recorder* recorder);
TM_API const char* tm_recorder_shared_path(const tm_recorder* recorder);

/* The kinds of events of docs/format-live.md, with its numbers. */
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
    /* Something that ran on the GPU accessed a block: address, size = 1 (reads), 2 (writes) or 3
     * (both), extra = the launch (uses with the same number belong together), tag = its name. */
    TM_EVENT_USE = 14,
    /* tag = the operator that makes the device's next allocation, and its arguments' shapes. */
    TM_EVENT_OPERATION = 21,
    TM_EVENT_LIVE_BLOCK = 48, /* what was live before the recording started: fields as 1, 8, 12 */
    TM_EVENT_LIVE_SEGMENT = 49,
    TM_EVENT_LIVE_MAPPING = 51,
    TM_EVENT_LIVE_RETIRED = 52 /* a block whose free has been requested */
} tm_event_record;

typedef struct tm_event {
    size_t struct_size;
    uint64_t stream; /* the program's handle; 0: the default stream */
    uint64_t address;
    uint64_t size;
    uint64_t extra;
    uint32_t pool;   /* a private pool; 0: the program's memory */
    uint32_t tag;    /* from tm_recorder_string; 0: none */
    uint32_t stack;  /* from tm_recorder_stack; 0: none */
    uint16_t device; /* below tm_recorder_options::devices */
    uint16_t kind;   /* tm_event_record */
} tm_event;

/* Records an event. Call it while holding the lock that decides the order of events among threads.
 * About 20 ns: it takes no lock and never waits, and allocates memory only when a stream or a site
 * is new to the thread. An event that finds no room is dropped and counted; that is not an error.
 * Errors: bad_option (kind, device). */
TM_API tm_status tm_recorder_event(tm_recorder* recorder, const tm_event* event);

/* tm_recorder_range records where a named range of the program starts or, if `ends` is not 0, where
 * it ends. tm_recorder_mark records a point in time. */
TM_API tm_status tm_recorder_range(tm_recorder* recorder, const char* name, int ends);
TM_API tm_status tm_recorder_mark(tm_recorder* recorder, const char* text);

/* Ids for tm_event, in O(length). On one thread the same text or the same stack always has the same
 * id; every thread may use the ids of any thread. 0: there is no room for it now. */
TM_API uint32_t tm_recorder_string(tm_recorder* recorder, const char* text);

typedef struct tm_recorded_frame {
    const char* function;
    const char* file;
    uint32_t line;
} tm_recorded_frame;

TM_API uint32_t tm_recorder_stack(tm_recorder* recorder, const tm_recorded_frame* frames,
                                  size_t count); /* innermost first, at most 256 */

/* Records a fact about the program or, if `of_allocator` is not 0, a setting of the recorded
 * allocator; the docs list the keys that have a meaning. The last value of a key counts. Errors:
 * no_space. */
TM_API tm_status tm_recorder_setting(tm_recorder* recorder, const char* key, const char* value,
                                     int of_allocator);

typedef struct tm_recorder_counts {
    size_t struct_size;
    uint64_t published; /* records that found room */
    uint64_t dropped;   /* records that did not */
    uint64_t lost;      /* published records that could not be written, or never arrived */
} tm_recorder_counts;

TM_API tm_status tm_recorder_count(const tm_recorder* recorder, tm_recorder_counts* counts);

/* ---- Questions --------------------------------------------------------------------------------
 */

typedef struct tm_answer tm_answer;

typedef struct tm_run_options {
    size_t struct_size;
    tm_progress progress; /* may be null */
    void* user;
    tm_trace* const*
        traces; /* open traces, which must stay open until the call returns. An argument
                   that is the path of one of them uses it instead of reading the file
                   again, if it would be read the same way (strict, lenient) */
    size_t trace_count;
} tm_run_options;

/* Runs `tidemark ARGUMENTS...` in this process; `arguments` leaves out the program's name. With
 * --json the output is the object that docs/json.md describes. TM_OK means that there is an answer,
 * with exit code 0, 1 (the answer is no), 4 (a request ran out of memory) or 130 (ended early: with
 * what was complete by then). Where the program would end with another exit code, the call returns
 * an error, and tm_last_error explains it. Several threads may run commands at once. `view`, `live`
 * and commands that read standard input are unsupported. */
TM_API tm_status tm_run(const char* const* arguments, size_t count, const tm_run_options* options,
                        tm_answer** answer);
TM_API const char* tm_answer_output(const tm_answer* answer, size_t* length);
TM_API const char* tm_answer_notes(const tm_answer* answer); /* what it wrote to standard error */
TM_API int tm_answer_exit_code(const tm_answer* answer);
TM_API void tm_answer_free(tm_answer* answer); /* null has no effect */

#ifdef __cplusplus
}
#endif
