// Streams, events and graphs, of the runtime and of the driver: their order is the simulator's.
#include <cstdint>
#include <unordered_map>

#include "backends/imagined/api.h"
#include "backends/imagined/machine.h"

namespace tidemark::imagined {
namespace {

// Captured work is not kept: it had no effect, and a launch has none. A graph is its handle.
struct Graph {};

struct Capture {
    std::uint64_t id = 0;
    Graph* graph = nullptr;
};

std::unordered_map<std::uint32_t, Capture>& captures() {
    static auto* const all = new std::unordered_map<std::uint32_t, Capture>;
    return *all;
}

std::uint64_t captures_begun = 0;
constexpr int kCapturing = 1;  // cudaStreamCaptureStatusActive

const Capture* capture_of(const Stream& stream) {
    const auto found = captures().find(to_integer(stream.id));
    return found == captures().end() ? nullptr : &found->second;
}

int record(Event* event, const void* handle) {
    Lock machine;
    const Stream stream = machine->stream_of(handle, current_device());
    SimDevice& device = machine->device(stream.device);
    const DeviceResult<EventId> point = device.record(stream.id);
    if (!point)
        return to_status(point.error());
    *event = {*point, stream.device, device.now(), machine->waits(), 0};
    return kSuccess;
}

// A thread that only watches, such as NCCL's watchdog, looks ten times a second. If work is slow,
// it finds it done when the program has waited twice more; or after three seconds, since a program
// that ends waits for its watchdog.
bool is_watched_in_time(const Machine& machine, Event& event) {
    constexpr std::uint64_t kWaits = 2;
    constexpr int kLooks = 30;
    return !settings().late || launches() || machine.waits() >= event.waits + kWaits ||
           ++event.looks > kLooks;
}

int is_done(Event* event) {
    Lock machine;
    if (!event->point)
        return kSuccess;
    if (!is_watched_in_time(Machine::get(), *event))
        return kNotReady;
    const DeviceResult<bool> done = machine->device(event->device).complete(*event->point);
    if (!done)
        return to_status(done.error());
    return *done ? kSuccess : kNotReady;
}

int await(const Event* event) {
    Lock machine;
    if (!event->point)
        return kSuccess;
    machine->count_wait();
    const DeviceResult<void> done = machine->device(event->device).await(*event->point);
    return status_of(done);
}

int wait_for(const void* handle, const Event* event) {
    Lock machine;
    const Stream stream = machine->stream_of(handle, current_device());
    if (!event->point || event->device != stream.device)
        return kSuccess;
    const DeviceResult<void> queued = machine->device(stream.device).wait(stream.id, *event->point);
    return status_of(queued);
}

int synchronize(const void* handle) {
    Lock machine;
    const Stream stream = machine->stream_of(handle, current_device());
    machine->count_wait();
    const DeviceResult<void> done = machine->device(stream.device).synchronize(stream.id);
    return status_of(done);
}

int is_idle(const void* handle) {
    Event event;
    const int status = record(&event, handle);
    return status == kSuccess ? is_done(&event) : status;
}

int begin_capture(const void* handle) {
    Lock machine;
    const Stream stream = machine->stream_of(handle, current_device());
    if (capture_of(stream) != nullptr)
        return kInvalidValue;
    captures()[to_integer(stream.id)] = {++captures_begun, new Graph};
    return kSuccess;
}

int end_capture(const void* handle, Graph** graph) {
    Lock machine;
    const Stream stream = machine->stream_of(handle, current_device());
    const Capture* const one = capture_of(stream);
    *graph = one == nullptr ? nullptr : one->graph;
    if (one == nullptr)
        return kInvalidValue;
    captures().erase(to_integer(stream.id));
    return kSuccess;
}

int capture_status(const void* handle, int* status, std::uint64_t* id, void** graph) {
    Lock machine;
    const Capture* const one = capture_of(machine->stream_of(handle, current_device()));
    *status = one == nullptr ? 0 : kCapturing;
    if (one != nullptr && id != nullptr)
        *id = one->id;
    if (one != nullptr && graph != nullptr)
        *graph = one->graph;
    return kSuccess;
}

int destroy_stream(void* handle) {
    delete static_cast<Stream*>(handle);
    return kSuccess;
}

}  // namespace
}  // namespace tidemark::imagined

using namespace tidemark::imagined;

namespace {

int make_stream(void** out, unsigned flags, int priority) {
    Lock machine;
    *out = machine->make_stream(current_device(), flags, priority);
    return kSuccess;
}

}  // namespace

IMAGINED(int, cudaStreamCreate)(void** out) {
    return make_stream(out, 0, 0);
}

IMAGINED(int, cudaStreamCreateWithFlags)(void** out, unsigned flags) {
    return make_stream(out, flags, 0);
}

IMAGINED(int, cudaStreamCreateWithPriority)(void** out, unsigned flags, int priority) {
    return make_stream(out, flags, priority);
}

IMAGINED(int, cudaStreamDestroy)(void* stream) {
    return destroy_stream(stream);
}

IMAGINED(int, cudaStreamGetPriority)(void* handle, int* priority) {
    Lock machine;
    *priority = machine->stream_of(handle, current_device()).priority;
    return kSuccess;
}

IMAGINED(int, cudaStreamGetFlags)(void* handle, unsigned* flags) {
    Lock machine;
    *flags = machine->stream_of(handle, current_device()).flags;
    return kSuccess;
}

IMAGINED(int, cudaStreamGetDevice)(void* handle, int* device) {
    Lock machine;
    *device = machine->stream_of(handle, current_device()).device;
    return kSuccess;
}

