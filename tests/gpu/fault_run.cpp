// Devices to break, and policies at work on them.
#include "tests/gpu/fault_run.h"

#include <algorithm>

#include <fmt/format.h>

#include "core/allocator/spec.h"
#include "tests/support/policy.h"

namespace tidemark::faults {
namespace {

Machine open_on(const std::string& library) {
    Machine machine;
    Result<std::shared_ptr<const CudaDriver>> driver = CudaDriver::open(library);
    if (!driver) {
        machine.why = driver.error().what;
        return machine;
    }
    machine.driver = *driver;
    Result<std::unique_ptr<CudaDevice>> device = CudaDevice::open(*driver, {});
    if (!device)
        machine.why = device.error().what;
    else
        machine.device = std::move(*device);
    return machine;
}

}  // namespace

Machine open_machine() {
    return open_on("");
}

Machine open_fake(fake::Control& control, const fake::Config& config) {
    control.reset(config);
    return open_on(TIDEMARK_FAKE_CUDA);
}

std::vector<std::string> all_policies_to_break() {
    std::vector<std::string> texts;
    for (const PolicyInfo& policy : support::general_policies()) {
        if (policy.name != "rmm-arena")  // takes its memory once, and asks the device no more
            texts.emplace_back(policy.name);
    }
    texts.emplace_back("torch:expandable_segments=true");
    return texts;
}

Bytes settle(CudaDevice& device) {
    const DeviceResult<Address> memory = device.malloc(2_MiB);
    if (!memory)
        return 0;
    for (const StreamId stream : {StreamId{0}, StreamId{1}}) {
        (void)device.write_pattern(*memory, 1, 2_MiB, stream);
        (void)device.check_pattern(*memory, 1, 2_MiB, stream);
    }
    (void)device.free(*memory);
    return device.memory().free;
}

Filler::Filler(Device& device, Bytes leave) : device_(device) {
    for (Bytes piece = 64_GiB; piece >= 2_MiB;) {
        const Bytes free = device.memory().free;
        if (free < leave + 2_MiB)
            break;
        piece = std::min(piece, (free - leave) & ~(2_MiB - 1));
        if (const DeviceResult<Address> taken = device.malloc(piece))
            pieces_.push_back(*taken);
        else
            piece /= 2;
    }
}

void Filler::give_back() {
    for (const Address piece : pieces_)
        (void)device_.free(piece);
    pieces_.clear();
}

FaultRun::FaultRun(Device& device, std::string policy) : device_(device), name_(std::move(policy)) {
    const Result<PolicySpec> spec = parse_policy(name_);
    if (!spec) {
        why_ = spec.error().what;
        return;
    }
    Result<std::unique_ptr<Allocator>> made = spec->make(device);
    if (made)
        allocator_ = std::move(*made);
    else
        why_ = made.error().what;
}

void FaultRun::complain(std::string what) {
    if (complaint_.empty())
        complaint_ = name_ + ": " + what;
}

bool FaultRun::allocate(Bytes size, StreamId stream) {
    const auto granted = allocator_->allocate({.size = size, .stream = stream});
    if (!granted) {
        refusal_ = granted.error();
        return false;
    }
    const Word word{next_word_++, size & ~Bytes{3}};
    if (content_ && word.size != 0 &&
        !device_.write_pattern(granted->address, word.value, word.size, stream))
        complain(
            fmt::format("{} bytes at {:#x} cannot be written", size, to_integer(granted->address)));
    live_.push_back({*granted, size, {stream}});
    patterns_.push_back(word);
    return true;
}

void FaultRun::give_back(std::size_t index) {
    const support::Live live = live_[index];
    const Word word = patterns_[index];
    live_.erase(live_.begin() + static_cast<std::ptrdiff_t>(index));
    patterns_.erase(patterns_.begin() + static_cast<std::ptrdiff_t>(index));
    if (content_ && word.size != 0) {
        const DeviceResult<Bytes> differ = device_.check_pattern(
            live.allocation.address, word.value, word.size, live.streams.front());
        if (!differ || *differ != 0)
            complain(fmt::format("{} of {} bytes at {:#x} are not what was written",
                                 differ ? *differ : word.size, word.size,
                                 to_integer(live.allocation.address)));
    }
    allocator_->deallocate(live.allocation, live.streams.front());
}

void FaultRun::finish() {
    while (!live_.empty())
        give_back(live_.size() - 1);
    allocator_->trim(TrimLevel::all);
    if (allocator_->usage().allocated != 0)
        complain(fmt::format("{} bytes count as allocated when all is given back",
                             allocator_->usage().allocated));
}

std::string FaultRun::complaint() {
    if (std::string found = support::violation(*allocator_, live_); !found.empty())
        complain(std::move(found));
    return complaint_;
}

}  // namespace tidemark::faults
