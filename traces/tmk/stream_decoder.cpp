// Opening packed numbers: every length is checked against the available bytes before it is used.
#include "traces/tmk/stream_decoder.h"

namespace tidemark::tmk {

bool PackedNumbers::open(const StreamHeader& header, ByteReader& in, Decompressor& decompressor) {
    const bool width_is_known = header.width <= kWidestPacked || header.width == 64;
    if (!width_is_known || header.count > kChunkEvents || header.patches > header.count)
        return false;
    width_ = header.width;
    count_ = header.count;
    bound_ =
        width_ == 64 ? std::numeric_limits<std::uint64_t>::max() : (std::uint64_t{1} << width_) - 1;
    patch_positions_.resize(header.patches);
    patch_numbers_.resize(header.patches);
    const auto positions = in.get_bytes(header.patches * sizeof(std::uint16_t));
    const auto numbers = in.get_bytes(header.patches * sizeof(std::uint64_t));
    if (!in.ok())
        return false;
    if (header.patches != 0) {
        std::memcpy(patch_positions_.data(), positions.data(), positions.size());
        std::memcpy(patch_numbers_.data(), numbers.data(), numbers.size());
        bound_ = std::max(bound_, *std::ranges::max_element(patch_numbers_));
    }
    for (std::size_t i = 0; i < patch_positions_.size(); ++i) {
        if (patch_positions_[i] >= count_ ||
            (i != 0 && patch_positions_[i] <= patch_positions_[i - 1]))
            return false;
    }
    rewind();

    const std::size_t size = packed_size(count_, width_);
    if (header.packing == Packing::bits) {
        if (header.stored != size)
            return false;
        data_ = in.get_bytes(size == 0 ? 0 : size + kSlack).data();
        return in.ok();
    }
    const auto stored = in.get_bytes(header.stored);
    unpacked_.resize(size + kSlack);
    data_ = unpacked_.data();
    return in.ok() && decompressor.decompress(stored, std::span(unpacked_).first(size));
}

void PackedNumbers::rewind() {
    position_ = 0;
    patch_ = 0;
    next_patch_ = patch_positions_.empty() ? count_ : patch_positions_[0];
}

void PackedNumbers::advance_patch() {
    ++patch_;
    next_patch_ = patch_ < patch_positions_.size() ? patch_positions_[patch_] : count_;
}

}  // namespace tidemark::tmk
