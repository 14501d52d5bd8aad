// See deferrable_store.h.
#include "core/deferrable/deferrable_store.h"

#include <algorithm>
#include <chrono>
#include <thread>
#include <utility>

#include "core/base/check.h"
#include "core/base/stopwatch.h"
#include "core/base/text.h"

namespace tidemark {
namespace {

std::atomic<std::uint64_t> last_id = 0;

std::uint64_t key_of(BufferRef buffer) {
    return std::uint64_t{buffer.generation} << 32U | to_integer(buffer.id);
}

Error freed_error() {
    return {ErrorCode::not_found, "the buffer has been freed", "", ""};
}

DeferrableEvent event_of(DeferrableEvent::Kind kind, const DeferrableEntry& entry) {
    return {kind, entry.id, entry.size, entry.tag};
}

constexpr std::chrono::nanoseconds kLook{100'000};

}  // namespace

DeferrableEntry::~DeferrableEntry() {
    if (store && !freed.load())
        store->end(*this);
}

// DeferrablePin.

DeferrablePin& DeferrablePin::operator=(DeferrablePin&& other) noexcept {
    release();
    buffer_ = std::move(other.buffer_);
    pin_ = std::move(other.pin_);
    return *this;
}

Address DeferrablePin::address() const {
    TM_CHECK(pin_);
    return buffer_.entry_->range->range().begin;
}

void DeferrablePin::release() {
    if (!pin_)
        return;
    pin_.release();
    // It may have been freed while it was pinned.
    if (buffer_.entry_->freed.load())
        buffer_.entry_->store->forget(*buffer_.entry_);
    buffer_ = {};
}

// The store.

std::function<void(std::span<const BufferEvent>)> DeferrableStore::listen(
    std::shared_ptr<DeferrableMoves> moves) {
    return [moves = std::move(moves)](std::span<const BufferEvent> events) {
        const std::lock_guard lock(moves->mutex);
        if (moves->receiver)
            moves->receiver(events);
    };
}

DeferrableStore::DeferrableStore(TieredStore& tiers, MemorySpace& memory, Reserve reserve,
                                 std::shared_ptr<DeferrableMoves> moves, DeferrableOptions options)
    : tiers_(tiers),
      memory_(memory),
      reserve_(std::move(reserve)),
      moves_(std::move(moves)),
      options_(options) {
    const std::lock_guard lock(moves_->mutex);
    moves_->receiver = [this](std::span<const BufferEvent> events) { receive(events); };
}

DeferrableStore::~DeferrableStore() {
    close();
    {
        const std::lock_guard lock(moves_->mutex);
        moves_->receiver = nullptr;
    }
    TM_CHECK(by_id_.empty());
}

Result<Deferrable> DeferrableStore::create(Bytes size, std::uint64_t tag, bool patient) {
    if (size == 0)
        return fail(ErrorCode::bad_input, "a buffer of 0 bytes", "size");
    auto entry = std::make_shared<DeferrableEntry>();
    TM_ASSIGN(entry->range, reserve_(size));
    entry->gate = std::make_shared<Gate>();
    entry->size = size;
    entry->tag = tag;
    BufferSpec spec;
    spec.size = entry->range->range().size;
    spec.space = memory_.id();
    spec.range = entry->range;
    spec.gate = entry->gate;
    spec.patient = patient;
    ask_for_room(spec.size);
    TM_ASSIGN(entry->buffer, room_for(spec));
    entry->id = ++last_id;
    entry->store = this;
    const std::lock_guard lock(mutex_);
    by_id_.emplace(entry->id, entry);
    by_address_.emplace(entry->range->range().begin, entry->id);
    by_buffer_.emplace(key_of(entry->buffer), entry->id);
    events_.push(event_of(DeferrableEvent::Kind::registered, *entry));
    Deferrable made;
    made.entry_ = std::move(entry);
    return made;
}

// Waits for room that others' deferrals are making already.
Result<BufferRef> DeferrableStore::room_for(const BufferSpec& spec) {
    if (spec.patient) {
        Pending<Result<BufferRef>> pending = tiers_.create(spec);
        const RequestId request{pending.request()};
        return answer_of(std::move(pending), request, options_.patience);
    }
    const Stopwatch watch;
    for (;;) {
        const bool moving = PinDesk(tiers_).settling();
        Result<BufferRef> made = tiers_.wait(tiers_.create(spec));
        if (made || made.error().code != ErrorCode::no_space || !moving ||
            watch.elapsed() > options_.patience || wait_ended())
            return made;
        (void)tiers_.pump();
        std::this_thread::sleep_for(kLook);
    }
}

Result<DeferrablePin> DeferrableStore::pin(const Deferrable& buffer, bool write) {
    DeferrablePin pin;
    const DeferrableEntry& entry = *buffer.entry_;
    pin.pin_ = PinDesk(tiers_).try_pin({entry.buffer, entry.gate.get(), write});
    if (pin.pin_ && !entry.freed.load(std::memory_order_relaxed)) [[likely]] {
        pin.buffer_ = buffer;
        return pin;
    }
    pin.pin_.release();
    const DeferrableUse use{&buffer, write};
    TM_ASSIGN(std::vector<DeferrablePin> pins, pin_all({&use, 1}));
    return std::move(pins.front());
}

// Each buffer once. Errors: freed; they can't fit together.
Result<std::vector<PinUse>> DeferrableStore::uses_of(std::span<const DeferrableUse> uses) {
    std::vector<PinUse> each;
    Bytes together = 0;
    std::string list;
    for (const DeferrableUse& use : uses) {
        const DeferrableEntry& entry = *use.buffer->entry_;
        if (entry.freed.load())
            return tl::make_unexpected(freed_error());
        const auto same = std::find_if(each.begin(), each.end(), [&](const PinUse& one) {
            return one.gate == entry.gate.get();
        });
        if (same != each.end()) {
            same->write = same->write || use.write;
            continue;
        }
        each.push_back({entry.buffer, entry.gate.get(), use.write});
        together += entry.range->range().size;
        list += (list.empty() ? "" : ", ") + std::to_string(entry.id) + ": " +
                format_bytes(entry.range->range().size);
    }
    if (together > memory_.spec().capacity)
        return tl::make_unexpected(
            Error{ErrorCode::no_space, "buffers that can't fit together: " + list,
                  to_text(memory_.id()), format_bytes(memory_.spec().capacity) + " is available"});
    return each;
}

Result<std::vector<DeferrablePin>> DeferrableStore::pin_all(std::span<const DeferrableUse> uses,
                                                            std::optional<Nanoseconds> patience) {
    TM_ASSIGN(const std::vector<PinUse> each, uses_of(uses));
    TM_ASSIGN(std::vector<BufferPin> granted, pins_of(each, patience.value_or(options_.patience)));
    std::vector<DeferrablePin> pins(granted.size());
    bool freed = false;
    for (std::size_t i = 0; i < pins.size(); ++i) {
        const auto use = std::find_if(uses.begin(), uses.end(), [&](const DeferrableUse& one) {
            return one.buffer->entry_->gate.get() == each[i].gate;
        });
        pins[i].buffer_ = *use->buffer;
        pins[i].pin_ = std::move(granted[i]);
        freed = freed || use->buffer->entry_->freed.load();
    }
    if (freed)
        return tl::make_unexpected(freed_error());
    return pins;
}

Result<std::vector<BufferPin>> DeferrableStore::pins_of(std::span<const PinUse> uses,
                                                        Nanoseconds patience) {
    if (events_.responsive())
        ask_for_room(lacking(uses));
    PendingPins pending = PinDesk(tiers_).pin_all(uses, memory_.id(), true);
    if (!pending.request)
        return pending.pins.take();
    {
        const std::lock_guard lock(mutex_);
        ++counted_.waited;
    }
    return answer_of(std::move(pending.pins), *pending.request, patience);
}

// Waits no longer than `patience`, and then withdraws the request.
template <class T>
Result<T> DeferrableStore::answer_of(Pending<Result<T>> pending, RequestId request,
                                     Nanoseconds patience) {
    {
        const std::lock_guard lock(mutex_);
        waiting_.insert(request);
        if (closing_)
            patience = 0;
    }
    std::optional<Error> late;
    const Stopwatch watch;
    while (!pending.ready() && !late) {
        late = watch.elapsed() >= patience
                   ? Error{ErrorCode::cancelled, "no room within the given time", {}, {}}
                   : wait_ended();
        (void)tiers_.pump();  // there may be no worker
        if (!late)
            (void)pending.wait_for(kLook);
    }
    if (late)
        (void)PinDesk(tiers_).withdraw(request);
    Result<T> answer = tiers_.wait(pending);
    const std::lock_guard lock(mutex_);
    waiting_.erase(request);
    if (!answer && answer.error().code == ErrorCode::cancelled)
        return fail(ErrorCode::cancelled,
                    closing_ ? "the store is closing"
                    : late   ? late->what
                             : answer.error().what,
                    to_text(memory_.id()), answer.error().hint);
    return answer;
}

std::optional<Error> DeferrableStore::wait_ended() const {
    return options_.wait_ends ? options_.wait_ends() : std::nullopt;
}

// What has to be brought back for them.
Bytes DeferrableStore::lacking(std::span<const PinUse> uses) const {
    Bytes need = 0;
    for (const PinUse& use : uses) {
        const std::vector<SpaceId> where = tiers_.where(use.buffer);
        if (where.empty() || where.front() == memory_.id())
            continue;
        const std::lock_guard lock(mutex_);
        if (const auto id = by_buffer_.find(key_of(use.buffer)); id != by_buffer_.end())
            if (const auto entry = by_id_.at(id->second).lock())
                need += entry->range->range().size;
    }
    return need;
}

// A reader of events decides first which buffers leave; the built-in policy decides last.
void DeferrableStore::ask_for_room(Bytes need) {
    if (need <= memory_.available() || !events_.responsive())
        return;
    const std::uint64_t pressure =
        events_.push({DeferrableEvent::Kind::pressure, 0, need - memory_.available(), 0});
    const Stopwatch watch;
    while (need > memory_.available() && !events_.handled(pressure) &&
           watch.elapsed() < options_.controller_patience) {
        (void)tiers_.pump();
        std::this_thread::sleep_for(kLook);
    }
    const bool relieved = need <= memory_.available();
    // A reader that made the room may still be working; only one that made none is no longer waited
    // for.
    if (!relieved && !events_.handled(pressure))
        events_.give_up(pressure);
    const std::lock_guard lock(mutex_);
    ++counted_.pressures;
    counted_.unrelieved += relieved ? 0U : 1U;
}

Pending<Result<void>> DeferrableStore::retrieve(const Deferrable& buffer, bool make_room) {
    return tiers_.prefetch(buffer.entry_->buffer, memory_.id(), make_room);
}

Pending<FreeReport> DeferrableStore::defer(const Deferrable& buffer) {
    return PinDesk(tiers_).defer(buffer.entry_->buffer, memory_.id());
}

DeferAnswer DeferrableStore::try_defer(const Deferrable& buffer) {
    const DeferrableEntry& entry = *buffer.entry_;
    if (entry.freed.load())
        return DeferAnswer::freed;
    const auto away = [&] {
        const std::vector<SpaceId> where = tiers_.where(entry.buffer);
        return where.empty() || where.front() != memory_.id();
    };
    if (away())
        return DeferAnswer::away;
    if (entry.gate->state().pins != 0 || !PinDesk(tiers_).quiet(entry.buffer))
        return DeferAnswer::busy;
    for (;;) {
        // First: operations that others have started on it end meanwhile.
        const bool moving = PinDesk(tiers_).moving(entry.buffer);
        (void)tiers_.wait(defer(buffer));
        if (away())
            return DeferAnswer::deferred;
        if (entry.gate->state().pins != 0)
            return DeferAnswer::busy;
        if (!moving)
            return DeferAnswer::no_room;
        if (wait_ended())
            return DeferAnswer::busy;
        (void)tiers_.pump();
        std::this_thread::sleep_for(kLook);
    }
}

Result<void> DeferrableStore::free(const Deferrable& buffer) {
    DeferrableEntry& entry = *buffer.entry_;
    if (entry.freed.exchange(true))
        return tl::make_unexpected(freed_error());
    end(entry);
    return {};
}

void DeferrableStore::end(DeferrableEntry& entry) {
    {
        const std::lock_guard lock(mutex_);
        by_id_.erase(entry.id);
        by_address_.erase(entry.range->range().begin);
        by_buffer_.erase(key_of(entry.buffer));
    }
    forget(entry);
    events_.push(event_of(DeferrableEvent::Kind::freed, entry));
}

// Refused while it is pinned: then the last pin's end does it.
void DeferrableStore::forget(const DeferrableEntry& entry) {
    (void)tiers_.destroy(entry.buffer);
}

void DeferrableStore::receive(std::span<const BufferEvent> moves) {
    static constexpr DeferrableEvent::Kind kKinds[] = {
        DeferrableEvent::Kind::deferring, DeferrableEvent::Kind::deferred,
        DeferrableEvent::Kind::retrieving, DeferrableEvent::Kind::retrieved,
        DeferrableEvent::Kind::failed};
    // Destroying entries calls the store and takes the lock, so that comes after it.
    std::vector<std::shared_ptr<DeferrableEntry>> entries;
    const std::lock_guard lock(mutex_);
    for (const BufferEvent& move : moves) {
        counted_.deferrals += move.kind == BufferEvent::Kind::left ? 1U : 0U;
        counted_.retrievals += move.kind == BufferEvent::Kind::returned ? 1U : 0U;
        counted_.failures += move.kind == BufferEvent::Kind::failed ? 1U : 0U;
        const auto id = by_buffer_.find(key_of(move.buffer));
        if (id == by_buffer_.end())
            continue;
        if (auto entry = by_id_.at(id->second).lock()) {
            entry->last = move.kind;
            events_.push(event_of(kKinds[static_cast<std::size_t>(move.kind)], *entry));
            entries.push_back(std::move(entry));
        }
    }
}

std::vector<std::shared_ptr<DeferrableEntry>> DeferrableStore::living() const {
    std::vector<std::shared_ptr<DeferrableEntry>> entries;
    const std::lock_guard lock(mutex_);
    for (const auto& [id, entry] : by_id_)
        if (auto there = entry.lock())
            entries.push_back(std::move(there));
    return entries;
}

Deferrable DeferrableStore::find(std::uint64_t id) const {
    const std::lock_guard lock(mutex_);
    Deferrable found;
    if (const auto entry = by_id_.find(id); entry != by_id_.end())
        found.entry_ = entry->second.lock();
    return found;
}

Deferrable DeferrableStore::find(Address address) const {
    std::uint64_t id = 0;
    {
        const std::lock_guard lock(mutex_);
        const auto behind = by_address_.upper_bound(address);
        if (behind == by_address_.begin())
            return {};
        id = std::prev(behind)->second;
    }
    const Deferrable found = find(id);
    const bool inside = found && address - found.entry_->range->range().begin < found.size();
    return inside ? found : Deferrable{};
}

DeferrableInfo DeferrableStore::info(const Deferrable& buffer) const {
    const DeferrableEntry& entry = *buffer.entry_;
    const Gate::State gate = entry.gate->state();
    DeferrableInfo info;
    info.id = entry.id;
    info.size = entry.size;
    info.tag = entry.tag;
    info.address = entry.range->range().begin;
    info.pins = gate.pins;
    info.uses = gate.uses;
    const std::vector<SpaceId> where = tiers_.where(entry.buffer);
    if (!where.empty())
        info.residence = where.front();
    const bool there = info.residence == memory_.id();
    const BufferEvent::Kind last = entry.last.load();
    if (entry.freed.load() || where.empty())
        info.state = DeferrableState::freed;
    else if (gate.pins != 0)
        info.state = DeferrableState::pinned;
    else if (there)
        info.state = last == BufferEvent::Kind::leaving ? DeferrableState::deferring
                                                        : DeferrableState::resident;
    else
        info.state = last == BufferEvent::Kind::returning ? DeferrableState::retrieving
                                                          : DeferrableState::deferred;
    return info;
}

std::vector<DeferrableInfo> DeferrableStore::buffers() const {
    std::vector<DeferrableInfo> all;
    for (std::shared_ptr<DeferrableEntry>& entry : living()) {
        Deferrable handle;
        handle.entry_ = std::move(entry);
        all.push_back(info(handle));
    }
    return all;
}

DeferrableStatistics DeferrableStore::statistics() const {
    const std::vector<DeferrableInfo> all = buffers();
    std::unique_lock lock(mutex_);
    DeferrableStatistics statistics = counted_;
    lock.unlock();
    statistics.lost_events = events_.lost();
    for (const DeferrableInfo& one : all) {
        const bool there = one.residence == memory_.id();
        ++statistics.buffers;
        statistics.bytes += one.size;
        statistics.resident += there ? 1U : 0U;
        statistics.resident_bytes += there ? one.size : 0;
        statistics.pins += one.pins;
        statistics.uses += one.uses;
    }
    return statistics;
}

bool DeferrableStore::subscribe() {
    const std::vector<std::shared_ptr<DeferrableEntry>> entries = living();
    std::vector<DeferrableEvent> first;
    const std::lock_guard lock(mutex_);
    for (const auto& entry : entries)
        if (by_id_.contains(entry->id))
            first.push_back(event_of(DeferrableEvent::Kind::registered, *entry));
    return events_.subscribe(std::move(first));
}

void DeferrableStore::close() {
    std::unique_lock lock(mutex_);
    closing_ = true;
    const std::set<RequestId> waiting = waiting_;
    lock.unlock();
    for (const RequestId request : waiting)
        (void)PinDesk(tiers_).withdraw(request);
    events_.unsubscribe();
}

}  // namespace tidemark
