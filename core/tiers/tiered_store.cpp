// TieredStore: the lock around the engine, and its hands.
#include "core/tiers/tiered_store.h"

#include <algorithm>
#include <chrono>
#include <utility>

#include "core/base/check.h"

namespace tidemark {

// Access.

Access::Access(Access&& other) noexcept
    : store_(std::exchange(other.store_, nullptr)),
      buffer_(other.buffer_),
      mode_(other.mode_),
      stream_(other.stream_),
      place_(other.place_) {}

Access& Access::operator=(Access&& other) noexcept {
    if (this != &other) {
        release();
        store_ = std::exchange(other.store_, nullptr);
        buffer_ = other.buffer_;
        mode_ = other.mode_;
        stream_ = other.stream_;
        place_ = other.place_;
    }
    return *this;
}

std::vector<Range> Access::pieces() const {
    return store_->transfers_.pieces(place_);
}

Address Access::address() const {
    const std::vector<Range> ranges = pieces();
    return ranges.empty() ? Address::null : ranges.front().begin;
}

void Access::release() {
    if (store_)
        std::exchange(store_, nullptr)->end_access(*this);
}

// The store.

TieredStore::TieredStore(const MachineSpec& machine, std::span<MemorySpace* const> spaces,
                         Transfers& transfers, StoreOptions options)
    : machine_(machine),
      transfers_(transfers),
      options_(std::move(options)),
      engine_(machine, spaces, options_.spill) {
    for (const SpaceSpec& space : machine.spaces)
        spillers_.push_back(std::make_unique<SpaceSpiller>(*this, space.id));
}

TieredStore::~TieredStore() {
    close();
}

// Notes who hears the answer. Under the lock of the request, so that the answer comes after it.
template <class Kind>
auto TieredStore::ask(RequestId request, Kind kind) {
    auto pending = kind.promise.pending();
    asked_.emplace(static_cast<std::uint64_t>(request), std::move(kind));
    return pending;
}

Pending<Outcome<BufferRef>> TieredStore::create(const BufferSpec& spec) {
    std::unique_lock lock(mutex_);
    auto pending = ask(engine_.create(spec), Created{});
    lock.unlock();
    after_call();
    return pending;
}

BufferRef TieredStore::adopt(const BufferSpec& spec, const Place& place) {
    const std::lock_guard lock(mutex_);
    return engine_.adopt(spec, place);
}

Outcome<void> TieredStore::destroy(BufferRef buffer) {
    std::unique_lock lock(mutex_);
    Outcome<void> outcome = engine_.destroy(buffer);
    lock.unlock();
    after_call();
    return outcome;
}

Pending<Outcome<Access>> TieredStore::acquire(BufferRef buffer, const AccessSpec& spec) {
    TM_CHECK(spec.mode != AccessMode::prefetch);
    std::unique_lock lock(mutex_);
    auto pending = ask(engine_.access(buffer, spec), Acquired{{}, spec.stream});
    lock.unlock();
    after_call();
    return pending;
}

Pending<Outcome<void>> TieredStore::prefetch(BufferRef buffer, SpaceId space, bool make_room) {
    std::unique_lock lock(mutex_);
    AccessSpec spec;
    spec.space = space;
    spec.mode = AccessMode::prefetch;
    spec.make_room = make_room;
    auto pending = ask(engine_.access(buffer, spec), Prefetched{});
    lock.unlock();
    after_call();
    return pending;
}

Pending<FreeReport> TieredStore::free_bytes(SpaceId space, Bytes size) {
    std::unique_lock lock(mutex_);
    auto pending = ask(engine_.free_bytes(space, size), Freed{});
    lock.unlock();
    after_call();
    return pending;
}

Result<Bytes> TieredStore::SpaceSpiller::free_bytes(Bytes size) {
    const FreeReport report = store_.wait(store_.free_bytes(space_, size));
    if (report.freed == 0 && report.last_failure)
        return tl::make_unexpected(*report.last_failure);
    return report.freed;
}

Spiller& TieredStore::spiller(SpaceId space) {
    const auto found = std::find_if(spillers_.begin(), spillers_.end(),
                                    [&](const auto& one) { return one->space() == space; });
    TM_CHECK(found != spillers_.end());
    return **found;
}

bool TieredStore::set_hint(BufferRef buffer, std::int32_t hint) {
    const std::lock_guard lock(mutex_);
    return engine_.set_hint(buffer, hint);
}

bool TieredStore::set_next_use(BufferRef buffer, std::uint64_t operation) {
    const std::lock_guard lock(mutex_);
    return engine_.set_next_use(buffer, operation);
}

bool TieredStore::set_may_spill(BufferRef buffer, bool may_spill) {
    std::unique_lock lock(mutex_);
    const bool living = engine_.set_may_spill(buffer, may_spill);
    lock.unlock();
    after_call();
    return living;
}

void TieredStore::end_access(Access& access) {
    const SpaceId space = access.place_.space;
    const bool wrote = access.mode_ == AccessMode::write || access.mode_ == AccessMode::overwrite;
    std::optional<UsePoint> point;
    if (space.tier == Tier::gpu && access.mode_ != AccessMode::pin) {
        // A device that can't say when its work is done is lost, and its work with it.
        Result<UsePoint> recorded = transfers_.record(space, access.stream_, wrote);
        if (recorded)
            point = *recorded;
    }
    std::unique_lock lock(mutex_);
    engine_.release(access.buffer_, space, access.mode_, point);
    lock.unlock();
    after_call();
}

// Answers that are there go out at once; what else came up is for whoever pumps.
void TieredStore::after_call() {
    std::unique_lock lock(mutex_);
    std::vector<SpillAnswer> answers = engine_.take_answers();
    lock.unlock();
    deliver(std::move(answers));
    if (has_worker_.load()) {
        const std::lock_guard resting(rest_);
        awake_ = true;
        stirred_.notify_all();
    } else if (options_.pump_in_calls) {
        pump();
    }
}

// Answers.

void TieredStore::deliver(std::vector<SpillAnswer> answers) {
    for (SpillAnswer& answer : answers) {
        std::unique_lock lock(mutex_);
        auto node = asked_.extract(static_cast<std::uint64_t>(answer.request));
        lock.unlock();
        TM_CHECK(!node.empty());
        Asked& asked = node.mapped();
        if (Created* created = std::get_if<Created>(&asked)) {
            created->promise.answer(answer.refusal
                                        ? Outcome<BufferRef>(tl::make_unexpected(*answer.refusal))
                                        : Outcome<BufferRef>(answer.buffer));
        } else if (Prefetched* prefetched = std::get_if<Prefetched>(&asked)) {
            prefetched->promise.answer(answer.refusal
                                           ? Outcome<void>(tl::make_unexpected(*answer.refusal))
                                           : Outcome<void>());
        } else if (Freed* freed = std::get_if<Freed>(&asked)) {
            freed->promise.answer(std::move(answer.freed));
        } else {
            deliver_access(std::move(std::get<Acquired>(asked)), std::move(answer));
        }
    }
}

void TieredStore::deliver_access(Acquired asked, SpillAnswer answer) {
    if (answer.refusal) {
        asked.promise.answer(tl::make_unexpected(std::move(*answer.refusal)));
        return;
    }
    Access access;
    access.store_ = this;
    access.buffer_ = answer.buffer;
    access.mode_ = answer.mode;
    access.stream_ = asked.stream;
    access.place_ = answer.place;
    if (!answer.after.empty()) {
        Result<void> ordered = transfers_.order(answer.place.space, asked.stream, answer.after);
        if (!ordered) {
            access.release();
            asked.promise.answer(
                tl::make_unexpected(StoreError{StoreFault::failed, std::move(ordered).error()}));
            return;
        }
    }
    asked.promise.answer(std::move(access));
}

// Driving.

bool TieredStore::pump() {
    // No mutex: what is answered may be dropped unread, and its end calls in here again.
    if (pumping_.exchange(true, std::memory_order_acquire))
        return false;
    bool progress = false;
    for (bool first = true;; first = false) {
        Events events = look();
        const bool happened = !events.ended.empty() || !events.passed.empty();
        apply(std::move(events));
        std::unique_lock lock(mutex_);
        engine_.schedule(first);
        SpillWork work = engine_.take_work();
        lock.unlock();
        if (!happened && work.empty())
            break;
        carry_out(std::move(work));
        progress = true;
    }
    pumping_.store(false, std::memory_order_release);
    if (progress && !has_worker_.load()) {
        const std::lock_guard resting(rest_);
        awake_ = true;
        stirred_.notify_all();
    }
    return progress;
}

TieredStore::Events TieredStore::look() {
    Events events;
    transfers_.poll(events.ended);
    std::unique_lock lock(mutex_);
    const std::vector<WaitingDeparture> departures = engine_.waiting_departures();
    lock.unlock();
    for (const WaitingDeparture& departure : departures) {
        const bool passed =
            std::all_of(departure.after.begin(), departure.after.end(),
                        [&](const UsePoint& point) { return transfers_.passed(point); });
        if (passed)
            events.passed.push_back(departure.departure);
    }
    return events;
}

void TieredStore::apply(Events events) {
    for (CopyDone& done : events.ended)
        take_in(std::move(done));
    const std::lock_guard lock(mutex_);
    for (const std::uint64_t departure : events.passed)
        engine_.passed(departure);
}

void TieredStore::take_in(CopyDone done) {
    const auto found = copies_.find(to_integer(done.copy));
    TM_CHECK(found != copies_.end());
    const BufferRef buffer = found->second;
    copies_.erase(found);
    std::unique_lock lock(mutex_);
    auto [charge, place] = engine_.filled(buffer);
    if (done.end == CopyEnd::done && done.stored < place.size) {
        // Its representation is smaller than what was set aside. Giving back may wake others:
        // without the lock.
        lock.unlock();
        place = transfers_.trim(place, done.stored);
        const auto smaller = charge.space->recharge(charge, place.size);
        TM_CHECK(smaller);
        lock.lock();
        engine_.set_filled(buffer, charge, place);
    }
    engine_.copied(buffer, std::move(done));
}

void TieredStore::carry_out(SpillWork work) {
    for (const CopyId copy : work.cancelling)
        transfers_.cancel(copy);
    give_back(work.leaving);
    make_places(work.making);
    start_copies(work.starting);
    deliver(std::move(work.answers));
}

void TieredStore::make_places(std::span<const SpillWork::Making> making) {
    for (const SpillWork::Making& wanted : making) {
        auto place = transfers_.allocate(wanted.space, wanted.size);
        const std::lock_guard lock(mutex_);
        engine_.placed(wanted.buffer, std::move(place));
    }
}

void TieredStore::start_copies(std::span<SpillWork::Starting> starting) {
    for (SpillWork::Starting& wanted : starting) {
        const CopyId copy = transfers_.start(std::move(wanted.order));
        copies_.emplace(to_integer(copy), wanted.buffer);
        const std::lock_guard lock(mutex_);
        engine_.started(wanted.buffer, copy);
    }
}

void TieredStore::give_back(std::span<SpillWork::Leaving> leaving) {
    for (SpillWork::Leaving& departure : leaving) {
        if (departure.place)
            transfers_.free(*departure.place);
        const Bytes freed = releasable(departure.charge);
        if (departure.charge)
            departure.charge.space->uncharge(departure.charge);
        const std::lock_guard lock(mutex_);
        engine_.left(departure.departure, freed);
    }
}

void TieredStore::pause() {
    std::unique_lock resting(rest_);
    stirred_.wait_for(resting, std::chrono::nanoseconds(options_.poll_interval),
                      [&] { return std::exchange(awake_, false); });
}

void TieredStore::start_worker() {
    TM_CHECK(!worker_.joinable());
    has_worker_.store(true);
    worker_ = std::thread([this] { work(); });
}

void TieredStore::work() {
    for (;;) {
        pump();
        const bool busy = !settled();
        std::unique_lock resting(rest_);
        const auto patience =
            std::chrono::nanoseconds(busy ? options_.poll_interval : options_.heartbeat);
        stirred_.wait_for(resting, patience, [&] { return awake_ || stopping_; });
        awake_ = false;
        if (stopping_)
            return;
    }
}

// Whether nothing is in flight that ends by itself.
bool TieredStore::settled() const {
    const std::lock_guard lock(mutex_);
    return engine_.in_flight() == 0 && engine_.departing() == 0;
}

void TieredStore::drain() {
    pump();
    while (!settled())
        if (!pump())
            pause();
}

void TieredStore::close() {
    if (worker_.joinable()) {
        {
            const std::lock_guard resting(rest_);
            stopping_ = true;
            stirred_.notify_all();
        }
        worker_.join();
        has_worker_.store(false);
    }
    {
        const std::lock_guard lock(mutex_);
        engine_.shut_down();
    }
    drain();
    {
        const std::lock_guard lock(mutex_);
        engine_.end_all();
    }
    drain();
}

// Figures.

SpillCounters TieredStore::counters(SpaceId space) const {
    const std::lock_guard lock(mutex_);
    return engine_.counters(space);
}

std::size_t TieredStore::buffers() const {
    const std::lock_guard lock(mutex_);
    return engine_.buffers();
}

std::size_t TieredStore::in_flight() const {
    const std::lock_guard lock(mutex_);
    return engine_.in_flight();
}

std::vector<SpaceId> TieredStore::where(BufferRef buffer) const {
    const std::lock_guard lock(mutex_);
    return engine_.where(buffer);
}

Bytes TieredStore::reclaimable(BufferRef buffer, SpaceId space) const {
    const std::lock_guard lock(mutex_);
    return engine_.reclaimable(buffer, space);
}

void TieredStore::check() const {
    const std::lock_guard lock(mutex_);
    engine_.check();
}

}  // namespace tidemark
