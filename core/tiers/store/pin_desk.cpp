// See pin.h, pin_desk.h.
#include "core/tiers/store/pin_desk.h"

#include <algorithm>
#include <utility>

namespace tidemark {

// BufferPin.

BufferPin::BufferPin(BufferPin&& other) noexcept
    : store_(std::exchange(other.store_, nullptr)),
      buffer_(other.buffer_),
      gate_(other.gate_),
      stream_(other.stream_) {}

BufferPin& BufferPin::operator=(BufferPin&& other) noexcept {
    if (this != &other) {
        release();
        store_ = std::exchange(other.store_, nullptr);
        buffer_ = other.buffer_;
        gate_ = other.gate_;
        stream_ = other.stream_;
    }
    return *this;
}

void BufferPin::release() {
    if (store_)
        PinDesk(*store_).end(*this);
}

void BufferPin::release(StreamId stream) {
    stream_ = stream;
    release();
}

// PinDesk.

BufferPin PinDesk::try_pin(const PinUse& use) {
    BufferPin pin;
    if (use.gate->try_pin(use.write)) [[likely]] {
        pin.store_ = &store_;
        pin.buffer_ = use.buffer;
        pin.gate_ = use.gate;
    }
    return pin;
}

PendingPins PinDesk::pin_all(std::span<const PinUse> uses, SpaceId space, bool patient) {
    TieredStore::Pinned requested;
    for (const PinUse& use : uses) {
        const auto same = std::find_if(requested.uses.begin(), requested.uses.end(),
                                       [&](const auto& one) { return one.buffer == use.buffer; });
        if (same == requested.uses.end())
            requested.uses.push_back(use);
        else
            same->write = same->write || use.write;
    }
    auto pending = requested.promise.pending();
    std::vector<BufferPin> pins;
    for (const PinUse& use : requested.uses) {
        BufferPin pin = try_pin(use);
        if (!pin)
            break;
        pins.push_back(std::move(pin));
    }
    if (pins.size() == requested.uses.size()) {
        requested.promise.answer(std::move(pins));
        return {std::nullopt, pending};
    }
    pins.clear();
    AccessSpec spec;
    spec.space = space;
    spec.patient = patient;
    std::vector<BufferUse> accesses;
    for (const PinUse& use : requested.uses)
        accesses.push_back({use.buffer, use.write ? AccessMode::share : AccessMode::pin, 0});
    std::unique_lock lock(store_.mutex_);
    const std::optional<RequestId> request = store_.engine_.access_all(accesses, spec);
    if (request) {
        const auto number = static_cast<std::uint64_t>(*request);
        requested.promise.set_request(number);
        store_.requests_.emplace(number, std::move(requested));
    }
    lock.unlock();
    if (!request)
        requested.promise.answer(admit(requested.uses));
    store_.after_call();
    return {request, pending};
}

// Turns what was granted into pins.
std::vector<BufferPin> PinDesk::admit(std::span<const PinUse> uses) {
    std::vector<BufferPin> pins(uses.size());
    const std::lock_guard lock(store_.mutex_);
    for (std::size_t i = 0; i < uses.size(); ++i) {
        store_.engine_.admit(uses[i].buffer, uses[i].write);
        pins[i].store_ = &store_;
        pins[i].buffer_ = uses[i].buffer;
        pins[i].gate_ = uses[i].gate;
    }
    return pins;
}

void PinDesk::end(BufferPin& pin) {
    pin.store_ = nullptr;
    if (pin.stream_)
        pin.gate_->note(*pin.stream_);
    bool writers = false;
    if (!pin.gate_->unpin(writers)) [[likely]]
        return;
    {
        const std::lock_guard lock(store_.mutex_);
        store_.engine_.unsealed(pin.buffer_, writers);
    }
    store_.after_call();
}

bool PinDesk::withdraw(RequestId request) {
    return store_.withdraw(static_cast<std::uint64_t>(request),
                           {ErrorCode::cancelled, "nobody waits for it any more", "", ""});
}

bool PinDesk::quiet(BufferRef buffer) {
    std::unique_lock lock(store_.mutex_);
    const std::vector<UsePoint> points = store_.engine_.holds().points(buffer);
    lock.unlock();
    return std::all_of(points.begin(), points.end(),
                       [&](const UsePoint& point) { return store_.transfers_.passed(point); });
}

bool PinDesk::moving(BufferRef buffer) {
    const std::lock_guard lock(store_.mutex_);
    return store_.engine_.copies().moving(buffer);
}

bool PinDesk::settling() {
    const std::lock_guard lock(store_.mutex_);
    return store_.engine_.settling();
}

void PinDesk::stream_ended(StreamId stream) {
    const std::lock_guard lock(store_.mutex_);
    store_.engine_.holds().stream_ended(stream);
}

Pending<FreeReport> PinDesk::defer(BufferRef buffer, SpaceId space) {
    TieredStore::Freed requested;
    auto pending = requested.promise.pending();
    {
        const std::lock_guard lock(store_.mutex_);
        const RequestId request = store_.engine_.free_buffer(buffer, space);
        requested.promise.set_request(static_cast<std::uint64_t>(request));
        store_.requests_.emplace(static_cast<std::uint64_t>(request), std::move(requested));
    }
    store_.after_call();
    return pending;
}

}  // namespace tidemark
