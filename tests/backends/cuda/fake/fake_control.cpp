// The test's side of the fake: see fake_control.h.
#include "tests/backends/cuda/fake/fake_control.h"

#include <cstring>
#include <numeric>

#include "tests/backends/cuda/fake/fake_memory.h"
#include "tests/backends/cuda/fake/fake_queue.h"
#include "tests/backends/cuda/fake/fake_state.h"

namespace tidemark::fake {
namespace {

std::uint64_t count_spans(Span::Kind kind) {
    const auto& spans = state().spans;
    return std::accumulate(spans.begin(), spans.end(), std::uint64_t{0},
                           [&](std::uint64_t sum, const auto& each) {
                               return sum + (each.second.kind == kind ? 1 : 0);
                           });
}

std::uint64_t count_live_blocks() {
    std::uint64_t count = 0;
    for (const auto& [address, block] : state().pool_blocks)
        count += block.live ? 1 : 0;
    for (const auto& [address, block] : state().graph_blocks)
        count += block.live ? 1 : 0;
    return count;
}

// Default streams are their context's own.
std::uint64_t count_streams() {
    std::uint64_t count = state().streams.size();
    return count - state().contexts.size();
}

Leaks count_all() {
    const State& now = state();
    Leaks found;
    found.allocations = count_spans(Span::Kind::plain);
    found.pool_allocations = count_live_blocks();
    found.host_allocations = count_spans(Span::Kind::host) + now.registered.size();
    found.handles = now.handles.size();
    found.mappings = count_spans(Span::Kind::mapping);
    found.reservations = now.reservations.size();
    found.streams = count_streams();
    found.events = now.events.size();
    found.graphs = now.graphs.size() + now.executables.size();
    found.modules = now.modules.size();
    found.pools = now.pools.size() - now.devices.size();
    found.opened = count_spans(Span::Kind::opened);
    found.contexts = now.contexts.size();
    found.abandoned = now.abandoned;
    return found;
}

void say(std::string& text, std::uint64_t count, const char* what) {
    if (count == 0)
        return;
    if (!text.empty())
        text += ", ";
    text += std::to_string(count) + " " + what;
}

std::string to_text(const Leaks& found) {
    std::string text;
    say(text, found.allocations, "allocations");
    say(text, found.pool_allocations, "pool allocations");
    say(text, found.host_allocations, "host allocations");
    say(text, found.handles, "handles");
    say(text, found.mappings, "mappings");
    say(text, found.reservations, "reservations");
    say(text, found.streams, "streams");
    say(text, found.events, "events");
    say(text, found.graphs, "graphs");
    say(text, found.modules, "modules");
    say(text, found.pools, "pools");
    say(text, found.opened, "opened handles");
    say(text, found.contexts, "contexts");
    say(text, found.abandoned, "things that went with their context");
    return text;
}

}  // namespace
}  // namespace tidemark::fake

using tidemark::fake::Code;
using tidemark::fake::Config;
using tidemark::fake::Failure;
using tidemark::fake::Leaks;
using tidemark::fake::state;

#define TIDEMARK_FAKE_EXPORT extern "C" __attribute__((visibility("default")))

TIDEMARK_FAKE_EXPORT void tidemark_fake_reset(const Config* config) {
    const std::lock_guard lock(state().mutex);
    tidemark::fake::begin_anew(*config);
}

TIDEMARK_FAKE_EXPORT void tidemark_fake_fail(const char* name, std::uint64_t nth, int code,
                                             std::uint32_t how) {
    const std::lock_guard lock(state().mutex);
    state().plan = {.call = name, .nth = nth, .code = Code{code}, .how = Failure{how}};
}

TIDEMARK_FAKE_EXPORT std::uint64_t tidemark_fake_failures() {
    const std::lock_guard lock(state().mutex);
    return state().plan.struck;
}

TIDEMARK_FAKE_EXPORT std::uint64_t tidemark_fake_strays() {
    const std::lock_guard lock(state().mutex);
    return state().strays;
}

TIDEMARK_FAKE_EXPORT std::uint64_t tidemark_fake_calls(const char* name) {
    const std::lock_guard lock(state().mutex);
    std::uint64_t sum = 0;
    for (const auto& [each, count] : state().calls) {
        if (*name == '\0' || each == name)
            sum += count;
    }
    return sum;
}

TIDEMARK_FAKE_EXPORT void tidemark_fake_leaks(Leaks* found) {
    const std::lock_guard lock(state().mutex);
    *found = tidemark::fake::count_all();
}

TIDEMARK_FAKE_EXPORT const char* tidemark_fake_leaks_text() {
    static thread_local std::string text;
    const std::lock_guard lock(state().mutex);
    text = tidemark::fake::to_text(tidemark::fake::count_all());
    return text.c_str();
}

TIDEMARK_FAKE_EXPORT std::uint64_t tidemark_fake_progress(std::uint64_t count) {
    const std::lock_guard lock(state().mutex);
    return tidemark::fake::progress(count);
}

TIDEMARK_FAKE_EXPORT std::uint64_t tidemark_fake_pending() {
    const std::lock_guard lock(state().mutex);
    std::uint64_t sum = 0;
    for (const auto& [id, stream] : state().streams)
        sum += stream.queue.size();
    return sum;
}

TIDEMARK_FAKE_EXPORT void tidemark_fake_lose(int device, int code) {
    const std::lock_guard lock(state().mutex);
    for (auto& [id, context] : state().contexts) {
        if (context.device == device)
            context.lost = Code{code};
    }
}

TIDEMARK_FAKE_EXPORT int tidemark_fake_peek(std::uint64_t address, void* target, std::size_t size) {
    const std::lock_guard lock(state().mutex);
    if (!state().arena.covers(address) || !tidemark::fake::reachable(address, size, false, -1))
        return 0;
    std::memcpy(target, reinterpret_cast<const void*>(address), size);
    return 1;
}
