// The fake's beginning and end, and the life of its contexts.
#include "tests/backends/cuda/fake/fake_state.h"

#include <algorithm>
#include <atomic>

#include "tests/backends/cuda/fake/fake_memory.h"
#include "tests/backends/cuda/fake/fake_pool.h"
#include "tests/backends/cuda/fake/fake_queue.h"

namespace tidemark::fake {
namespace {

// Removes the entries that belong to a context; says how many they were.
template <class Map>
std::uint64_t erase_of(Map& entries, std::uint64_t context) {
    return std::erase_if(entries, [&](const auto& each) { return each.second.context == context; });
}

std::uint64_t erase_memory(std::uint64_t context) {
    std::vector<std::uint64_t> own;
    for (const auto& [address, span] : state().spans) {
        const bool dies = span.kind == Span::Kind::plain || span.kind == Span::Kind::host;
        if (dies && span.context == context)
            own.push_back(address);
    }
    for (const std::uint64_t address : own) {
        if (state().spans.at(address).kind == Span::Kind::plain)
            give_plain(address);
        else
            give_span(address);
    }
    return own.size();
}

}  // namespace

State& state() {
    // Never destroyed: threads of a test may still call the driver when the program ends.
    static State& one = *new State;
    return one;
}

Thread& this_thread() {
    static std::atomic<std::uint64_t> count = 0;
    thread_local Thread one;
    if (one.epoch != state().epoch)
        one = {state().epoch, one.id, {}, cuda::CUstreamCaptureMode::global};
    if (one.id == 0)
        one.id = ++count;
    return one;
}

Context* current_context() {
    const Thread& thread = this_thread();
    if (thread.contexts.empty())
        return nullptr;
    const auto found = state().contexts.find(thread.contexts.back());
    return found == state().contexts.end() ? nullptr : &found->second;
}

Physical::~Physical() {
    if (device < 0)
        return;
    if (charged)
        refund(device, size);
    if (!own)
        state().devices[static_cast<std::size_t>(device)].bytes.drop(offset, size);
}

const Backing& Physical::backing() const {
    return own ? *own : state().devices[static_cast<std::size_t>(device)].bytes;
}

void begin_anew(const Config& config) {
    State& now = state();
    now.functions.clear();
    now.modules.clear();
    now.executables.clear();
    now.graphs.clear();
    now.events.clear();
    now.streams.clear();
    now.contexts.clear();
    now.past_primaries.clear();
    now.graph_blocks.clear();
    now.pools.clear();
    now.pool_blocks.clear();
    now.registered.clear();
    now.spans.clear();
    now.handles.clear();
    now.reservations.clear();
    now.devices.clear();
    now.arena.begin(config.address_space);
    now.config = config;
    now.configured = true;
    now.started = false;
    now.abandoned = 0;
    now.plan = {};
    now.calls.clear();
    now.streams_made = 0;
    now.streams_gone.clear();
    now.strays = 0;
    ++now.epoch;
    for (std::uint32_t i = 0; i < config.devices; ++i) {
        Device device;
        device.bytes = Backing::make();
        device.pool = now.new_id();
        now.pools.emplace(device.pool, Pool{.device = static_cast<int>(i)});
        now.devices.push_back(std::move(device));
    }
}

void destroy_context(std::uint64_t id, bool given_up) {
    State& now = state();
    const auto found = now.contexts.find(id);
    if (found == now.contexts.end())
        return;
    const Context context = found->second;
    if (context.lost == Code::success)
        finish_all(id);
    now.streams.erase(context.default_stream);
    std::erase_if(now.functions, [&](const auto& each) {
        return now.modules.at(each.second.module).context == id;
    });
    std::uint64_t left = erase_of(now.streams, id) + erase_of(now.events, id) +
                         erase_of(now.modules, id) + erase_memory(id);
    if (given_up && context.lost == Code::success)
        now.abandoned += left;
    now.contexts.erase(id);
    if (!context.primary)
        return;
    Device& device = now.devices[static_cast<std::size_t>(context.device)];
    device.context = 0;
    device.lost = context.lost;
    now.past_primaries.insert(id);
    end_doomed_pools(context.device);
}

}  // namespace tidemark::fake
