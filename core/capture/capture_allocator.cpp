// CaptureAllocator: who owns what, and what happens when it is freed.
#include "core/capture/capture_allocator.h"

#include <algorithm>
#include <utility>

#include <fmt/format.h>

#include "core/base/check.h"

namespace tidemark {

CaptureAllocator::CaptureAllocator(Device& device, Allocator& outside)
    : device_(device), outside_(outside), ledger_(std::make_shared<ArenaLedger>(device)) {
    after_call();
}

// Frees that wait for a capture which nobody closed are not lost.
CaptureAllocator::~CaptureAllocator() {
    carry_out_deferred();
}

Result<std::shared_ptr<GraphArena>> CaptureAllocator::make_arena(Bytes size, ArenaSharing sharing) {
    auto arena = GraphArena::make(ledger_, size, sharing);
    before_call();
    after_call();
    return arena;
}

// Allocator::retire changes only our counters: what it subtracted since the last call is noted
// here.
void CaptureAllocator::before_call() {
    retired_ += reported_.allocated - usage_.allocated;
}

void CaptureAllocator::after_call() {
    const Bytes held = ledger_->held();
    usage_ = outside_.usage();
    usage_.reserved += held;
    usage_.mapped += held;
    usage_.allocated += in_arenas_ - deferred_bytes_ - retired_;
    usage_.active += in_arenas_;
    stats_ = outside_.stats();
    stats_.out_of_memory += refused_;
    stats_.plan_deviations += deviations_;
    arenas_peak_ = std::max(arenas_peak_, held);
    stats_.private_reserved += held;
    stats_.private_reserved_peak += arenas_peak_;
    reported_ = usage_;
}

std::uint32_t CaptureAllocator::number_of(StreamId stream) const {
    const auto found = of_stream_.find(stream);
    return found == of_stream_.end() ? kNone : static_cast<std::uint32_t>(found->second);
}

const SessionId* CaptureAllocator::session_of(StreamId stream) const {
    const auto found = of_stream_.find(stream);
    return found == of_stream_.end() ? nullptr : &found->second;
}

bool CaptureAllocator::any_capture() const {
    return std::any_of(sessions_.begin(), sessions_.end(),
                       [](const auto& one) { return one.second.setup.arena != nullptr; });
}

Result<SessionId> CaptureAllocator::open(const CaptureSetup& setup) {
    if (number_of(setup.stream) != kNone)
        return fail(ErrorCode::unsupported,
                    fmt::format("stream {} is being captured already", to_integer(setup.stream)),
                    "capture", "captures cannot be nested");
    Plan plan;
    if (setup.planned_from != nullptr) {
        TM_ASSIGN(plan,
                  setup.planned_from->plan({.unit = ArenaLayout::kUnit, .escapes = setup.escapes}));
    }
    Session session{.setup = setup, .layout = {}, .base = {}, .report = {}, .streams = {}};
    if (setup.arena != nullptr) {
        TM_ASSIGN(const Address floor, setup.arena->begin_capture());
        session.base = setup.arena->range().begin;
        session.layout = setup.planned_from == nullptr
                             ? ArenaLayout(floor)
                             : ArenaLayout(floor, plan, setup.planned_from->allocations());
    }
    session.streams.push_back(setup.stream);
    const std::uint32_t number = next_session_++;
    of_stream_.emplace(setup.stream, SessionId{number});
    sessions_.emplace(number, std::move(session));
    return SessionId{number};
}

Result<void> CaptureAllocator::join(SessionId session, StreamId stream) {
    const auto [found, is_new] = of_stream_.try_emplace(stream, session);
    if (!is_new && found->second != session)
        return fail(ErrorCode::unsupported,
                    fmt::format("stream {} is being captured elsewhere", to_integer(stream)),
                    "capture");
    if (is_new)
        sessions_.at(static_cast<std::uint32_t>(session)).streams.push_back(stream);
    return {};
}

void CaptureAllocator::edge(SessionId session, StreamId from, StreamId to) {
    Session& one = sessions_.at(static_cast<std::uint32_t>(session));
    one.layout.edge(from, to);
    if (one.setup.arena == nullptr)
        one.report.dry_run.edge(from, to);
}

CaptureReport CaptureAllocator::close(SessionId id, bool graph) {
    before_call();
    const auto number = static_cast<std::uint32_t>(id);
    const auto found = sessions_.find(number);
    TM_CHECK(found != sessions_.end());
    Session session = std::move(found->second);
    sessions_.erase(found);
    for (const StreamId stream : session.streams)
        of_stream_.erase(stream);
    CaptureReport& report = session.report;
    for (Entry& entry : entries_) {
        if (entry.session != number)
            continue;
        entry.session = kNone;
        entry.request = kNone;
        const Range range{entry.inner.address, entry.inner.size};
        report.escapes.push_back(range);
        if (entry.arena != nullptr)
            entry.arena->escaped(range);
    }
    std::sort(report.escapes.begin(), report.escapes.end(),
              [](const Range& a, const Range& b) { return a.begin < b.begin; });
    if (session.setup.arena != nullptr) {
        session.setup.arena->end_capture(graph);
        report.deviations = session.layout.deviations();
        deviations_ += report.deviations;
        report.used = report.requests == 0 ? 0 : session.layout.high_water() - session.base;
    }
    if (!any_capture())
        carry_out_deferred();
    after_call();
    return std::move(session.report);
}

void CaptureAllocator::carry_out_deferred() {
    for (const Deferred& one : std::exchange(deferred_, {}))
        outside_.deallocate(one.allocation, one.stream);
    deferred_bytes_ = 0;
}

tl::expected<Allocation, OutOfMemory> CaptureAllocator::allocate_outside(const Request& request) {
    const auto inner = outside_.allocate(request);
    if (!inner)
        return inner;
    const std::uint32_t node =
        vacant_.put_into(entries_, Entry{.inner = *inner, .users = {request.stream}});
    return Allocation{inner->address, inner->size, node};
}

tl::expected<Allocation, OutOfMemory> CaptureAllocator::allocate_in(Session& session,
                                                                    std::uint32_t number,
                                                                    const Request& request) {
    const auto refuse_here = [&](OutOfMemory why) {
        ++session.report.refused;
        ++refused_;
        session.report.last_refusal = {
            ErrorCode::driver,
            fmt::format("the arena is full: {} bytes requested, {} of {} used", request.size,
                        session.layout.high_water() - session.base,
                        session.setup.arena->range().size),
            "capture", "a dry run shows how many bytes the capture needs"};
        return tl::make_unexpected(why);
    };
    if (request.size >= kLargestRequest)
        return refuse_here({OutOfMemory::Cause::too_large});
    const ArenaLayout::Placement placement = session.layout.choose(request);
    if (const auto done = session.setup.arena->ensure(placement.address + placement.size); !done)
        return refuse_here(refused_by(done.error()));
    session.layout.take(request, placement);
    ++session.report.requests;
    in_arenas_ += placement.size;
    Allocation allocation{placement.address, placement.size};
    allocation.node = vacant_.put_into(entries_, Entry{.inner = allocation,
                                                       .arena = session.setup.arena,
                                                       .session = number,
                                                       .users = {request.stream}});
    return allocation;
}

tl::expected<Allocation, OutOfMemory> CaptureAllocator::allocate(const Request& request) {
    before_call();
    const std::uint32_t number = number_of(request.stream);
    Session* const session = number == kNone ? nullptr : &sessions_.at(number);
    const bool captured = session != nullptr && session->setup.arena != nullptr;
    auto allocation = captured ? allocate_in(*session, number, request) : allocate_outside(request);
    if (session != nullptr && !captured) {
        ++(allocation ? session->report.requests : session->report.refused);
        if (allocation) {
            entries_[allocation->node].session = number;
            entries_[allocation->node].request = session->report.dry_run.allocate(request);
        }
    }
    after_call();
    return allocation;
}

void CaptureAllocator::record_use(const Allocation& allocation, StreamId stream) {
    Entry& entry = entries_[allocation.node];
    if (std::find(entry.users.begin(), entry.users.end(), stream) == entry.users.end())
        entry.users.push_back(stream);
    if (entry.arena == nullptr) {
        before_call();
        outside_.record_use(entry.inner, stream);
        after_call();
    }
}

void CaptureAllocator::give_to_arena(const Entry& entry, const Allocation& allocation) {
    if (entry.session == kNone)
        TM_CHECK(entry.arena->escape_ended(entry.inner.address));
    else
        TM_CHECK(sessions_.at(entry.session).layout.give(entry.inner.address, entry.users) ==
                 BumpArena::Freed::freed);
    in_arenas_ -= allocation.size;
}

void CaptureAllocator::give_outside(const Entry& entry, const Allocation& allocation,
                                    StreamId stream) {
    const std::uint32_t number = number_of(stream);
    if (number != kNone && sessions_.at(number).setup.arena != nullptr) {
        deferred_.push_back({entry.inner, stream});
        deferred_bytes_ += allocation.size;
        ++sessions_.at(number).report.deferred;
        return;
    }
    if (entry.session != kNone)
        sessions_.at(entry.session)
            .report.dry_run.deallocate(entry.request, entry.users.size() > 1);
    outside_.deallocate(entry.inner, stream);
}

void CaptureAllocator::deallocate(const Allocation& allocation, StreamId stream) {
    before_call();
    TM_CHECK(allocation.node < entries_.size() && !entries_[allocation.node].users.empty());
    if (allocation.retired)
        retired_ -= allocation.size;
    {
        // The last block of an arena may release the arena: before the counters are read.
        const Entry entry = std::exchange(entries_[allocation.node], {});
        if (entry.arena != nullptr)
            give_to_arena(entry, allocation);
        else
            give_outside(entry, allocation, stream);
    }
    vacant_.give_back(allocation.node);
    after_call();
}

void CaptureAllocator::trim(TrimLevel level) {
    if (any_capture() || device_.capturing())
        return;
    before_call();
    ledger_->settle();
    outside_.trim(level);
    after_call();
}

void CaptureAllocator::begin_pool(PoolId pool, PoolTraits traits) {
    outside_.begin_pool(pool, traits);
}

void CaptureAllocator::end_pool(PoolId pool) {
    outside_.end_pool(pool);
}

void CaptureAllocator::close_pool(PoolId pool) {
    outside_.close_pool(pool);
}

void CaptureAllocator::trim_pool(PoolId pool) {
    if (any_capture() || device_.capturing())
        return;
    before_call();
    outside_.trim_pool(pool);
    after_call();
}

void CaptureAllocator::plan_pool(PoolId pool, std::span<const PlannedAllocation> expected) {
    outside_.plan_pool(pool, expected);
}

Result<void> CaptureAllocator::reconfigure(const Options& options) {
    return outside_.reconfigure(options);
}

Bytes CaptureAllocator::largest_free() const {
    return outside_.largest_free();
}

void CaptureAllocator::for_each_region(const std::function<void(const Region&)>& visit) const {
    outside_.for_each_region(visit);
    for (const Entry& entry : entries_) {
        if (entry.arena == nullptr)
            continue;
        const Range range{entry.inner.address, entry.inner.size};
        visit({range, range, Region::State::allocated, entry.users.front()});
    }
}

}  // namespace tidemark
