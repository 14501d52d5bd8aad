// Buffers in tiers: a TieredStore with the memory that it works on.
#include <algorithm>
#include <utility>
#include <vector>

#include "core/tiers/store/pin_desk.h"
#include "replay/c_api/errors.h"
#include "replay/c_api/store_state.h"

namespace tidemark::c_api {
namespace {

AccessMode mode_of(tm_mode mode) {
    switch (mode) {
        case TM_READ:
            return AccessMode::read;
        case TM_WRITE:
            return AccessMode::write;
        case TM_OVERWRITE:
            return AccessMode::overwrite;
        case TM_PIN:
            break;
    }
    return AccessMode::pin;
}

}  // namespace
}  // namespace tidemark::c_api

using namespace tidemark;
using namespace tidemark::c_api;

namespace {

// As with(), in a tier of the store.
template <class F>
tm_status with_space(const char* call, tm_store* store, tm_tier tier,
                     std::initializer_list<const void*> needed, F&& work) {
    return with(call, store, needed, [&](StoreState& state) -> tm_status {
        const auto space = state.memory_of(tier);
        return space ? std::forward<F>(work)(state, **space) : c_api::fail(space.error());
    });
}

// The program's word on a buffer.
template <class Say>
tm_status say_of(const char* call, tm_store* store, uint64_t buffer, Say say) {
    return with(call, store, {}, [&](StoreState& state) -> tm_status {
        const auto one = state.buffer(buffer);
        if (!one || !say(state.store(), *one))
            return c_api::fail({ErrorCode::not_found, "the buffer is gone", "buffer", ""});
        return TM_OK;
    });
}

}  // namespace

tm_status tm_store_open(const tm_store_options* given, tm_store** store) {
    return guarded([&]() -> tm_status {
        if (store == nullptr)
            return fail_of_null("tm_store_open");
        *store = nullptr;
        tm_store_options options{};
        if (const tm_status bad = copy_in(given, options); bad != TM_OK)
            return bad;
        auto opened =
            StoreState::open({.gpu = options.gpu,
                              .gpu_bytes = options.gpu_bytes,
                              .host_bytes = options.host_bytes,
                              .directory = text_or_empty(options.directory),
                              .disk_bytes = options.disk_bytes,
                              .victims = text_or_empty(options.victims),
                              .controller_patience = nanoseconds_of(options.controller_patience),
                              .spill_start = options.spill_start,
                              .spill_stop = options.spill_stop,
                              .prefetch = text_or_empty(options.prefetch)});
        if (!opened)
            return c_api::fail(opened.error());
        *store = new tm_store{std::move(*opened)};
        return TM_OK;
    });
}

tm_status tm_store_close(tm_store* store) {
    begin_call();
    return guarded([&]() -> tm_status {
        if (store == nullptr)
            return TM_OK;
        // Accesses keep it: it ends with the last of them.
        if (store->state.use_count() == 1) {
            const auto closed = store->state->store().close(false);
            if (!closed)
                return c_api::fail(closed.error());
        }
        delete store;
        return TM_OK;
    });
}

tm_status tm_buffer_create(tm_store* store, uint64_t bytes, tm_tier tier, uint32_t flags,
                           uint64_t reservation, uint64_t* buffer) {
    return with_space(
        "tm_buffer_create", store, tier, {buffer},
        [&](StoreState& state, MemorySpace& space) -> tm_status {
            const auto paid_by = state.reservation_of(reservation);
            if (!paid_by)
                return c_api::fail(paid_by.error());
            if (bytes == 0)
                return c_api::fail({ErrorCode::bad_option, "a buffer of 0 bytes", "bytes", ""});
            if ((flags & TM_KEEPS_ADDRESS) != 0) {
                const bool patient = (flags & TM_PATIENT) != 0;
                if (tier != TM_TIER_GPU || (flags & TM_STAYS) != 0 || reservation != 0)
                    return c_api::fail(
                        {ErrorCode::bad_option, "only buffers of a GPU keep their addresses",
                         "flags", "TM_KEEPS_ADDRESS, perhaps TM_PATIENT, and no reservation"});
                const auto kept = state.create_deferrable(bytes, patient);
                if (!kept)
                    return c_api::fail(kept.error());
                *buffer = *kept;
                return TM_OK;
            }
            BufferSpec spec;
            spec.size = bytes;
            spec.space = space.id();
            spec.reservation = *paid_by;
            spec.may_spill = (flags & TM_STAYS) == 0;
            spec.patient = (flags & TM_PATIENT) != 0;
            const auto made = state.store().wait(state.store().create(spec));
            if (!made)
                return c_api::fail(made.error());
            *buffer = number_of(*made);
            return TM_OK;
        });
}

