// Passes the events of PyTorch's caching allocator to libtidemark.so. Compiled by _compiled.py
// against the installed PyTorch, because TraceEntry changes from release to release.
//
// PyTorch calls the tracker with the device's allocator lock held, on the thread that allocates,
// perhaps with Python's lock (the GIL): nothing here calls PyTorch, waits, or takes that lock. A
// tracker can't be detached: it is attached once, and turned on and off.
//
// Python's stacks can't be read there: PyTorch has released the GIL, and waiting for it would never
// end. But PyTorch asks for a context before it takes its lock. There, the stack is read and kept
// for the tracker. PyTorch itself gets none, so that its snapshots don't change.
//
// A recording starts with what is already live. A snapshot adds an entry to each device's sequence.
// The device's events start there; they are kept until Python has recorded the snapshot.
#include <c10/cuda/CUDACachingAllocator.h>

#include <array>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <map>
#include <memory>
#include <mutex>
#include <utility>
#include <vector>

#include <dlfcn.h>

namespace {

namespace allocator = c10::cuda::CUDACachingAllocator;
using allocator::TraceEntry;

// As tm_event and tm_recorded_frame in tidemark.h.
struct Event {
    std::size_t struct_size;
    std::uint64_t stream;
    std::uint64_t address;
    std::uint64_t size;
    std::uint64_t extra;
    std::uint32_t pool;
    std::uint32_t tag;
    std::uint32_t stack;
    std::uint16_t device;
    std::uint16_t kind;
};

static_assert(sizeof(Event) == 56);

struct RecordedFrame {
    const char* function;
    const char* file;
    std::uint32_t line;
};

constexpr std::uint16_t kAllocate = 1;
constexpr std::uint16_t kFree = 2;
constexpr std::uint16_t kRefused = 3;
constexpr std::uint16_t kFreeRequested = 6;
constexpr std::uint16_t kFreeCompleted = 7;
constexpr std::uint16_t kSegmentAlloc = 8;
constexpr std::uint16_t kSegmentFree = 9;
constexpr std::uint16_t kMap = 12;
constexpr std::uint16_t kUnmap = 13;
constexpr std::uint16_t kOperator = 21;

constexpr std::size_t kMostDevices = 16;

using PutEvent = int (*)(void* recorder, const Event* event);
using PutStack = std::uint32_t (*)(void* recorder, const RecordedFrame* frames, std::size_t count);
using FindOperator = std::uint32_t (*)();

enum Phase : int { off, collecting, live };

struct alignas(64) Device {
    std::atomic<bool> busy = false;  // its tracker is running
    bool began = false;              // the first snapshot has been taken
    bool has_request = false;
    Event request{};  // a requested free: it usually completes at once, and both become one event
    std::vector<Event> early;
    std::atomic<std::uint64_t> events = 0;
    std::atomic<std::uint64_t> unknown = 0;
};

std::array<Device, kMostDevices> devices;
std::atomic<int> phase = off;
std::mutex begin;  // while collecting
void* recorder = nullptr;
PutEvent put_event = nullptr;
PutStack put_stack = nullptr;
bool with_stacks = false;
std::atomic<FindOperator> find_operator = nullptr;  // operators.cpp's, if enabled

// The interpreter, if there is one.
struct Python {
    void* (*thread)() = find<void* (*)()>("PyGILState_GetThisThreadState");
    int (*lock)() = find<int (*)()>("PyGILState_Ensure");
    void (*unlock)(int) = find<void (*)(int)>("PyGILState_Release");
    void* (*frame)() = find<void* (*)()>("PyEval_GetFrame");
    void* (*back)(void*) = find<void* (*)(void*)>("PyFrame_GetBack");
    void* (*code)(void*) = find<void* (*)(void*)>("PyFrame_GetCode");
    int (*line)(void*) = find<int (*)(void*)>("PyFrame_GetLineNumber");
    void* (*attribute)(void*, const char*) =
        find<void* (*)(void*, const char*)>("PyObject_GetAttrString");
    const char* (*text)(void*) = find<const char* (*)(void*)>("PyUnicode_AsUTF8");
    void (*keep)(void*) = find<void (*)(void*)>("Py_IncRef");
    void (*drop)(void*) = find<void (*)(void*)>("Py_DecRef");

    bool whole() const {
        return thread && lock && unlock && frame && back && code && line && attribute && text &&
               keep && drop;
    }

