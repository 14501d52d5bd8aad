// Blocks and their checksums (XXH3, 64 bits).
#include "traces/tmk/wire.h"

#include <algorithm>

#include <xxhash.h>

namespace tidemark::tmk {

std::uint64_t hash_bytes(std::span<const std::byte> bytes) {
    return XXH3_64bits(bytes.data(), bytes.size());
}

std::vector<std::byte> make_block(BlockKind kind, std::span<const std::byte> payload) {
    ByteWriter block;
    block.put(std::uint64_t{0});
    block.put(kind);
    block.put(std::uint32_t{0});
    block.put(static_cast<std::uint64_t>(payload.size()));
    block.put_bytes(payload);
    block.set(0, hash_bytes(block.bytes().subspan(sizeof(std::uint64_t))));
    return {block.bytes().begin(), block.bytes().end()};
}

FoundBlock find_block(std::span<const std::byte> file, std::uint64_t offset) {
    FoundBlock found;
    if (offset > file.size() || file.size() - offset < kBlockHeaderSize)
        return found;
    ByteReader reader(file.subspan(offset));
    const auto checksum = reader.get<std::uint64_t>();
    found.block.kind = reader.get<BlockKind>();
    const auto zero = reader.get<std::uint32_t>();
    const auto size = reader.get<std::uint64_t>();
    if (zero != 0 || size > reader.left())
        return found;
    found.block.payload = reader.get_bytes(size);
    found.block.size = kBlockHeaderSize + found.block.payload.size();
    found.whole = true;
    const auto checked = file.subspan(offset + sizeof checksum, found.block.size - sizeof checksum);
    found.intact = hash_bytes(checked) == checksum;
    return found;
}

std::uint64_t size_of_payload(std::span<const std::byte> head) {
    constexpr std::size_t kBefore = kBlockHeaderSize - sizeof(std::uint64_t);
    ByteReader reader(head.subspan(std::min(kBefore, head.size())));
    return reader.get<std::uint64_t>();
}

}  // namespace tidemark::tmk
