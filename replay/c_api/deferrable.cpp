// Buffers that keep their addresses: pins, deferral, retrieval, and what happens to them.
#include <algorithm>
#include <utility>
#include <vector>

#include "replay/c_api/errors.h"
#include "replay/c_api/store_state.h"

using namespace tidemark;
using namespace tidemark::c_api;

namespace {

// As with(), with the store's deferrable buffers.
template <class F>
tm_status with_deferrables(const char* call, tm_store* store,
                           std::initializer_list<const void*> needed, F&& work) {
    return with(call, store, needed, [&](StoreState& state) -> tm_status {
        const auto memory = state.deferrables();
        return memory ? std::forward<F>(work)(state, **memory) : c_api::fail(memory.error());
    });
}

// And one of them.
template <class F>
tm_status with_deferrable(const char* call, tm_store* store, std::uint64_t number,
                          std::initializer_list<const void*> needed, F&& work) {
    return with_deferrables(call, store, needed,
                            [&](StoreState& state, DeferrableStore& memory) -> tm_status {
                                const auto buffer = state.deferrable(number);
                                return buffer ? std::forward<F>(work)(state, memory, *buffer)
                                              : c_api::fail(buffer.error());
                            });
}

tm_buffer_facts facts_of(const DeferrableInfo& info) {
    tm_buffer_facts facts{};
    facts.struct_size = sizeof(facts);
    facts.buffer = number_of_deferrable(info.id);
    facts.bytes = info.size;
    facts.address = to_integer(info.address);
    facts.uses = info.uses;
    facts.pins = info.pins;
    facts.state = static_cast<tm_buffer_state>(info.state);
    facts.tier = info.residence ? static_cast<std::int32_t>(tier_of(*info.residence)) : -1;
    return facts;
}

tm_defer_answer answer_of(DeferAnswer answer) {
    switch (answer) {
        case DeferAnswer::deferred:
            return TM_DEFERRED;
        case DeferAnswer::busy:
            return TM_BUSY;
        case DeferAnswer::no_room:
            return TM_NO_ROOM;
        case DeferAnswer::away:
        case DeferAnswer::freed:
            break;
    }
    return TM_AWAY;
}

}  // namespace

tm_status tm_buffer_pin(tm_store* store, const uint64_t* buffers, size_t count, tm_mode mode,
                        tm_stream stream, uint64_t patience, tm_access** access) {
    return with_deferrables(
        "tm_buffer_pin", store, {buffers, access},
        [&](StoreState& state, DeferrableStore& memory) -> tm_status {
            *access = nullptr;
            if (!Streams::known(stream))
                return c_api::fail(
                    {ErrorCode::bad_option, "a pin needs a known stream", "stream", ""});
            std::vector<Deferrable> handles;
            for (std::size_t i = 0; i < count; ++i) {
                auto handle = state.deferrable(buffers[i]);
                if (!handle)
                    return c_api::fail(handle.error());
                handles.push_back(std::move(*handle));
            }
            std::vector<DeferrableUse> uses;
            for (const Deferrable& handle : handles)
                uses.push_back({&handle, mode != TM_READ});
            auto pins = memory.pin_all(
                uses, patience == 0 ? std::nullopt : std::optional(nanoseconds_of(patience)));
            if (!pins)
                return c_api::fail(pins.error());
            for (DeferrablePin& pin : *pins)
                pin.set_stream(state.stream_of(stream));
            *access = new tm_access{store->state, {}, std::move(*pins)};
            return TM_OK;
        });
}

tm_status tm_buffer_defer(tm_store* store, uint64_t buffer, uint32_t flags,
                          tm_defer_answer* answer) {
    return with_deferrable(
        "tm_buffer_defer", store, buffer, {},
        [&](StoreState& state, DeferrableStore& memory, const Deferrable& one) -> tm_status {
            DeferAnswer said = memory.try_defer(one);
            if (said == DeferAnswer::busy && (flags & TM_PATIENT) != 0) {
                (void)state.store().wait(memory.defer(one));
                const DeferrableState now = memory.info(one).state;
                const bool left =
                    now == DeferrableState::deferred || now == DeferrableState::retrieving;
                said = left ? DeferAnswer::deferred : memory.try_defer(one);
            }
            if (const auto why = wait_ended())
                return c_api::fail(*why);
            if (said == DeferAnswer::freed)
                return c_api::fail(
                    {ErrorCode::not_found, "the buffer has been freed", "buffer", ""});
            if (answer != nullptr)
                *answer = answer_of(said);
            return TM_OK;
        });
}

tm_status tm_buffer_retrieve(tm_store* store, uint64_t buffer, uint32_t flags) {
    return with_deferrable(
        "tm_buffer_retrieve", store, buffer, {},
        [&](StoreState& state, DeferrableStore& memory, const Deferrable& one) -> tm_status {
            const bool make_room = (flags & TM_MAKE_ROOM) != 0;
            return status_of(state.store().wait(memory.retrieve(one, make_room)));
        });
}

tm_status tm_buffer_look(tm_store* store, uint64_t buffer, tm_buffer_facts* facts) {
    return with_deferrable(
        "tm_buffer_look", store, buffer, {},
        [&](StoreState&, DeferrableStore& memory, const Deferrable& one) -> tm_status {
            return copy_out(facts, facts_of(memory.info(one)));
        });
}