    template <class Function>
    static Function find(const char* name) {
        return reinterpret_cast<Function>(dlsym(RTLD_DEFAULT, name));
    }
};

const Python& python() {
    static const Python found;
    return found;
}

// Code objects and lines, innermost first. Their names are read only once for each new stack.
using Lines = std::vector<std::pair<void*, int>>;

using Stacks = std::map<Lines, std::uint32_t>;

std::mutex stacks_mutex;
Stacks* stacks = new Stacks;  // never destroyed; keeps its code objects

std::uint32_t name_stack(const Lines& lines) {
    const Python& py = python();
    std::vector<RecordedFrame> frames;
    std::vector<void*> texts;
    for (const auto& [code, line] : lines) {
        void* const name = py.attribute(code, "co_name");
        void* const file = py.attribute(code, "co_filename");
        texts.insert(texts.end(), {name, file});
        frames.push_back({name ? py.text(name) : nullptr, file ? py.text(file) : nullptr,
                          static_cast<std::uint32_t>(line)});
    }
    const std::uint32_t id = put_stack(recorder, frames.data(), frames.size());
    for (void* const text : texts) {
        if (text)
            py.drop(text);
    }
    return id;
}

// Needs the GIL and none of our locks: dropping the last reference may run Python code.
void drop_codes(const Lines& lines) {
    for (const auto& [code, line] : lines)
        python().drop(code);
}

// If there are too many.
void forget_stacks(std::size_t most) {
    Stacks gone;
    {
        const std::lock_guard lock(stacks_mutex);
        if (stacks->size() >= most)
            gone.swap(*stacks);
    }
    for (const auto& [lines, id] : gone)
        drop_codes(lines);
}

// Finds or creates the stack's id. True if it keeps `lines`.
bool find_or_name(Lines& lines, std::uint32_t& id) {
    const std::lock_guard lock(stacks_mutex);
    const auto known = stacks->find(lines);
    id = known != stacks->end() ? known->second : name_stack(lines);
    return known == stacks->end() && id != 0 && stacks->emplace(std::move(lines), id).second;
}

// Needs the GIL, but not the allocator's lock: walking creates objects, and garbage collection
// may free tensors.
std::uint32_t walk_stack() {
    const Python& py = python();
    constexpr std::size_t kMostFrames = 64;
    Lines lines;
    void* frame = py.frame();
    if (frame)
        py.keep(frame);
    while (frame && lines.size() < kMostFrames) {
        lines.emplace_back(py.code(frame), py.line(frame));
        void* const next = py.back(frame);
        py.drop(frame);
        frame = next;
    }
    if (frame)
        py.drop(frame);
    // A program that keeps creating code starts over: the recorder recognizes what it already has.
    constexpr std::size_t kMostStacks = 65'536;
    forget_stacks(kMostStacks);
    std::uint32_t id = 0;
    if (!lines.empty() && !find_or_name(lines, id))
        drop_codes(lines);
    return id;
}

thread_local std::uint32_t stack_of_next = 0;  // allocation of this thread

// PyTorch calls it before an allocation, to get its context. Threads that Python doesn't know have
// no stack.
std::shared_ptr<c10::GatheredContext> find_stack() {
    const Python& py = python();
    stack_of_next = 0;
    if (phase.load() != off && py.whole() && py.thread()) {
        const int state = py.lock();
        stack_of_next = walk_stack();
        py.unlock(state);
    }
    return nullptr;
}

// Makes PyTorch call find_stack from now on, or no longer; 0 if that worked.
template <class Allocator>
int set_context([[maybe_unused]] Allocator* owner, [[maybe_unused]] bool wanted) {
#ifndef TIDEMARK_WITHOUT_STACKS
    using allocator::RecordContext;
    const RecordContext when = wanted ? RecordContext::STATE : RecordContext::NEVER;
    if constexpr (requires { owner->recordHistory(wanted, find_stack, 1, when, false, {}); })
        owner->recordHistory(wanted, find_stack, 1, when, false, {});
    else if constexpr (requires { owner->recordHistory(wanted, find_stack, 1, when, false); })
        owner->recordHistory(wanted, find_stack, 1, when, false);
    else if constexpr (requires { owner->recordHistory(wanted, find_stack, 1, when); })
        owner->recordHistory(wanted, find_stack, 1, when);
    else
        return 1;
    return 0;
#else
    return 1;
#endif
}

// A private pool's two numbers; one of them is 0.
template <class Entry>
std::uint32_t pool_of(const Entry& entry) {
    if constexpr (requires { entry.mempool_.first; }) {
        const auto [graph, made] = entry.mempool_;
        return graph != 0 ? 0x80000000U | static_cast<std::uint32_t>(graph)
                          : static_cast<std::uint32_t>(made);
    }
    return 0;
}

// 0 if it isn't recorded.
std::uint16_t kind_of(TraceEntry::Action action) {
    switch (action) {
        case TraceEntry::ALLOC:
            return kAllocate;
        case TraceEntry::FREE_REQUESTED:
            return kFreeRequested;
        case TraceEntry::FREE_COMPLETED:
            return kFreeCompleted;
        case TraceEntry::SEGMENT_ALLOC:
            return kSegmentAlloc;
        case TraceEntry::SEGMENT_FREE:
            return kSegmentFree;
        case TraceEntry::SEGMENT_MAP:
            return kMap;
        case TraceEntry::SEGMENT_UNMAP:
            return kUnmap;
        case TraceEntry::OOM:
            return kRefused;
        default:
            return 0;
    }
}

void put_request(Device& device) {
    if (std::exchange(device.has_request, false))
        put_event(recorder, &device.request);
}

void put(Device& device, Event& event) {
    if (event.kind == kFreeCompleted && device.has_request &&
        device.request.address == event.address) {
        device.has_request = false;
        event.kind = kFree;
    } else {
        put_request(device);
        if (event.kind == kFreeRequested) {
            device.request = event;
            device.has_request = true;
            return;
        }
    }
    put_event(recorder, &event);
}

void put_when(Device& device, Event& event, int now) {
    if (now == live)
        put(device, event);
    else if (device.began)
        device.early.push_back(event);
}

// Records the operator that requests the next allocation.
void take_operator(Device& device, const TraceEntry& entry, int now) {
    const FindOperator find = find_operator.load(std::memory_order_relaxed);
    Event event{sizeof(Event), 0, 0, 0, 0, 0, find == nullptr ? 0 : find(), 0,
                static_cast<std::uint16_t>(entry.device_), kOperator};
    if (event.tag != 0)
        put_when(device, event, now);
}

void take(Device& device, const TraceEntry& entry, int now) {
    const std::uint16_t kind = kind_of(entry.action_);
    if (kind == 0) {
        device.began = device.began || entry.action_ == TraceEntry::SNAPSHOT;
        if (entry.action_ != TraceEntry::SNAPSHOT)
            device.unknown.fetch_add(1, std::memory_order_relaxed);
        return;
    }
    const auto size = static_cast<std::uint64_t>(entry.size_);
    Event event{sizeof(Event),
                static_cast<std::uint64_t>(reinterpret_cast<std::uintptr_t>(entry.stream_)),
                static_cast<std::uint64_t>(entry.addr_),
                size,
                kind == kAllocate ? (size + 511) & ~std::uint64_t{511} : 0,
                pool_of(entry),
                0,
                0,
                static_cast<std::uint16_t>(entry.device_),
                kind};
    if (with_stacks && kind == kAllocate)
        event.stack = std::exchange(stack_of_next, 0);
    if (kind == kAllocate)
        take_operator(device, entry, now);
    put_when(device, event, now);
    device.events.store(device.events.load(std::memory_order_relaxed) + 1,
                        std::memory_order_relaxed);
}

void track(const TraceEntry& entry) {
    const auto index = static_cast<std::size_t>(entry.device_);
    if (index >= kMostDevices)
        return;
    Device& device = devices[index];
    device.busy.store(true);  // before the phase is read: see tidemark_end
    int now = phase.load();
    if (now == live) {
        take(device, entry, now);
    } else if (now == collecting) {
        const std::lock_guard lock(begin);
        now = phase.load();
        if (now != off)
            take(device, entry, now);
    }
    device.busy.store(false, std::memory_order_release);
}

}  // namespace