IMAGINED(int, cudaStreamQuery)(void* stream) {
    return is_idle(stream);
}

IMAGINED(int, cudaStreamSynchronize)(void* stream) {
    return report(synchronize(stream));
}

IMAGINED(int, cudaStreamWaitEvent)(void* stream, Event* event, unsigned) {
    return report(wait_for(stream, event));
}

IMAGINED(int, cudaDeviceSynchronize)() {
    Lock machine;
    machine->count_wait();
    const auto done = machine->device(current_device()).synchronize_device();
    return report(status_of(done));
}

IMAGINED(int, cudaEventCreate)(Event** out) {
    *out = new Event;
    return kSuccess;
}

IMAGINED(int, cudaEventCreateWithFlags)(Event** out, unsigned) {
    *out = new Event;
    return kSuccess;
}

IMAGINED(int, cudaEventDestroy)(Event* event) {
    delete event;
    return kSuccess;
}

IMAGINED(int, cudaEventRecord)(Event* event, void* stream) {
    return report(record(event, stream));
}

IMAGINED(int, cudaEventRecordWithFlags)(Event* event, void* stream, unsigned) {
    return report(record(event, stream));
}

IMAGINED(int, cudaEventQuery)(Event* event) {
    return is_done(event);
}

IMAGINED(int, cudaEventSynchronize)(Event* event) {
    return report(await(event));
}

// All kernels take the same time, so that code that times alternatives keeps the first. Such code
// often repeats a kernel until some time has passed. The time is long enough that Triton's
// do_bench() repeats no more often than on a GPU, and short enough that torch.compile's repeats as
// often as there.
IMAGINED(int, cudaEventElapsedTime)(float* milliseconds, Event*, Event*) {
    *milliseconds = 0.25F;
    return kSuccess;
}

IMAGINED(int, cudaStreamBeginCapture)(void* stream, int) {
    return report(begin_capture(stream));
}

IMAGINED(int, cudaStreamEndCapture)(void* stream, Graph** graph) {
    return report(end_capture(stream, graph));
}

IMAGINED(int, cudaStreamIsCapturing)(void* stream, int* status) {
    return capture_status(stream, status, nullptr, nullptr);
}

// CUDA 13's; the one of CUDA 12, _v2, has no edges.
IMAGINED(int, cudaStreamGetCaptureInfo)

(void* stream, int* status, std::uint64_t* id, void** graph, void** nodes, void** edges,
 std::size_t* count) {
    if (nodes != nullptr)
        *nodes = nullptr;
    if (edges != nullptr)
        *edges = nullptr;
    if (count != nullptr)
        *count = 0;
    return capture_status(stream, status, id, graph);
}

IMAGINED(int, cudaStreamGetCaptureInfo_v2)

(void* stream, int* status, std::uint64_t* id, void** graph, void** nodes, std::size_t* count) {
    return imagined_cudaStreamGetCaptureInfo(stream, status, id, graph, nodes, nullptr, count);
}

IMAGINED(int, cudaThreadExchangeStreamCaptureMode)(int* mode) {
    static thread_local int kept = 0;
    std::swap(*mode, kept);
    return kSuccess;
}

IMAGINED(int, cudaGraphInstantiateWithFlags)(Graph** instance, Graph* graph, std::uint64_t) {
    *instance = new Graph(*graph);
    return kSuccess;
}

IMAGINED(int, cudaGraphGetNodes)(void*, void**, std::size_t* count) {
    *count = 1;
    return kSuccess;
}

IMAGINED(int, cudaGraphNodeGetDependencies)(void*, void**, void**, std::size_t* count) {
    *count = 0;
    return kSuccess;
}

IMAGINED(int, cudaGraphLaunch)(Graph*, void* handle) {
    Lock machine;
    machine->run(machine->stream_of(handle, current_device()));
    return kSuccess;
}

IMAGINED(int, cudaGraphDestroy)(Graph* graph) {
    delete graph;
    return kSuccess;
}

IMAGINED(int, cudaGraphExecDestroy)(Graph* instance) {
    delete instance;
    return kSuccess;
}

SAME_OF_DRIVER(cuStreamCreate, cudaStreamCreateWithFlags);
SAME_OF_DRIVER(cuStreamCreateWithPriority, cudaStreamCreateWithPriority);
SAME_OF_DRIVER(cuStreamDestroy_v2, cudaStreamDestroy);
SAME_OF_DRIVER(cuStreamGetPriority, cudaStreamGetPriority);
SAME_OF_DRIVER(cuStreamGetFlags, cudaStreamGetFlags);
SAME_OF_DRIVER(cuStreamQuery, cudaStreamQuery);
SAME_OF_DRIVER(cuStreamSynchronize, cudaStreamSynchronize);
SAME_OF_DRIVER(cuStreamWaitEvent, cudaStreamWaitEvent);
SAME_OF_DRIVER(cuStreamIsCapturing, cudaStreamIsCapturing);
SAME_OF_DRIVER(cuEventCreate, cudaEventCreateWithFlags);
SAME_OF_DRIVER(cuEventDestroy_v2, cudaEventDestroy);
SAME_OF_DRIVER(cuEventRecord, cudaEventRecord);
SAME_OF_DRIVER(cuEventQuery, cudaEventQuery);
SAME_OF_DRIVER(cuEventSynchronize, cudaEventSynchronize);
SAME_OF_DRIVER(cuEventElapsedTime_v2, cudaEventElapsedTime);