tm_status tm_buffer_at(tm_store* store, uint64_t address, uint64_t* buffer) {
    return with_deferrables(
        "tm_buffer_at", store, {buffer}, [&](StoreState&, DeferrableStore& memory) -> tm_status {
            const Deferrable found = memory.find(Address{address});
            if (!found)
                return c_api::fail(
                    {ErrorCode::not_found, "no buffer has that address", "address", ""});
            *buffer = number_of_deferrable(found.id());
            return TM_OK;
        });
}

tm_status tm_store_deferrables(tm_store* store, tm_buffer_facts* facts, size_t capacity,
                               size_t* count) {
    return with_deferrables("tm_store_deferrables", store, {},
                            [&](StoreState&, DeferrableStore& memory) -> tm_status {
                                if (facts == nullptr && capacity != 0)
                                    return fail_of_null("tm_store_deferrables");
                                const std::vector<DeferrableInfo> all = memory.buffers();
                                for (std::size_t i = 0; i < std::min(capacity, all.size()); ++i)
                                    facts[i] = facts_of(all[i]);
                                if (count != nullptr)
                                    *count = all.size();
                                return TM_OK;
                            });
}

tm_status tm_store_statistics(tm_store* store, tm_deferrable_statistics* statistics) {
    return with_deferrables("tm_store_statistics", store, {},
                            [&](StoreState&, DeferrableStore& memory) -> tm_status {
                                const DeferrableStatistics now = memory.statistics();
                                tm_deferrable_statistics all{};
                                all.buffers = now.buffers;
                                all.bytes = now.bytes;
                                all.resident = now.resident;
                                all.resident_bytes = now.resident_bytes;
                                all.pins = now.pins;
                                all.uses = now.uses;
                                all.waited = now.waited;
                                all.deferrals = now.deferrals;
                                all.retrievals = now.retrievals;
                                all.failures = now.failures;
                                all.pressures = now.pressures;
                                all.unrelieved = now.unrelieved;
                                all.lost_events = now.lost_events;
                                return copy_out(statistics, all);
                            });
}

// Events.

tm_status tm_store_watch(tm_store* store) {
    return with_deferrables(
        "tm_store_watch", store, {}, [](StoreState&, DeferrableStore& memory) -> tm_status {
            if (!memory.subscribe())
                return c_api::fail({ErrorCode::unsupported,
                                    "the store already has a reader of events", "store", ""});
            return TM_OK;
        });
}

tm_status tm_store_events(tm_store* store, uint64_t patience, tm_store_event* events,
                          size_t capacity, size_t* count) {
    return with_deferrables(
        "tm_store_events", store, {events, count},
        [&](StoreState&, DeferrableStore& memory) -> tm_status {
            constexpr std::uint64_t kLongest = 3'600'000'000'000;
            constexpr std::uint64_t kAtOnce = 50'000'000;
            std::vector<DeferrableEvent> taken;
            for (std::uint64_t left = std::min(patience, kLongest);;) {
                const std::uint64_t part = std::min(left, kAtOnce);
                taken = memory.events().take(nanoseconds_of(part), capacity);
                left -= part;
                if (!taken.empty() || left == 0 || !memory.events().subscribed())
                    break;
                if (const auto why = wait_ended())
                    return c_api::fail(*why);
            }
            for (std::size_t i = 0; i < taken.size(); ++i) {
                const bool of_one = taken[i].kind != DeferrableEvent::Kind::pressure;
                events[i] = {of_one ? number_of_deferrable(taken[i].id) : 0, taken[i].size,
                             static_cast<std::uint32_t>(taken[i].kind), 0};
            }
            *count = taken.size();
            return TM_OK;
        });
}

tm_status tm_store_unwatch(tm_store* store) {
    return with_deferrables("tm_store_unwatch", store, {},
                            [](StoreState&, DeferrableStore& memory) -> tm_status {
                                memory.events().unsubscribe();
                                return TM_OK;
                            });
}

tm_status tm_store_stop(tm_store* store) {
    return with("tm_store_stop", store, {}, [](StoreState& state) -> tm_status {
        if (const auto memory = state.deferrables())
            (*memory)->close();
        return TM_OK;
    });
}

tm_status tm_stream_ended(tm_store* store, tm_stream stream) {
    return with_deferrables("tm_stream_ended", store, {},
                            [&](StoreState& state, DeferrableStore& memory) -> tm_status {
                                memory.stream_ended(state.stream_of(stream));
                                return TM_OK;
                            });
}

tm_status tm_store_copy(tm_store* store, uint64_t target, uint64_t source, uint64_t bytes,
                        tm_stream stream, int wait) {
    return with("tm_store_copy", store, {}, [&](StoreState& state) -> tm_status {
        const auto device = state.device();
        if (!device)
            return c_api::fail(device.error());
        const StreamId on = state.stream_of(stream);
        DeviceResult<void> done;
        if (bytes != 0)
            done = (*device)->copy(Address{target}, Address{source}, bytes, on);
        if (done && wait != 0)
            done = (*device)->synchronize(on);
        return done ? TM_OK : c_api::fail((*device)->explain(done.error()));
    });
}