extern "C" {

// Turns stacks of allocations on or off, between tidemark_begin and tidemark_end. PyTorch's own
// history must be off. Returns 0 if that worked.
int tidemark_stacks(int wanted) {
    try {
        return set_context(allocator::get(), wanted != 0);
    } catch (...) {
        return 1;
    }
}

// Adds what `find` returns to allocations, until it is null.
void tidemark_find_operators(FindOperator find) {
    find_operator.store(find);
}

// Passes events to `event`, from the next snapshot of each device on; 0 unless PyTorch refuses.
int tidemark_begin(void* new_recorder, PutEvent event, PutStack stack, int wants_stacks) {
    static bool attached = false;
    if (!attached) {
        try {
            allocator::attachAllocatorTraceTracker(track);
        } catch (...) {
            return 1;  // an allocator without trackers
        }
        attached = true;
    }
    if (python().whole())
        forget_stacks(0);  // these are ids of another recorder
    const std::lock_guard lock(begin);
    recorder = new_recorder;
    put_event = event;
    put_stack = stack;
    with_stacks = wants_stacks != 0;
    for (Device& device : devices) {
        device.began = device.has_request = false;
        device.events = device.unknown = 0;
        device.early.clear();
    }
    phase.store(collecting);
    return 0;
}

// What was live has been recorded: records what has happened since, and everything that follows.
void tidemark_follow() {
    const std::lock_guard lock(begin);
    for (Device& device : devices) {
        for (Event& event : device.early)
            put(device, event);
        std::vector<Event>().swap(device.early);
    }
    phase.store(live);
}

// Afterwards, no event is in progress.
void tidemark_end() {
    phase.store(off);
    for (Device& device : devices) {
        while (device.busy.load()) {
        }
        put_request(device);
    }
}

// Counts recorded events, and entries with unknown actions.
void tidemark_counters(std::uint64_t* events, std::uint64_t* unknown) {
    *events = *unknown = 0;
    for (const Device& device : devices) {
        *events += device.events.load(std::memory_order_relaxed);
        *unknown += device.unknown.load(std::memory_order_relaxed);
    }
}

}  // extern "C"
