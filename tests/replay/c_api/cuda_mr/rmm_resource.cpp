// MemoryResource is a resource of the RMM that this is compiled with: its per-device resource, what
// its buffers keep, and beneath its adaptors, which see that memory is out. Compiled only.
#include <type_traits>

#include <rmm/device_buffer.hpp>
#include <rmm/error.hpp>
#include <rmm/mr/failure_callback_resource_adaptor.hpp>
#include <rmm/mr/per_device_resource.hpp>
#include <rmm/mr/statistics_resource_adaptor.hpp>
#include <rmm/resource_ref.hpp>
#include <tidemark/memory_resource.h>

using Resource = tidemark::BasicMemoryResource<rmm::out_of_memory>;

static_assert(std::is_convertible_v<Resource&, rmm::device_async_resource_ref>);
static_assert(std::is_convertible_v<Resource&, rmm::device_resource_ref>);
static_assert(!std::is_convertible_v<Resource&, rmm::host_resource_ref>);

bool use(Resource resource, cuda::stream_ref stream) {
    rmm::mr::set_per_device_resource(rmm::cuda_device_id{0}, resource);
    rmm::mr::statistics_resource_adaptor counted(resource);
    rmm::mr::failure_callback_resource_adaptor<> tried_again(counted, nullptr, nullptr);
    const rmm::device_buffer buffer(1000, stream, tried_again);
    cuda::mr::any_resource<cuda::mr::device_accessible> any = resource;
    return *cuda::mr::resource_cast<Resource>(&any) == resource;
}
