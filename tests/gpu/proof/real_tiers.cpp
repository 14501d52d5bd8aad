// Each decision as work on streams: computing ones are paced by the GPU's clock, one copies out,
// one copies in.
#include "tests/gpu/proof/real_tiers.h"

#include <algorithm>

namespace tidemark::gpu {
namespace {

constexpr StreamId kOut{60};
constexpr StreamId kIn{61};
constexpr Bytes kChunk = 16_MiB;
constexpr Bytes kTouched = 1_MiB;  // of each buffer that a kernel uses
constexpr Bytes kAligned = 512;
constexpr std::uint32_t kPoison = 0xdeaddead;

Bytes padded(Bytes size) {
    return align_up(std::max<Bytes>(size, 1), kAligned);
}

}  // namespace

Address RealTiers::Store::take(Bytes bytes) {
    const auto known = free.find(bytes);
    if (known != free.end()) {
        const Address address = known->second;
        free.erase(known);
        return address;
    }
    if (bytes > memory.size - used)
        return Address::null;
    const Address address = memory.begin + used;
    used += bytes;
    return address;
}

RealTiers::RealTiers(CudaDevice& device, GpuPacing& pacing, std::uint32_t buffers, Range gpu,
                     Range host)
    : device_(&device), pacing_(&pacing), gpu_{gpu, 0}, host_{host, 0}, buffers_(buffers) {
    wrong_before_ = pacing.faults();
    pacing.mark(compute(0));
    must(device.synchronize_device(), "synchronize");
    begin_ = pacing.last_mark(compute(0));
}

void RealTiers::must(const DeviceResult<void>& done, const char* what) {
    if (!done && figures_.failure.empty())
        figures_.failure = std::string(what) + ": " + to_text(device_->explain(done.error()));
}

void RealTiers::begin_life(BufferId id, Bytes size) {
    Buffer& made = buffers_[to_integer(id)];
    made = {};
    made.size = size;
    made.gpu = gpu_.take(padded(size));
    if (made.gpu == Address::null && figures_.failure.empty())
        figures_.failure = "the GPU memory set aside for the proof is used up";
}

void RealTiers::end_life(BufferId id) {
    const Buffer& ending = buffers_[to_integer(id)];
    if (ending.gpu != Address::null)
        gpu_.free.emplace(padded(ending.size), ending.gpu);
}

void RealTiers::reached(std::uint32_t stream, Nanoseconds gap) {
    Stream& known = streams_[stream];
    if (!known.marked) {
        pacing_->mark(compute(stream));
        known.marked = true;
    }
    known.gap += gap;
    known.pointed = false;
    current_ = stream;
}

// Lets the time pass that the stream owes.
void RealTiers::flush(std::uint32_t stream) {
    pacing_->pass(compute(stream), streams_[stream].gap);
}

// Where the stream that decides has come to.
EventId RealTiers::point() {
    Stream& known = streams_[current_];
    if (!known.pointed) {
        flush(current_);
        const auto made = device_->record(compute(current_));
        if (made)
            known.point = *made;
        else
            must(tl::make_unexpected(made.error()), "record");
        known.pointed = true;
    }
    return known.point;
}

void RealTiers::chunks(Address target, Address source, Bytes size, StreamId stream) {
    for (Bytes done = 0; done < size; done += kChunk)
        must(device_->copy(target + done, source + done, std::min(kChunk, size - done), stream),
             "copy");
}

void RealTiers::copy_out(BufferId id, CopyNumber number) {
    Buffer& known = buffers_[to_integer(id)];
    if (known.host == Address::null)
        known.host = host_.take(padded(known.size));
    if (known.host == Address::null) {
        figures_.failure = "the host memory set aside for the proof is used up";
        return;
    }
    must(device_->wait(kOut, point()), "wait");
    if (known.coming)
        must(device_->wait(kOut, known.in), "wait");
    chunks(known.host, known.gpu, known.size, kOut);
    figures_.copied_out += known.size;
    must(device_->write_pattern(known.gpu, kPoison, std::min(known.size, kAligned), kOut),
         "poison");
    const auto event = device_->record(kOut);
    known.out = event.value_or(EventId{});
    known.left = true;
    copies_.resize(std::max<std::size_t>(copies_.size(), number + 1));
    copies_[number] = known.out;
}

void RealTiers::copy_in(BufferId id, CopyNumber room) {
    Buffer& known = buffers_[to_integer(id)];
    must(device_->wait(kIn, point()), "wait");
    if (room != 0)
        must(device_->wait(kIn, copies_[room]), "wait");
    if (known.left)
        must(device_->wait(kIn, known.out), "wait");
    chunks(known.gpu, known.host, known.size, kIn);
    figures_.copied_in += known.size;
    known.in = device_->record(kIn).value_or(EventId{});
    known.coming = true;
    known.left = false;
}

// Work on the copy that is still queued reads it before anything that is queued later writes it:
// copies out are all on one stream, behind the waits for what read it.
void RealTiers::forget(BufferId id) {
    Buffer& known = buffers_[to_integer(id)];
    if (known.host == Address::null)
        return;
    if (known.coming)
        must(device_->wait(kOut, known.in), "wait");
    host_.free.emplace(padded(known.size), known.host);
    known.host = Address::null;
}

void RealTiers::wait_room(std::uint32_t stream, CopyNumber room) {
    if (room == 0)
        return;
    flush(stream);
    must(device_->wait(compute(stream), copies_[room]), "wait");
    pacing_->mark(compute(stream));
    streams_[stream].gap = 0;
}

void RealTiers::wait_content(std::uint32_t stream, BufferId id) {
    Buffer& known = buffers_[to_integer(id)];
    if (!known.coming)
        return;
    flush(stream);
    must(device_->wait(compute(stream), known.in), "wait");
    pacing_->mark(compute(stream));
    streams_[stream].gap = 0;
    known.coming = false;
}

void RealTiers::kernel(std::uint32_t stream, std::span<const TierUse> uses) {
    const StreamId queue = compute(stream);
    flush(stream);
    for (const TierUse& use : uses) {
        Buffer& known = buffers_[to_integer(use.buffer)];
        const Bytes touched = std::min(known.size, kTouched);
        if (use.reads && known.pattern != 0)
            pacing_->check(queue, known.gpu, known.pattern, touched);
        if (use.writes) {
            known.pattern = next_pattern_++ & 0x7fffffffU;
            must(device_->write_pattern(known.gpu, known.pattern, touched, queue), "touch");
        }
    }
}

RealTiersFigures RealTiers::finish() {
    for (auto& [stream, known] : streams_)
        flush(stream);
    for (auto& [stream, known] : streams_)
        pacing_->mark(compute(stream));
    must(device_->synchronize_device(), "synchronize");
    for (auto& [stream, known] : streams_)
        figures_.makespan =
            std::max(figures_.makespan, pacing_->last_mark(compute(stream)) - begin_);
    figures_.wrong_bytes = pacing_->faults() - wrong_before_;
    if (!pacing_->sound() && figures_.failure.empty())
        figures_.failure = "a kernel could not be launched";
    return figures_;
}

}  // namespace tidemark::gpu