tm_status tm_buffer_destroy(tm_store* store, uint64_t buffer) {
    return with("tm_buffer_destroy", store, {},
                [&](StoreState& state) -> tm_status { return status_of(state.destroy(buffer)); });
}

tm_status tm_buffer_acquire(tm_store* store, uint64_t buffer, tm_tier tier, tm_mode mode,
                            tm_stream stream, uint32_t flags, tm_access** access) {
    return with_space("tm_buffer_acquire", store, tier, {access},
                      [&](StoreState& state, MemorySpace& space) -> tm_status {
                          *access = nullptr;
                          if (tier == TM_TIER_GPU && !Streams::known(stream))
                              return c_api::fail({ErrorCode::bad_option,
                                                  "an access needs a known stream", "stream", ""});
                          AccessSpec spec;
                          spec.space = space.id();
                          spec.mode = mode_of(mode);
                          spec.stream = state.stream_of(stream);
                          spec.patient = (flags & TM_PATIENT) != 0;
                          const auto one = state.buffer(buffer);
                          if (!one)
                              return c_api::fail(one.error());
                          auto granted = state.store().wait(state.store().acquire(*one, spec));
                          if (!granted)
                              return c_api::fail(granted.error());
                          *access = new tm_access{store->state, std::move(*granted), {}};
                          return TM_OK;
                      });
}

tm_status tm_access_pieces(tm_access* access, tm_piece* pieces, size_t capacity, size_t* count) {
    return guarded([&]() -> tm_status {
        if (access == nullptr || (pieces == nullptr && capacity != 0))
            return fail_of_null("tm_access_pieces");
        std::vector<Range> all;
        if (access->access)
            all = access->access.pieces();
        for (const DeferrablePin& pin : access->pins)
            all.push_back({pin.address(), pin.buffer().size()});
        for (std::size_t i = 0; i < std::min(capacity, all.size()); ++i)
            pieces[i] = {to_integer(all[i].begin), all[i].size};
        if (count != nullptr)
            *count = all.size();
        return TM_OK;
    });
}

void tm_access_release(tm_access* access) {
    delete access;
}

tm_status tm_buffer_prefetch(tm_store* store, uint64_t buffer, tm_tier tier) {
    return with_space(
        "tm_buffer_prefetch", store, tier, {},
        [&](StoreState& state, MemorySpace& space) -> tm_status {
            const auto one = state.buffer(buffer);
            if (!one)
                return c_api::fail(one.error());
            return status_of(state.store().wait(state.store().prefetch(*one, space.id())));
        });
}

tm_status tm_buffer_hint(tm_store* store, uint64_t buffer, int32_t hint) {
    return say_of("tm_buffer_hint", store, buffer,
                  [&](TieredStore& all, BufferRef one) { return all.set_hint(one, hint); });
}

tm_status tm_buffer_next_use(tm_store* store, uint64_t buffer, uint64_t accesses) {
    return say_of("tm_buffer_next_use", store, buffer,
                  [&](TieredStore& all, BufferRef one) { return all.set_next_use(one, accesses); });
}

tm_status tm_buffer_stays(tm_store* store, uint64_t buffer, int stays) {
    return say_of("tm_buffer_stays", store, buffer, [&](TieredStore& all, BufferRef one) {
        return all.set_may_spill(one, stays == 0);
    });
}

tm_status tm_buffer_adopt(tm_store* store, uint64_t address, uint64_t bytes, uint64_t* buffer) {
    return with("tm_buffer_adopt", store, {buffer}, [&](StoreState& state) -> tm_status {
        if (address == 0 || bytes == 0)
            return c_api::fail({ErrorCode::bad_option, "no memory", "address, bytes", ""});
        const auto one = state.adopt({Address{address}, bytes});
        if (!one)
            return c_api::fail(one.error());
        *buffer = number_of(*one);
        return TM_OK;
    });
}

tm_status tm_store_mark(tm_store* store, const char* name) {
    return with("tm_store_mark", store, {name}, [&](StoreState& state) -> tm_status {
        state.store().mark(name);
        return TM_OK;
    });
}

tm_status tm_buffer_tiers(tm_store* store, uint64_t buffer, uint32_t* tiers) {
    return with("tm_buffer_tiers", store, {tiers}, [&](StoreState& state) -> tm_status {
        *tiers = 0;
        const auto one = state.buffer(buffer);
        if (!one)
            return c_api::fail(one.error());
        for (const SpaceId space : state.store().where(*one))
            *tiers |= 1U << tier_of(space);
        return TM_OK;
    });
}

