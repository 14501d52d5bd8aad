// The devices, their addresses as the program sees them, and streams.
#include "backends/imagined/machine.h"

#include <algorithm>

#include <pthread.h>

#include "backends/imagined/api.h"
#include "backends/imagined/journal.h"

namespace tidemark::imagined {
namespace {

constexpr int kWindow = 52;  // each device's addresses, by their bits
constexpr Pointer kMiddle = Pointer{1} << 51;
constexpr Pointer kInWindow = (Pointer{1} << kWindow) - 1;

// The host takes no time, so a kernel of any duration is pending until the program waits; what
// counts is how many a stream has before it.
constexpr Nanoseconds kKernel = 10'000;

std::recursive_mutex& guard() {
    static auto* const one = new std::recursive_mutex;
    return *one;
}

SimConfig config_of(const Card& card, const CostProfile& profile) {
    SimConfig config;
    config.capacity = card.memory;
    config.held = card.context;
    config.profile = &profile;
    config.placement = Placement::driver;
    config.late_hole = {LateHole::kWhenSaid, card.late_hole};
    return config;
}

}  // namespace

Machine::Machine() {
    for (int index = 0; index < settings().gpus; ++index)
        devices_.push_back(std::make_unique<SimDevice>(config_of(settings().card, profile_)));
    contexts_.resize(devices_.size());
    for (Context& context : contexts_)
        context.held = settings().card.context;
    const Range span = devices_.front()->placement_span();
    top_ = to_integer(span.begin) + span.size;
    note_process();
    pthread_atfork([] { guard().lock(); }, [] { guard().unlock(); }, [] { guard().unlock(); });
}

Machine& Machine::get() {
    static auto* const one = new Machine;  // outlives every thread
    return *one;
}

Pointer Machine::to_pointer(int device, Address address) const {
    const Pointer at = to_integer(address);
    const Pointer within = at < kMiddle ? at : kInWindow + 1 - (top_ - at);
    return (static_cast<Pointer>(device + 1) << kWindow) | within;
}

Address Machine::to_address(Pointer pointer) const {
    const Pointer within = pointer & kInWindow;
    return Address{within < kMiddle ? within : top_ - (kInWindow + 1 - within)};
}

std::optional<int> Machine::device_of(Pointer pointer) const {
    const Pointer window = pointer >> kWindow;
    if (window == 0 || window > devices_.size())
        return std::nullopt;
    return static_cast<int>(window) - 1;
}

Stream Machine::stream_of(const void* handle, int device) const {
    const auto number = reinterpret_cast<std::uintptr_t>(handle);
    if (number <= 2)  // the default stream, the legacy one, and the thread's own
        return {StreamId{0}, device, 0, 0};
    return *static_cast<const Stream*>(handle);
}

Stream* Machine::make_stream(int device, unsigned flags, int priority) {
    return new Stream{StreamId{++streams_}, device, priority, flags};
}

void Machine::run(const Stream& stream) {
    used_.insert(stream.id);
    launches() = true;
    if (settings().late)
        device(stream.device).queue_kernel(stream.id, kKernel);
}

void Machine::hold(int index, Bytes memory, Bytes addresses) {
    contexts_[static_cast<std::size_t>(index)].held += memory;
    device(index).hold(memory, addresses);
}

void Machine::take_beside(int index, Pointer at, Bytes size) {
    Context& context = contexts_[static_cast<std::size_t>(index)];
    context.beside[at] = size;
    context.now_beside += size;
    context.most_beside = std::max(context.most_beside, context.now_beside);
}

void Machine::give_beside(int index, Pointer at) {
    Context& context = contexts_[static_cast<std::size_t>(index)];
    const auto found = context.beside.find(at);
    if (found == context.beside.end())
        return;
    context.now_beside -= found->second;
    context.beside.erase(found);
}

void Machine::first_use(int index, const std::string& what) {
    Context& context = contexts_[static_cast<std::size_t>(index)];
    const auto found = settings().card.first_uses.find(what);
    if (found == settings().card.first_uses.end() || !context.used.insert(what).second)
        return;
    context.held += found->second.memory;
    device(index).hold(found->second.memory, 0);
    for (const Bytes addresses : found->second.addresses)
        device(index).hold(0, addresses);
    if (what == "kernels")
        device(index).open_late_hole();
}

Lock::Lock() : held_(guard()) {}

bool& launches() {
    static thread_local bool begun = false;
    return begun;
}

int& current_device() {
    static thread_local int device = 0;
    return device;
}

int& last_error() {
    static thread_local int error = 0;
    return error;
}

int report(int status) {
    if (status != kSuccess)
        last_error() = status;
    return status;
}

int to_status(const DeviceError& error) {
    switch (error.status) {
        case DeviceStatus::out_of_memory:
        case DeviceStatus::address_space:
            ++Machine::get().refused;
            return kOutOfMemory;
        case DeviceStatus::not_permitted:
            return kNotPermitted;
        case DeviceStatus::not_supported:
            return kNotSupported;
        default:
            return kInvalidValue;
    }
}

}  // namespace tidemark::imagined

// For queries about how the run went.
IMAGINED(std::uint64_t, streams_used)() {
    return tidemark::imagined::Lock()->streams_used();
}

IMAGINED(std::uint64_t, held)(int device) {
    return tidemark::imagined::Lock()->held(device);
}

IMAGINED(std::uint64_t, refused)() {
    return tidemark::imagined::Lock()->refused;
}
