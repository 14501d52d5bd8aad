// Heads of spill files of any bytes: what is taken for a head can be used without leaving its file,
// and is what would be written again.
#include <algorithm>
#include <cstring>
#include <vector>

#include "core/base/check.h"
#include "core/tiers/disk/disk_format.h"
#include "tests/fuzz/targets.h"

namespace tidemark::fuzz {
namespace {

constexpr std::size_t kChecksumAt = 8;
constexpr std::size_t kCheckedFrom = 16;

void check_head(std::span<const std::byte> file) {
    const Result<Bytes> size = head_size_of(file.first(kFileBlock));
    if (!size) {
        TM_CHECK(!size.error().what.empty());
        return;
    }
    TM_CHECK(*size > 0 && *size % kFileBlock == 0);
    if (*size > file.size())
        return;
    const Result<SpillHead> head = decode_head(file.first(*size));
    if (!head) {
        TM_CHECK(!head.error().what.empty());
        return;
    }
    const StripeLayout& layout = head->layout;
    TM_CHECK(layout.valid() && layout.head_size(head->stripe) == *size);
    Bytes end = *size;
    for (std::uint64_t i = 0; i < head->checksums.size(); ++i) {
        const std::uint64_t chunk = i * layout.stripes + head->stripe;
        TM_CHECK(chunk < layout.chunks() && layout.offset_of(chunk) == end);
        end += align_up(layout.chunk_size(chunk), kFileBlock);
    }
    TM_CHECK(end == layout.file_size(head->stripe));
    std::vector<std::byte> again(*size);
    encode_head(*head, again);
    TM_CHECK(std::equal(again.begin(), again.end(), file.begin()));
}

}  // namespace

void spill_head(std::span<const std::byte> bytes) {
    std::vector<std::byte> file(bytes.begin(), bytes.end());
    file.resize(std::max(align_up(file.size(), kFileBlock), kFileBlock));
    check_head(file);
    // Once more with a checksum that is right, so that a fuzzer gets past it.
    const Result<Bytes> size = head_size_of(std::span(file).first(kFileBlock));
    if (!size || *size > file.size())
        return;
    const MemoryPiece checked{file.data() + kCheckedFrom, *size - kCheckedFrom};
    const std::uint64_t checksum = spill_checksum({&checked, 1});
    std::memcpy(file.data() + kChecksumAt, &checksum, sizeof checksum);
    check_head(file);
}

}  // namespace tidemark::fuzz
