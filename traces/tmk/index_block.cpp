// The index as bytes, and the hash that it provides without reading a chunk.
#include "traces/tmk/index_block.h"

namespace tidemark::tmk {

ByteWriter encode_index(const Index& index) {
    ByteWriter payload;
    payload.put(index.info_offset);
    payload.put(static_cast<std::uint64_t>(index.chunks.size()));
    payload.put_bytes(std::as_bytes(std::span(index.chunks)));
    return payload;
}

bool decode_index(std::span<const std::byte> payload, std::uint64_t end, Index& index) {
    ByteReader in(payload);
    index.info_offset = in.get<std::uint64_t>();
    const auto count = in.get<std::uint64_t>();
    if (!in.ok() || in.left() % sizeof(IndexEntry) != 0 || count != in.left() / sizeof(IndexEntry))
        return false;
    index.chunks.resize(count);
    const auto bytes = in.get_bytes(in.left());
    if (count != 0)
        std::memcpy(index.chunks.data(), bytes.data(), bytes.size());
    std::uint64_t offset = kHeaderSize;
    std::uint64_t event = 0;
    for (const IndexEntry& entry : index.chunks) {
        if (entry.offset < offset || entry.offset > end || entry.size > end - entry.offset ||
            entry.count == 0 || entry.count > kChunkEvents || entry.first_event != event)
            return false;
        offset = entry.offset + entry.size;
        event += entry.count;
    }
    return index.info_offset <= end;
}

std::uint64_t content_hash(const Index& index, std::uint64_t info_hash) {
    ByteWriter hashes;
    for (const IndexEntry& entry : index.chunks)
        hashes.put(entry.content_hash);
    hashes.put(info_hash);
    return hash_bytes(hashes.bytes());
}

}  // namespace tidemark::tmk
