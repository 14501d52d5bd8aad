// TieredStore: the lock around the engine, and the threads that drive it.
#include "core/tiers/store/tiered_store.h"

#include <algorithm>
#include <chrono>
#include <functional>
#include <type_traits>
#include <utility>

#include "core/base/check.h"
#include "core/tiers/store/pin_desk.h"

namespace tidemark {

// Access.

Access::Access(Access&& other) noexcept
    : store_(std::exchange(other.store_, nullptr)),
      buffer_(other.buffer_),
      mode_(other.mode_),
      stream_(other.stream_),
      location_(other.location_) {}

Access& Access::operator=(Access&& other) noexcept {
    if (this != &other) {
        release();
        store_ = std::exchange(other.store_, nullptr);
        buffer_ = other.buffer_;
        mode_ = other.mode_;
        stream_ = other.stream_;
        location_ = other.location_;
    }
    return *this;
}

std::vector<Range> Access::pieces() const {
    return store_->transfers_.pieces(location_);
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

namespace {

// The mode that serves two uses of one buffer.
AccessMode both(AccessMode first, AccessMode second) {
    if (first == second || second == AccessMode::pin)
        return first;
    return first == AccessMode::pin ? second : AccessMode::write;
}

}  // namespace

TieredStore::TieredStore(const MachineSpec& machine, std::span<MemorySpace* const> spaces,
                         Transfers& transfers, StoreOptions options)
    : machine_(machine),
      transfers_(transfers),
      options_(std::move(options)),
      engine_(machine, spaces, options_.spill),
      executor_(engine_, transfers, mutex_) {
    for (const SpaceSpec& space : machine.spaces)
        spillers_.push_back(std::make_unique<SpaceSpiller>(*this, space.id));
    engine_.holds().set_recorder([this](SpaceId space, StreamId stream, bool wrote) {
        const Result<UsePoint> point = transfers_.record(space, stream, wrote);
        return point ? std::optional(*point) : std::nullopt;
    });
}

TieredStore::~TieredStore() {
    (void)close();
}

// Records who waits for the answer, under the lock of the request, so that the answer comes after
// it.
template <class Request, class Kind>
auto TieredStore::submit(Request&& request, Kind kind) {
    auto pending = kind.promise.pending();
    {
        const std::lock_guard lock(mutex_);
        const auto number = static_cast<std::uint64_t>(request());
        kind.promise.set_request(number);
        requests_.emplace(number, std::move(kind));
    }
    after_call();
    return pending;
}

// An event that may let others continue.
template <class Call>
auto TieredStore::call(Call&& call) {
    std::unique_lock lock(mutex_);
    auto outcome = call();
    lock.unlock();
    after_call();
    return outcome;
}

Pending<Result<BufferRef>> TieredStore::create(const BufferSpec& spec) {
    return submit([&] { return engine_.create(spec); }, Created{});
}

BufferRef TieredStore::adopt(const BufferSpec& spec, const BlockLocation& location) {
    const std::lock_guard lock(mutex_);
    return engine_.adopt(spec, location);
}

Result<void> TieredStore::destroy(BufferRef buffer) {
    return call([&] { return engine_.destroy(buffer); });
}

Pending<Result<Access>> TieredStore::acquire(BufferRef buffer, const AccessSpec& spec) {
    TM_CHECK(spec.mode != AccessMode::prefetch);
    return submit([&] { return engine_.access(buffer, spec); },
                  Acquired{{}, {buffer, spec.mode, 0}, spec});
}

Pending<Result<std::vector<Access>>> TieredStore::acquire_all(std::span<const BufferUse> uses,
                                                              const AccessSpec& spec) {
    AcquiredAll requested{{}, {}, spec};
    for (const BufferUse& use : uses) {
        TM_CHECK(use.mode != AccessMode::prefetch);
        const auto same = std::find_if(requested.uses.begin(), requested.uses.end(),
                                       [&](const auto& one) { return one.buffer == use.buffer; });
        if (same == requested.uses.end())
            requested.uses.push_back(use);
        else
            same->mode = both(same->mode, use.mode);
    }
    std::unique_lock lock(mutex_);
    const std::optional<RequestId> request = engine_.access_all(requested.uses, spec);
    auto pending = requested.promise.pending();
    if (request) {
        const auto number = static_cast<std::uint64_t>(*request);
        requested.promise.set_request(number);
        requests_.emplace(number, std::move(requested));
    }
    lock.unlock();
    if (!request)
        requested.promise.answer(hand_out(requested.uses, spec, std::nullopt));
    after_call();
    return pending;
}

Pending<Result<MemoryReservation>> TieredStore::reserve(const ReservationSpec& spec) {
    return submit([&] { return engine_.reserve(spec); }, Reserved{});
}

Pending<Result<void>> TieredStore::prefetch(BufferRef buffer, SpaceId space, bool make_room) {
    AccessSpec spec;
    spec.space = space;
    spec.mode = AccessMode::prefetch;
    spec.make_room = make_room;
    return submit([&] { return engine_.access(buffer, spec); }, Prefetched{});
}

Pending<FreeReport> TieredStore::free_bytes(SpaceId space, Bytes size) {
    return submit([&] { return engine_.free_bytes(space, size); }, Freed{});
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
    return engine_.copies().set_hint(buffer, hint);
}

bool TieredStore::set_next_use(BufferRef buffer, std::uint64_t accesses) {
    const std::lock_guard lock(mutex_);
    return engine_.copies().set_next_use(buffer, accesses);
}

bool TieredStore::set_may_spill(BufferRef buffer, bool may_spill) {
    return call([&] { return engine_.set_may_spill(buffer, may_spill); });
}

std::vector<VictimCandidate> TieredStore::candidates(SpaceId space, Bytes size) {
    const std::lock_guard lock(mutex_);
    return engine_.candidates(space, size);
}

bool TieredStore::evict(BufferRef buffer, SpaceId space) {
    return call([&] { return engine_.evict(buffer, space); });
}

bool TieredStore::withdraw(std::uint64_t request, Error why) {
    return call([&] { return engine_.withdraw(RequestId{request}, std::move(why)); });
}

void TieredStore::mark(std::string_view name) {
    const std::lock_guard lock(mutex_);
    engine_.mark(std::hash<std::string_view>{}(name));
}

void TieredStore::end_access(Access& access) {
    const SpaceId space = access.location_.space;
    const bool wrote = writes(access.mode_);
    std::optional<UsePoint> point;
    if (space.tier == Tier::gpu && access.mode_ != AccessMode::pin) {
        // A device that can't tell when its work is done is lost, and so is its work.
        Result<UsePoint> recorded = transfers_.record(space, access.stream_, wrote);
        if (recorded)
            point = *recorded;
    }
    std::unique_lock lock(mutex_);
    engine_.release(access.buffer_, space, access.mode_, point);
    lock.unlock();
    after_call();
}

// Existing answers are delivered immediately; whoever pumps handles the rest.
void TieredStore::after_call() {
    std::unique_lock lock(mutex_);
    std::vector<SpillAnswer> answers = engine_.take_answers();
    lock.unlock();
    deliver(answers);
    if (has_worker_.load()) {
        const std::lock_guard resting(rest_);
        awake_ = true;
        stirred_.notify_all();
    } else if (options_.pump_in_calls) {
        pump();
    }
}

// Answers.

void TieredStore::deliver(std::vector<SpillAnswer>& answers) {
    for (SpillAnswer& answer : answers) {
        std::unique_lock lock(mutex_);
        auto node = requests_.extract(static_cast<std::uint64_t>(answer.request));
        lock.unlock();
        TM_CHECK(!node.empty());
        std::visit([&](auto& request) { deliver(request, answer); }, node.mapped());
    }
}

template <class Kind>
void TieredStore::deliver(Kind& request, SpillAnswer& answer) {
    if constexpr (std::is_same_v<Kind, Freed>)
        request.promise.answer(std::move(answer.freed));
    else if (answer.refusal)
        request.promise.answer(tl::make_unexpected(std::move(*answer.refusal)));
    else if constexpr (std::is_same_v<Kind, Created>)
        request.promise.answer(answer.buffer);
    else if constexpr (std::is_same_v<Kind, Reserved>)
        request.promise.answer(std::move(answer.reservation));
    else if constexpr (std::is_same_v<Kind, Pinned>) {
        settle(*answer.group, true);
        request.promise.answer(PinDesk(*this).admit(request.uses));
    } else if constexpr (std::is_same_v<Kind, AcquiredAll>)
        request.promise.answer(hand_out(request.uses, request.spec, answer.group));
    else if constexpr (std::is_same_v<Kind, Acquired>)
        request.promise.answer(
            hand_out({&request.use, 1}, request.spec, answer.group).map([](auto accesses) {
                return std::move(accesses.front());
            }));
    else {
        settle(*answer.group, true);
        request.promise.answer({});
    }
}

// The program gets what was granted, or it can't have it.
void TieredStore::settle(std::uint32_t group, bool taken) {
    std::unique_lock lock(mutex_);
    if (taken)
        engine_.take_up(group);
    else
        engine_.turn_down(group);
}

// Accesses to what was granted. It stays where it is, so its locations are the current ones.
// `group`: is accepted, unless the stream can't be made to wait for others' work.
Result<std::vector<Access>> TieredStore::hand_out(std::span<const BufferUse> uses,
                                                  const AccessSpec& spec,
                                                  std::optional<std::uint32_t> group) {
    std::vector<BlockLocation> locations;
    std::vector<UsePoint> after;
    {
        const std::lock_guard lock(mutex_);
        for (const BufferUse& use : uses) {
            AccessSpec one = spec;
            one.mode = use.mode;
            locations.push_back(engine_.copies().location(use.buffer, spec.space));
            const std::vector<UsePoint> points = engine_.holds().points_before(use.buffer, one);
            after.insert(after.end(), points.begin(), points.end());
        }
    }
    const Result<void> ordered =
        after.empty() ? Result<void>() : transfers_.order(spec.space, spec.stream, after);
    if (group)
        settle(*group, ordered.has_value());
    std::vector<Access> accesses(ordered || !group ? uses.size() : 0);
    for (std::size_t i = 0; i < accesses.size(); ++i) {
        accesses[i].store_ = this;
        accesses[i].buffer_ = uses[i].buffer;
        accesses[i].mode_ = uses[i].mode;
        accesses[i].stream_ = spec.stream;
        accesses[i].location_ = locations[i];
    }
    if (!ordered)
        return tl::make_unexpected(ordered.error());
    return accesses;
}

// Driving.

bool TieredStore::pump() {
    // No mutex: an answer may be dropped unread, and its destructor calls in here again.
    if (pumping_.exchange(true, std::memory_order_acquire))
        return false;

    struct Turn {
        std::atomic<bool>& pumping;

        ~Turn() { pumping.store(false, std::memory_order_release); }
    };

    std::optional<Turn> turn(std::in_place, pumping_);  // also when there is no memory
    bool progress = false;
    const auto give = [this](std::vector<SpillAnswer>& answers) { deliver(answers); };
    const auto observe = [this](const SpillWork& work) {
        if (options_.on_moves && !work.events.empty())
            options_.on_moves(work.events);
    };
    const auto give_up_hopeless = [this] {
        const std::lock_guard lock(mutex_);
        return engine_.give_up_hopeless();
    };
    for (bool first = true; executor_.turn(first, observe, give) || give_up_hopeless();
         first = false)
        progress = true;
    turn.reset();
    if (progress && !has_worker_.load()) {
        const std::lock_guard resting(rest_);
        awake_ = true;
        stirred_.notify_all();
    }
    return progress;
}

void TieredStore::pause() {
    std::unique_lock resting(rest_);
    stirred_.wait_for(resting, std::chrono::nanoseconds(options_.poll_interval),
                      [&] { return std::exchange(awake_, false); });
}

Result<void> TieredStore::start_worker() {
    TM_CHECK(!worker_.joinable());
    has_worker_.store(true);
    auto started = Thread::start("tm-tiers", [this] {
        try {
            work();
        } catch (...) {
            // No memory: from here on whoever waits drives the engine, and learns of it.
            has_worker_.store(false);
        }
    });
    if (!started) {
        has_worker_.store(false);
        return tl::make_unexpected(std::move(started).error());
    }
    worker_ = std::move(*started);
    return {};
}

void TieredStore::work() {
    for (;;) {
        pump();
        const bool busy = PinDesk(*this).settling();
        std::unique_lock resting(rest_);
        const auto patience =
            std::chrono::nanoseconds(busy ? options_.poll_interval : options_.heartbeat);
        stirred_.wait_for(resting, patience, [&] { return awake_ || stopping_; });
        awake_ = false;
        if (stopping_)
            return;
    }
}

Result<void> TieredStore::drain(bool for_ever) {
    pump();
    while (PinDesk(*this).settling()) {
        if (!pump())
            pause();
        if (for_ever || !options_.wait_ends)
            continue;
        if (auto why = options_.wait_ends())
            return tl::make_unexpected(std::move(*why));
    }
    return {};
}

Result<void> TieredStore::close(bool for_ever) {
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
    TM_TRY(drain(for_ever));
    {
        const std::lock_guard lock(mutex_);
        engine_.end_all();
    }
    return drain(for_ever);
}

// Figures.

SpillCounters TieredStore::counters(SpaceId space) const {
    const std::lock_guard lock(mutex_);
    return engine_.counters(space);
}

std::size_t TieredStore::buffers() const {
    const std::lock_guard lock(mutex_);
    return engine_.copies().buffers();
}

std::size_t TieredStore::in_flight() const {
    const std::lock_guard lock(mutex_);
    return engine_.in_flight();
}

std::vector<SpaceId> TieredStore::where(BufferRef buffer) const {
    const std::lock_guard lock(mutex_);
    return engine_.copies().where(buffer);
}

Bytes TieredStore::reclaimable(BufferRef buffer, SpaceId space) const {
    const std::lock_guard lock(mutex_);
    return engine_.copies().reclaimable(buffer, space);
}

void TieredStore::check() const {
    const std::lock_guard lock(mutex_);
    engine_.check();
}

}  // namespace tidemark
