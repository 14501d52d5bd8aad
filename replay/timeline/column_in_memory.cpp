// The same for systems without mappings that grow (browsers): all columns are in memory and move as
// they grow. There are no threads, so nobody reads a column while its writer is at work.
#include <algorithm>
#include <cstdlib>
#include <cstring>
#include <utility>

#include "core/base/check.h"
#include "replay/timeline/mapped_column.h"

namespace tidemark {
namespace {

constexpr std::size_t kStep = std::size_t{64} << 10U;

tl::unexpected<Error> no_memory() {
    return fail(ErrorCode::unsupported, "this browser tab has too little memory", {},
                "a built `tidemark view` can use the memory of the machine");
}

}  // namespace

// Memory is allocated as a column grows: none is reserved.
bool has_addresses(std::size_t /*bytes*/) {
    return true;
}

Result<std::unique_ptr<MappedBytes>> MappedBytes::create(const std::string& name, std::size_t most,
                                                         int /*folder*/) {
    std::unique_ptr<MappedBytes> bytes(new MappedBytes);
    bytes->path_ = name;
    bytes->address_space_ = most;
    return bytes;
}

Result<std::unique_ptr<MappedBytes>> MappedBytes::open(int /*file*/, const std::string& path) {
    return fail(ErrorCode::unsupported, "histories are kept only in files on a disk", path);
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
    auto* const grown = static_cast<std::byte*>(std::realloc(data_, wanted));
    if (grown == nullptr)
        return no_memory();
    std::memset(grown + capacity_, 0, wanted - capacity_);
    data_ = grown;
    capacity_ = wanted;
    return {};
}

Result<void> MappedBytes::finish(std::size_t bytes) {
    TM_CHECK(bytes <= capacity_);
    address_space_ = capacity_ = bytes;
    if (bytes == 0) {
        std::free(std::exchange(data_, nullptr));
    } else if (auto* const kept = static_cast<std::byte*>(std::realloc(data_, bytes))) {
        data_ = kept;
    }
    return {};
}

void MappedBytes::begin_sync() const {}

Result<void> MappedBytes::sync() const {
    return {};
}

void MappedBytes::bring_in(std::size_t /*begin*/, std::size_t /*bytes*/) const {}

}  // namespace tidemark
