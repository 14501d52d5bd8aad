// The simulator's movement: copies, fills, host memory, and the bytes behind addresses.
#include <algorithm>

#include "backends/sim/sim_device.h"
#include "core/base/check.h"

namespace tidemark {

// Movement.

// Work that moves bytes: done now, or recorded for later.
void SimDevice::queue(StreamId stream, const GraphStep& movement) {
    const Nanoseconds duration = profile_->duration(movement.transfer, movement.size);
    if (Recording* recording = recording_of(stream)) {
        recording->add(stream, movement, duration);
        return;
    }
    clock_.enqueue(stream, duration);
    perform(movement);
}

void SimDevice::perform(const GraphStep& movement) {
    const bool copies = movement.kind == GraphStep::Kind::copy;
    if (copies && movement.transfer == Transfer::to_host)
        counters_.copied_to_host += movement.size;
    else if (copies && movement.transfer == Transfer::to_device)
        counters_.copied_to_device += movement.size;
    else if (copies)
        counters_.copied_on_device += movement.size;
    if (!config_.backed)
        return;
    if (copies) {
        move_bytes(movement.target, movement.source, movement.size);
        return;
    }
    for_each_piece(movement.target, movement.size, true, [&](Range piece, Bytes /*done*/) {
        if (movement.kind == GraphStep::Kind::fill)
            store_.fill(piece.begin, piece.size, static_cast<std::byte>(movement.pattern));
        else
            store_.fill_word(piece.begin, piece.size, movement.pattern);
    });
}

DeviceResult<void> SimDevice::copy(Address target, Address source, Bytes size, StreamId stream) {
    count(DeviceCall::copy);
    if (!usable(stream, target, size, true) || !usable(stream, source, size, false))
        return refuse(DeviceCall::copy, DeviceStatus::invalid_value);
    const bool to_host = host_.covers(target);
    Transfer transfer = to_host ? Transfer::to_host : Transfer::on_device;
    if (!to_host && host_.covers(source))
        transfer = Transfer::to_device;
    charge(DeviceCall::copy, size);
    queue(stream, {.kind = GraphStep::Kind::copy,
                   .transfer = transfer,
                   .target = target,
                   .source = source,
                   .size = size});
    return {};
}

DeviceResult<void> SimDevice::fill(Address target, std::uint8_t value, Bytes size,
                                   StreamId stream) {
    count(DeviceCall::fill);
    if (!usable(stream, target, size, true))
        return refuse(DeviceCall::fill, DeviceStatus::invalid_value);
    charge(DeviceCall::fill, size);
    queue(stream, {.kind = GraphStep::Kind::fill,
                   .transfer = Transfer::fill,
                   .pattern = value,
                   .target = target,
                   .size = size});
    return {};
}

DeviceResult<void> SimDevice::write_pattern(Address target, std::uint32_t pattern, Bytes size,
                                            StreamId stream) {
    constexpr DeviceCall kCall = DeviceCall::write_pattern;
    count(kCall);
    if (to_integer(target) % 4 != 0 || !usable(stream, target, size, true))
        return refuse(kCall, DeviceStatus::invalid_value);
    charge(DeviceCall::fill, size);
    queue(stream, {.kind = GraphStep::Kind::pattern,
                   .transfer = Transfer::fill,
                   .pattern = pattern,
                   .target = target,
                   .size = size});
    return {};
}

// Without bytes behind its memory the simulator cannot differ from what was written.
DeviceResult<Bytes> SimDevice::check_pattern(Address target, std::uint32_t pattern, Bytes size,
                                             StreamId stream) {
    constexpr DeviceCall kCall = DeviceCall::check_pattern;
    count(kCall);
    if (capturing())
        return refuse(kCall, DeviceStatus::not_permitted);
    if (to_integer(target) % 4 != 0 || !accessible(target, size, false))
        return refuse(kCall, DeviceStatus::invalid_value);
    stall(clock_.drain(stream));
    Bytes differing = 0;
    if (!config_.backed)
        return differing;
    for_each_piece(target, size, false, [&](Range piece, Bytes /*done*/) {
        differing += store_.count_differing(piece.begin, piece.size, pattern);
    });
    return differing;
}

// Host memory.

DeviceResult<Address> SimDevice::host_malloc(Bytes size) {
    count(DeviceCall::host_malloc);
    if (size == 0)
        return refuse(DeviceCall::host_malloc, DeviceStatus::invalid_value);
    const Bytes rounded = size > host_free_ ? size : align_up(size, PlainMemory::kUnit);
    if (rounded > host_free_)
        return refuse(DeviceCall::host_malloc, DeviceStatus::out_of_memory);
    const std::optional<Range> range = host_.take(rounded);
    if (!range)
        return refuse(DeviceCall::host_malloc, DeviceStatus::address_space);
    host_free_ -= rounded;
    charge(DeviceCall::host_malloc, size);
    return range->begin;
}

DeviceResult<void> SimDevice::host_free(Address address) {
    count(DeviceCall::host_free);
    if (capturing())
        return refuse(DeviceCall::host_free, DeviceStatus::not_permitted);
    const std::optional<Range> range = host_.find(address);
    if (!range || range->begin != address)
        return refuse(DeviceCall::host_free, DeviceStatus::invalid_value);
    stall(clock_.drain_all());
    host_.give(*range);
    host_free_ += range->size;
    store_.drop(*range);
    charge(DeviceCall::host_free, range->size);
    return {};
}

// Content.

// The longest piece that begins at `address` and is in one allocation or mapping, as the location
// of its bytes; size 0 outside live memory.
Range SimDevice::piece_at(Address address, Bytes size, bool write) const {
    if (virtual_.covers(address))
        return virtual_.translate(address, size, write);
    if (graph_memory_.covers(address))
        return graph_memory_.translate(address, size);
    Range live = driver_.covers(address) ? driver_.find(address) : plain_.find(address);
    if (pool_.covers(address))
        live = pool_.find(address);
    else if (host_.covers(address))
        live = host_.find(address).value_or(Range{});
    if (live.size == 0)
        return {};
    return {address, std::min(size, live.size - (address - live.begin))};
}

bool SimDevice::accessible(Address address, Bytes size, bool write) const {
    if (size == 0)
        return false;
    const bool pieces_may_join = virtual_.covers(address);
    Bytes done = 0;
    while (done < size) {
        const Range piece = piece_at(address + done, size - done, write);
        if (piece.size == 0 || (!pieces_may_join && piece.size < size))
            return false;
        done += piece.size;
    }
    return true;
}

template <class Visit>
void SimDevice::for_each_piece(Address address, Bytes size, bool write, Visit visit) const {
    for (Bytes done = 0; done < size;) {
        const Range piece = piece_at(address + done, size - done, write);
        TM_CHECK(piece.size != 0);
        visit(piece, done);
        done += piece.size;
    }
}

void SimDevice::move_bytes(Address target, Address source, Bytes size) {
    std::vector<std::byte> buffer(std::min<Bytes>(size, 1_MiB));
    for (Bytes done = 0; done < size;) {
        const Bytes step = std::min<Bytes>(size - done, buffer.size());
        const std::span<std::byte> bytes = std::span(buffer).first(step);
        for_each_piece(source + done, step, false, [&](Range piece, Bytes at) {
            store_.read(piece.begin, bytes.subspan(at, piece.size));
        });
        for_each_piece(target + done, step, true, [&](Range piece, Bytes at) {
            store_.write(piece.begin, bytes.subspan(at, piece.size));
        });
        done += step;
    }
}

DeviceResult<void> SimDevice::read(Address address, std::span<std::byte> target) const {
    if (!config_.backed)
        return refuse(DeviceCall::copy, DeviceStatus::not_supported);
    if (!accessible(address, target.size(), false))
        return refuse(DeviceCall::copy, DeviceStatus::invalid_value);
    for_each_piece(address, target.size(), false, [&](Range piece, Bytes done) {
        store_.read(piece.begin, target.subspan(done, piece.size));
    });
    return {};
}

DeviceResult<void> SimDevice::write(Address address, std::span<const std::byte> source) {
    if (!config_.backed)
        return refuse(DeviceCall::copy, DeviceStatus::not_supported);
    if (!accessible(address, source.size(), true))
        return refuse(DeviceCall::copy, DeviceStatus::invalid_value);
    for_each_piece(address, source.size(), true, [&](Range piece, Bytes done) {
        store_.write(piece.begin, source.subspan(done, piece.size));
    });
    return {};
}

}  // namespace tidemark
