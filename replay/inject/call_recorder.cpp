// The handlers of calls, and when publishing starts: with the first call that recorded memory
// depends on, because only then the driver says which GPUs there are.
#include "replay/inject/call_recorder.h"

#include <algorithm>
#include <array>
#include <type_traits>
#include <utility>

#include <fmt/format.h>

#include "replay/inject/kept_errno.h"
#include "traces/model/trace.h"

namespace tidemark::inject {
namespace {

using cuda::CUresult;
using live::RecordKind;
using live::ReportedEvent;

struct RecordedCall {
    std::uint32_t number;
    std::string_view tag;
};

// What is done for one: apart from what is said of it, so that those in use share few lines of the
// caches.
struct Handler {
    void (*take)(CallRecorder&, const Call&);
    bool per_thread;
    bool acts_on_entry;
};

// Without what tells variants of a function apart.
constexpr std::string_view plain_name(std::string_view name) {
    for (const std::string_view ending : {"_ptsz", "_ptds", "_v2"}) {
        if (name.ends_with(ending))
            name.remove_suffix(ending.size());
    }
    return name;
}

constexpr bool is_per_thread(std::string_view name) {
    return name.ends_with("_ptsz") || name.ends_with("_ptds");
}

// A function as a type: to compare two of them is a constant then, under sanitizers too.
template <void (CallRecorder::*take)(const Call&)>
struct Handles {};

template <class Taker, void (CallRecorder::*... takes)(const Call&)>
constexpr bool kIsOneOf = (std::is_same_v<Taker, Handles<takes>> || ...);

// What ends, ends when its call is entered; anything else is done when it comes back.
template <void (CallRecorder::*take)(const Call&)>
constexpr bool kActsOnEntry =
    kIsOneOf<Handles<take>, &CallRecorder::free, &CallRecorder::free_async,
             &CallRecorder::destroy_array, &CallRecorder::unreserve, &CallRecorder::destroy_pool,
             &CallRecorder::release_physical>;

// Functions that calls pass through are close together.
template <void (CallRecorder::*take)(const Call&)>
[[gnu::hot]] void handle(CallRecorder& recorder, const Call& call) {
    (recorder.*take)(call);
}

template <void (CallRecorder::*take)(const Call&)>
constexpr Handler handler_of(std::string_view name) {
    return {handle<take>, is_per_thread(name), kActsOnEntry<take>};
}

#define TIDEMARK_RECORDED_CALL(name, number, handler, tag) RecordedCall{number, tag},
#define TIDEMARK_LAUNCHED_CALL(name, number, handler) RecordedCall{number, plain_name(#name)},
constexpr std::array kCalls{
#include "replay/inject/launched_calls.inc"
#include "replay/inject/recorded_calls.inc"
};
#undef TIDEMARK_RECORDED_CALL
#undef TIDEMARK_LAUNCHED_CALL

#define TIDEMARK_RECORDED_CALL(name, number, handler, tag) \
    handler_of<&CallRecorder::handler>(#name),
#define TIDEMARK_LAUNCHED_CALL(name, number, handler) \
    handler_of<&CallRecorder::use<&UseRecorder::handler>>(#name),
constexpr std::array kHandlers{
#include "replay/inject/launched_calls.inc"
#include "replay/inject/recorded_calls.inc"
};
#undef TIDEMARK_RECORDED_CALL
#undef TIDEMARK_LAUNCHED_CALL

constexpr std::size_t kNumbers = 1024;
constexpr std::uint8_t kNoCall = 0xff;

// CUPTI's numbers to indices of kCalls.
constexpr auto kIndices = [] {
    std::array<std::uint8_t, kNumbers> indices{};
    indices.fill(kNoCall);
    for (std::size_t i = 0; i < kCalls.size(); ++i)
        indices[kCalls[i].number] = static_cast<std::uint8_t>(i);
    return indices;
}();

constexpr auto kTags = [] {
    std::array<std::string_view, kCalls.size()> tags;
    std::ranges::transform(kCalls, tags.begin(), &RecordedCall::tag);
    return tags;
}();

thread_local constinit CallingThread calling_thread;

// Bytes of an element; 0: a format whose planes or blocks don't say.
std::uint64_t element_size(int format, unsigned channels) {
    switch (format) {
        case 0x01:  // CU_AD_FORMAT_UNSIGNED_INT8
        case 0x08:  // SIGNED_INT8
            return channels;
        case 0x02:  // UNSIGNED_INT16
        case 0x09:  // SIGNED_INT16
        case 0x10:  // HALF
            return std::uint64_t{2} * channels;
        case 0x03:  // UNSIGNED_INT32
        case 0x0a:  // SIGNED_INT32
        case 0x20:  // FLOAT
            return std::uint64_t{4} * channels;
        default:
            return 0;
    }
}

std::uint64_t array_size(const Array3dDescriptor& array, unsigned levels) {
    std::uint64_t size = 0;
    for (unsigned level = 0; level < levels && level < 32; ++level)
        size += std::max<std::uint64_t>(array.width >> level, 1) *
                std::max<std::uint64_t>(array.height >> level, 1) *
                std::max<std::uint64_t>(array.depth >> level, 1);
    return size * element_size(array.format, array.channels);
}

std::string graph_memory_text(std::uint64_t size) {
    return fmt::format("a graph allocates {} bytes while it runs", size);
}

ReportedEvent end_of(const PhysicalPiece& piece) {
    return {.kind = RecordKind::free,
            .device = piece.device,
            .address = piece.base,
            .size = piece.size};
}

ReportedEvent allocation_of(std::uint8_t device, std::uint64_t address, std::uint64_t size) {
    return {.kind = RecordKind::allocate,
            .device = device,
            .address = address,
            .size = size,
            .extra = size};
}

}  // namespace

CallRecorder::CallRecorder(const Cupti& cupti, const RecordOptions& options,
                           const ReportFile& report)
    : cupti_(cupti),
      memory_(options, report, kTags, options.uses ? &ranges_ : nullptr),
      times_(memory_),
      uses_(memory_, ranges_, driver_, captures_, times_) {}

bool CallRecorder::start() {
    std::vector<live::LiveDevice> devices = driver_.devices();
    devices.resize(std::min(devices.size(), live::kMostDevices - 1));
    host_ = static_cast<std::uint8_t>(devices.size());
    devices.push_back({.name = std::string(kHostMemory)});
    return memory_.start(devices, {{std::string(kRecorderKey), std::string(kDriverCalls)},
                                   {"cupti", cupti_.path()},
                                   {"cuda_driver", fmt::format("{}", driver_.version())},
                                   {"gpu_times", times_.started() ? "recorded" : "not recorded"}});
}

[[gnu::hot]] void CallRecorder::on_driver_call(std::uint32_t id, const CUpti_CallbackData& data) {
    const std::uint8_t index = id < kNumbers ? kIndices[id] : kNoCall;
    if (index == kNoCall)
        return;
    const Handler& handler = kHandlers[index];
    CallingThread& thread = calling_thread;
    const bool enters = data.site == CallbackSite::enter;
    if (enters) {
        if (++thread.depth > 1 || !handler.acts_on_entry)
            return;
    } else if (thread.depth > 0 && --thread.depth > 0) {
        return;
    }
    const KeptErrno error;
    Call call{.thread = thread,
              .index = index,
              .enters = enters,
              .per_thread = handler.per_thread,
              .params = data.function_params,
              .context = data.context,
              .symbol = data.symbol_name,
              .correlation = data.correlation_id};
    if (!enters) {
        call.result = *static_cast<const CUresult*>(data.function_return_value);
        if (!memory_.started() && !start())
            return;
    }
    handler.take(*this, call);
}

inline std::uint8_t CallRecorder::device_of(const Call& call) const {
    CallingThread& thread = call.thread;
    const std::uint32_t ends = context_ends_.load(std::memory_order_relaxed);
    if (call.context != thread.context || ends != thread.context_ends || call.context == nullptr)
        [[unlikely]] {
        thread.device = gpu(cupti_.device_of(call.context));
        thread.context = call.context;
        thread.context_ends = ends;
    }
    return thread.device;
}

void CallRecorder::on_resource(std::uint32_t id, cuda::CUcontext context) {
    const KeptErrno error;
    if (id == kModuleUnloadStarting || id == kContextDestroyStarting)
        uses_.on_unload();
    if (id == kContextCreated)
        memory_.mark(fmt::format("context created on device {}", cupti_.device_of(context)));
    if (id != kContextDestroyStarting)
        return;
    memory_.end_context(context, cupti_.device_of(context));
    context_ends_.fetch_add(1);
}

// What begins, or was refused.
inline void CallRecorder::begin(const Call& call, ReportedEvent&& event) {
    if (call.result == CUresult::out_of_memory) [[unlikely]]
        memory_.refuse(event, call.index);
    else if (event.address != 0 && event.device != kNoDevice)
        memory_.begin(std::move(event), call.context, call.index);
}

inline void CallRecorder::end(std::uint64_t address, std::uint64_t stream, const Call& call) {
    CallingThread& thread = call.thread;
    if (call.enters)
        thread.has_ended = memory_.end(address, stream, call.index, thread.ended);
    else if (std::exchange(thread.has_ended, false) && call.result != CUresult::success)
        [[unlikely]]
        memory_.begin_again(thread.ended, stream, call.index);
}

void CallRecorder::allocate(const Call& call) {
    const auto& params = call.as<AllocateParams>();
    begin(call,
          allocation_of(device_of(call), call.succeeded() ? *params.address : 0, params.size));
}

void CallRecorder::allocate_pitch(const Call& call) {
    const auto& params = call.as<AllocatePitchParams>();
    begin(call, allocation_of(device_of(call), call.succeeded() ? *params.address : 0,
                              (call.succeeded() ? *params.pitch : params.width) * params.height));
}

[[gnu::always_inline]] inline void CallRecorder::allocate_on_stream(const Call& call,
                                                                    const AllocateParams& request,
                                                                    NumberedPool pool,
                                                                    cuda::CUstream stream) {
    if (captures_.load(std::memory_order_relaxed) > 0 &&
        driver_.is_capturing(stream, call.per_thread)) [[unlikely]] {
        if (call.succeeded())
            memory_.mark(graph_memory_text(request.size));
        return;
    }
    begin(call, {.kind = RecordKind::allocate,
                 .device = pool.device,
                 .stream = call.handle_of(stream),
                 .address = call.succeeded() ? *request.address : 0,
                 .size = request.size,
                 .extra = request.size,
                 .pool = PoolId{pool.number}});
}

void CallRecorder::allocate_async(const Call& call) {
    const auto& params = call.as<AllocateAsyncParams>();
    const std::uint8_t device = device_of(call);
    const std::uint32_t pool = device == kNoDevice ? 0 : pools_.current(device);
    allocate_on_stream(call, params.request, {pool, device}, params.stream);
}

void CallRecorder::allocate_from_pool(const Call& call) {
    const auto& params = call.as<AllocateFromPoolParams>();
    allocate_on_stream(call, params.request, pools_.find(params.pool, device_of(call)),
                       params.stream);
}

void CallRecorder::allocate_host(const Call& call) {
    const auto& params = call.as<AllocateParams>();
    begin(call, allocation_of(host_, call.succeeded() ? *params.address : 0, params.size));
}

void CallRecorder::register_host(const Call& call) {
    const auto& params = call.as<RegisterParams>();
    begin(call, allocation_of(host_, call.succeeded() ? params.address : 0, params.size));
}

void CallRecorder::free(const Call& call) {
    end(call.as<FreeParams>().address, 0, call);
}

void CallRecorder::free_async(const Call& call) {
    const auto& params = call.as<FreeAsyncParams>();
    end(params.address, call.handle_of(params.stream), call);
}

void CallRecorder::allocate_array(const Call& call, std::uint64_t handle,
                                  const Array3dDescriptor& array, unsigned levels) {
    const std::uint64_t size = array_size(array, levels);
    if (size == 0 || (array.flags & (kArraySparse | kArrayDeferredMapping)) != 0)
        return;
    begin(call, allocation_of(device_of(call), handle == 0 ? 0 : kArrayBase + handle, size));
}

void CallRecorder::create_array(const Call& call) {
    const auto& params = call.as<ArrayParams>();
    const ArrayDescriptor& plain = *params.array;
    allocate_array(call, call.succeeded() ? *params.handle : 0,
                   {.width = plain.width,
                    .height = plain.height,
                    .format = plain.format,
                    .channels = plain.channels},
                   1);
}

void CallRecorder::create_array_3d(const Call& call) {
    const auto& params = call.as<Array3dParams>();
    allocate_array(call, call.succeeded() ? *params.handle : 0, *params.array, 1);
}

void CallRecorder::create_mipmapped(const Call& call) {
    const auto& params = call.as<MipmappedArrayParams>();
    allocate_array(call, call.succeeded() ? *params.handle : 0, *params.array, params.levels);
}

void CallRecorder::destroy_array(const Call& call) {
    end(kArrayBase + call.as<FreeParams>().address, 0, call);
}

void CallRecorder::reserve(const Call& call) {
    const auto& params = call.as<ReserveParams>();
    if (call.succeeded())
        memory_.emit({.kind = RecordKind::reserve, .address = *params.address, .size = params.size},
                     call.index);
}

void CallRecorder::unreserve(const Call& call) {
    const auto& params = call.as<RangeParams>();
    if (!call.succeeded())
        memory_.emit({.kind = call.enters ? RecordKind::unreserve : RecordKind::reserve,
                      .address = params.address,
                      .size = params.size},
                     call.index);
}

void CallRecorder::create_physical(const Call& call) {
    const auto& params = call.as<CreateParams>();
    const cuda::CUmemLocation& where = params.properties->location;
    ReportedEvent event{
        .kind = RecordKind::allocate,
        .device = where.type == cuda::CUmemLocationType::device ? gpu(where.id) : host_,
        .size = params.size,
        .extra = params.size};
    if (call.succeeded() && event.device != kNoDevice)
        event.address = physical_.create(*params.handle, params.size, event.device).base;
    if (call.succeeded())
        memory_.emit(std::move(event), call.index);
    else
        begin(call, std::move(event));
}

void CallRecorder::release_physical(const Call& call) {
    const cuda::CUmemHandle handle = call.as<ReleaseParams>().handle;
    if (call.enters) {
        call.thread.physical = physical_.begin_release(handle);
        return;
    }
    const std::uint64_t base = std::exchange(call.thread.physical, 0);
    if (base == 0)
        return;
    if (!call.succeeded())
        physical_.undo_release(handle, base);
    else if (const auto piece = physical_.end_release(base))
        memory_.emit(end_of(*piece), call.index);
}

void CallRecorder::retain_physical(const Call& call) {
    const auto& params = call.as<RetainParams>();
    if (call.succeeded())
        physical_.retain(*params.handle, params.address);
}

void CallRecorder::map(const Call& call) {
    if (!call.succeeded())
        return;
    const auto& params = call.as<MapParams>();
    const Mapping mapping =
        physical_.map(params.handle, params.address, params.size, params.offset, device_of(call));
    memory_.emit({.kind = RecordKind::map,
                  .device = mapping.device,
                  .address = mapping.address,
                  .size = mapping.size,
                  .extra = mapping.home},
                 call.index);
}

void CallRecorder::unmap(const Call& call) {
    if (!call.succeeded())
        return;
    const auto& params = call.as<RangeParams>();
    std::vector<PhysicalPiece> ended;
    for (const Mapping& mapping : physical_.unmap(params.address, params.size, ended))
        memory_.emit({.kind = RecordKind::unmap,
                      .device = mapping.device,
                      .address = mapping.address,
                      .size = mapping.size,
                      .extra = mapping.home},
                     call.index);
    for (const PhysicalPiece& piece : ended)
        memory_.emit(end_of(piece), call.index);
}

void CallRecorder::open_ipc(const Call& call) {
    if (!call.succeeded())
        return;
    const std::uint64_t address = *call.as<IpcOpenParams>().address;
    begin(call, {.kind = RecordKind::map,
                 .device = device_of(call),
                 .address = address,
                 .size = driver_.size_at(address),
                 .extra = kElsewhere});
}

void CallRecorder::create_pool(const Call& call) {
    const auto& params = call.as<PoolCreateParams>();
    if (call.succeeded())
        pools_.add(*params.pool, gpu(params.properties->location.id), false);
}

void CallRecorder::destroy_pool(const Call& call) {
    if (call.enters)
        pools_.remove(call.as<PoolDestroyParams>().pool);
}

void CallRecorder::default_pool(const Call& call) {
    const auto& params = call.as<PoolOfDeviceParams>();
    if (call.succeeded())
        pools_.add(*params.pool, gpu(params.device), true);
}

void CallRecorder::set_pool(const Call& call) {
    const auto& params = call.as<SetPoolParams>();
    const std::uint8_t device = gpu(params.device);
    if (call.succeeded() && device != kNoDevice)
        pools_.set_current(device, pools_.find(params.pool, device).number);
}

void CallRecorder::add_graph_memory(const Call& call) {
    if (call.succeeded())
        memory_.mark(graph_memory_text(call.as<GraphAllocateParams>().memory->size));
}

void CallRecorder::begin_capture(const Call& call) {
    if (call.succeeded())
        captures_.fetch_add(1);
}

// A capture that was spoiled ends as well, with an error.
void CallRecorder::end_capture(const Call& /*call*/) {
    if (captures_.load() > 0)
        captures_.fetch_sub(1);
}

}  // namespace tidemark::inject
