// The sources that need only a device or the process.
#include "core/tiers/host/pinned_source.h"

#include <new>

#include <fmt/format.h>

#include "core/base/check.h"
#include "core/base/text.h"

namespace tidemark {
namespace {

Result<void> check_size(Bytes size) {
    if (size == 0 || size >= kLargestRequest)
        return fail(ErrorCode::bad_option, fmt::format("{} bytes cannot be allocated", size));
    return {};
}

}  // namespace

Result<Range> DevicePinnedSource::allocate(Bytes size) {
    TM_TRY(check_size(size));
    const DeviceResult<Address> address = device_.host_malloc(size);
    if (!address)
        return tl::make_unexpected(device_.explain(address.error()));
    TM_CHECK(to_integer(*address) % kAlignment == 0);
    return Range{*address, size};
}

void DevicePinnedSource::free(Range range) {
    const DeviceResult<void> freed = device_.host_free(range.begin);
    TM_CHECK(freed || freed.error().status == DeviceStatus::lost);
}

Result<Range> PlainSource::allocate(Bytes size) {
    TM_TRY(check_size(size));
    void* memory = ::operator new (size, std::align_val_t{kAlignment}, std::nothrow);
    if (memory == nullptr)
        return fail(ErrorCode::driver,
                    fmt::format("the process cannot get {} more", format_bytes(size)));
    return Range{address_of(memory), size};
}

void PlainSource::free(Range range) {
    ::operator delete (pointer_of(range.begin), std::align_val_t{kAlignment});
}

}  // namespace tidemark
