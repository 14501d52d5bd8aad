// Begins and ends.
#include "replay/attach/probed_memory.h"

namespace tidemark::attach {

using live::RecordKind;

void ProbedMemory::on_malloc(const Hit& hit) {
    const auto [address, device, size, stream] = hit.values;
    if (address == 0)
        return;
    if (const auto before = live_.find(address); before != live_.end()) {
        ++counts_.missed_frees;
        end(hit.time, address, before->second);
        live_.erase(before);
    }
    if (device >= devices_) {
        ++counts_.unknown_devices;
        return;
    }
    const Block block{size, static_cast<std::uint8_t>(device)};
    live_.emplace(address, block);
    // The size that PyTorch rounds to: the probe doesn't report it, and this is its unit.
    constexpr std::uint64_t kUnit = 512;
    publisher_.put({.kind = RecordKind::allocate,
                    .device = block.device,
                    .stream = stream,
                    .address = address,
                    .size = size,
                    .extra = (size + kUnit - 1) / kUnit * kUnit,
                    .time = hit.time});
}

void ProbedMemory::on_free(const Hit& hit) {
    const std::uint64_t address = hit.values[0];
    if (address == 0)
        return;
    const auto found = live_.find(address);
    if (found == live_.end()) {
        ++counts_.unknown_frees;
        return;
    }
    end(hit.time, address, found->second);
    live_.erase(found);
}

void ProbedMemory::end(std::uint64_t time, std::uint64_t address, const Block& block) {
    publisher_.put({.kind = RecordKind::free,
                    .device = block.device,
                    .address = address,
                    .size = block.size,
                    .time = time});
}

}  // namespace tidemark::attach