tm_status tm_reserve(tm_store* store, tm_tier tier, uint64_t bytes, uint32_t flags,
                     uint64_t* reservation) {
    return with_space("tm_reserve", store, tier, {reservation},
                      [&](StoreState& state, MemorySpace& space) -> tm_status {
                          ReservationSpec spec;
                          spec.spaces = {space.id()};
                          spec.size = bytes;
                          spec.patient = (flags & TM_PATIENT) != 0;
                          auto made = state.store().wait(state.store().reserve(spec));
                          if (!made)
                              return c_api::fail(made.error());
                          *reservation = state.keep(std::move(*made));
                          return TM_OK;
                      });
}

tm_status tm_reservation_end(tm_store* store, uint64_t reservation) {
    return with("tm_reservation_end", store, {},
                [&](StoreState& state) -> tm_status { return status_of(state.end(reservation)); });
}

tm_status tm_store_free_bytes(tm_store* store, tm_tier tier, uint64_t bytes, uint64_t* freed) {
    return with_space(
        "tm_store_free_bytes", store, tier, {},
        [&](StoreState& state, MemorySpace& space) -> tm_status {
            const FreeReport report =
                state.store().wait(state.store().free_bytes(space.id(), bytes));
            if (freed != nullptr)
                *freed = report.freed;
            if (report.end != FreeEnd::withdrawn)
                return TM_OK;
            return c_api::fail({ErrorCode::cancelled, "the wait is over", "", report.text()});
        });
}

tm_status tm_store_pressure(tm_store* store, tm_tier tier, double start, double stop,
                            tm_tier_pressure* pressure) {
    return with_space(
        "tm_store_pressure", store, tier, {pressure},
        [&](StoreState&, MemorySpace& space) -> tm_status {
            SpaceSpec wanted = space.spec();
            for (const auto& [share, own] :
                 {std::pair(start, &wanted.spill_start), std::pair(stop, &wanted.spill_stop)}) {
                if (!(share >= 0 && share <= 1))
                    return c_api::fail({ErrorCode::bad_option, "is a share of the tier's capacity",
                                        "start, stop", "from 0 to 1; 0 means the store's own"});
                if (share > 0)
                    *own = share;
            }
            wanted.spill_stop = std::min(wanted.spill_stop, wanted.spill_start);
            const SpacePressure now = space.pressure(wanted.thresholds());
            tm_tier_pressure all{};
            all.used = now.used;
            all.spill_start = now.spill_start;
            all.spill_stop = now.spill_stop;
            all.excess = now.excess();
            all.should_spill = now.starts() ? 1 : 0;
            return copy_out(pressure, all);
        });
}

tm_status tm_store_candidates(tm_store* store, tm_tier tier, uint64_t bytes,
                              tm_candidate* candidates, size_t capacity, size_t* count) {
    return with_space(
        "tm_store_candidates", store, tier, {count},
        [&](StoreState& state, MemorySpace& space) -> tm_status {
            if (candidates == nullptr && capacity != 0)
                return fail_of_null("tm_store_candidates");
            const std::vector<VictimCandidate> all = state.store().candidates(space.id(), bytes);
            for (std::size_t i = 0; i < std::min(capacity, all.size()); ++i)
                candidates[i] = {state.number_of(all[i].buffer), all[i].size, all[i].freed};
            *count = all.size();
            return TM_OK;
        });
}

tm_status tm_buffer_evict(tm_store* store, uint64_t buffer, tm_tier tier, uint64_t* freed) {
    return with_space(
        "tm_buffer_evict", store, tier, {},
        [&](StoreState& state, MemorySpace& space) -> tm_status {
            const auto one = state.buffer(buffer);
            if (!one)
                return c_api::fail(one.error());
            if (state.store().where(*one).empty())
                return c_api::fail({ErrorCode::not_found, "the buffer is gone", "buffer", ""});
            const FreeReport report =
                state.store().wait(PinDesk(state.store()).defer(*one, space.id()));
            if (freed != nullptr)
                *freed = report.freed;
            if (report.last_failure)
                return c_api::fail(*report.last_failure);
            if (report.end == FreeEnd::withdrawn)
                return c_api::fail({ErrorCode::cancelled, "the wait is over", "", report.text()});
            return TM_OK;
        });
}

tm_status tm_store_counters(tm_store* store, tm_tier tier, tm_tier_counters* counters) {
    return with_space("tm_store_counters", store, tier, {},
                      [&](StoreState& state, MemorySpace& space) -> tm_status {
                          const SpaceCounters now = space.counters();
                          const SpillCounters moved = state.store().counters(space.id());
                          tm_tier_counters all{};
                          all.capacity = space.spec().capacity;
                          all.used = now.allocated;
                          all.reserved = now.unused_reserved;
                          all.copied_out = moved.copied_out;
                          all.copied_in = moved.copied_in;
                          all.evictions = moved.evictions;
                          all.hits = moved.hits;
                          all.misses = moved.misses;
                          all.failed = moved.failed;
                          return copy_out(counters, all);
                      });
}
