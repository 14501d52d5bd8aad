// The same for systems without mappings that grow (browsers): all columns are in memory, and what
// is set aside for them is taken at once, though not touched.
#include <algorithm>
#include <cstdlib>
#include <cstring>

#include <unistd.h>

#include "core/base/check.h"
#include "replay/timeline/mapped_column.h"

namespace tidemark {
namespace {

constexpr std::size_t kAddresses = std::size_t{4} << 30U;  // of 32 bits
constexpr std::size_t kStep = std::size_t{64} << 10U;

tl::unexpected<Error> no_memory() {
    return fail(ErrorCode::unsupported, "there is too little memory in this browser's tab", {},
                "`tidemark view`, built, has that of the machine");
}

}  // namespace

// Who asks wants half of it for columns, and the rest for others (HistoryBuilder::create); columns
// that are finished give back what they didn't need, so they may have three quarters.
bool has_addresses(std::size_t bytes) {
    const auto used = reinterpret_cast<std::size_t>(::sbrk(0));
    return bytes / 2 <= (kAddresses - std::min(used, kAddresses)) / 4 * 3;
}

Result<std::unique_ptr<MappedBytes>> MappedBytes::create(const std::string& name, std::size_t most,
                                                         int /*folder*/) {
    std::unique_ptr<MappedBytes> bytes(new MappedBytes);
    bytes->path_ = name;
    bytes->address_space_ = std::max<std::size_t>(most, 1);
    bytes->data_ = static_cast<std::byte*>(std::malloc(bytes->address_space_));
    if (bytes->data_ == nullptr)
        return no_memory();
    return bytes;
}

Result<std::unique_ptr<MappedBytes>> MappedBytes::open(int /*file*/, const std::string& path) {
    return fail(ErrorCode::unsupported, "kept histories are for files on a disk", path);
}

MappedBytes::~MappedBytes() {
    std::free(data_);
}

Result<void> MappedBytes::grow(std::size_t bytes) {
    if (bytes <= capacity_)
        return {};
    if (bytes > address_space_)
        return no_memory();
    const std::size_t wanted =
        std::min(std::max(bytes, capacity_ + std::max(capacity_ / 2, kStep)), address_space_);
    std::memset(data_ + capacity_, 0, wanted - capacity_);
    capacity_ = wanted;
    return {};
}

Result<void> MappedBytes::finish(std::size_t bytes) {
    TM_CHECK(bytes <= capacity_);
    capacity_ = bytes;
    const std::size_t kept = std::max<std::size_t>(bytes, 1);
    if (kept < address_space_) {
        TM_CHECK(std::realloc(data_, kept) == data_);  // a block that shrinks stays where it is
        address_space_ = kept;
    }
    return {};
}

void MappedBytes::begin_sync() const {}

Result<void> MappedBytes::sync() const {
    return {};
}

void MappedBytes::bring_in(std::size_t /*begin*/, std::size_t /*bytes*/) const {}

}  // namespace tidemark
