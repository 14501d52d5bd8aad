// Borrowed streams: their handles are used while they are there, and never
// afterwards.
#include <memory>
#include <optional>

#include "backends/cuda/cuda_visit.h"
#include "tests/backends/cuda/machines.h"
#include "tests/backends/cuda/own_stream.h"
#include "tests/support/device.h"

namespace tidemark {
namespace {

using namespace support;

constexpr StreamId kFirst{2};

TEST_CASE("a borrowed stream has the first free id, and the same for the same handle", "[cuda]") {
    const auto device = open_device(fake_driver());
    const OwnStream one{*device};
    const OwnStream other{*device};
    CHECK(device->borrow(one.handle(), kFirst) == kFirst);
    CHECK(device->borrow(other.handle(), kFirst) == StreamId{3});
    CHECK(device->borrow(one.handle(), kFirst) == kFirst);
    CHECK(device->borrow(1, kFirst) == StreamId::default_stream);
}

TEST_CASE("nothing names a borrowed stream that the program has destroyed", "[cuda]") {
    const auto device = open_device(fake_driver());
    const Address memory = must(*device, device->malloc(1_MiB));
    const bool noted = GENERATE(true, false);
    std::optional<OwnStream> own{*device};
    const StreamId borrowed = device->borrow(own->handle(), kFirst);
    {
        CudaVisit visit(device.get(), borrowed);
        must(*device, device->fill(memory, 1, 1_MiB, borrowed));
        visit.note_work(borrowed, noted);
    }
    own.reset();

    const EventId last = must(*device, device->record(borrowed));
    CHECK(fake_cuda().calls("cuCtxSynchronize") == (noted ? 0 : 1));
    must(*device, device->wait(StreamId{1}, last));
    CHECK(must(*device, device->complete(last)));
    must(*device, device->wait(borrowed, must(*device, device->record(StreamId{1}))));
    must(*device, device->synchronize(borrowed));
    must(*device, device->fill(memory, 2, 1_MiB, borrowed));
    const Address ordered = must(*device, device->malloc_async(1_MiB, borrowed));
    must(*device, device->free_async(ordered, borrowed));
    CHECK_FALSE(device->capturing());
    must(*device, device->free(memory));
    must(*device, device->synchronize_device());
    CHECK(fake_cuda().strays() == 0);
}

TEST_CASE("a stream that is kept is used as one that was adopted", "[cuda]") {
    const auto device = open_device(fake_driver());
    OwnStream own{*device};
    const StreamId borrowed = device->borrow(own.handle(), kFirst);
    device->keep(borrowed);
    const std::uint64_t before = fake_cuda().calls("cuEventRecord");
    must(*device, device->record(borrowed));
    CHECK(fake_cuda().calls("cuEventRecord") == before + 1);
    own.begin(cuda::CUstreamCaptureMode::global);
    CHECK(device->capturing());
    CHECK(own.end());
    CHECK_FALSE(device->capturing());
    device->disown(borrowed);
    CHECK(device->record(borrowed).error().status == DeviceStatus::invalid_value);
}

TEST_CASE("what is queued on a borrowed stream has passed only when it is done", "[cuda]") {
    const auto device = open_device(fake_driver({.by_hand = 1}));
    const Address memory = must(*device, device->malloc(1_MiB));
    const OwnStream own{*device};
    const StreamId borrowed = device->borrow(own.handle(), kFirst);
    {
        CudaVisit visit(device.get(), borrowed);
        must(*device, device->fill(memory, 1, 1_MiB, borrowed));
        visit.note_work(borrowed, true);
    }
    const EventId last = must(*device, device->record(borrowed));
    CHECK_FALSE(must(*device, device->complete(last)));
    fake_cuda().progress();
    CHECK(must(*device, device->complete(last)));
}

TEST_CASE("a stream under the handle of one that is gone comes after it", "[cuda]") {
    const auto device = open_device(fake_driver({.recycle = 1}));
    std::optional<OwnStream> own{*device};
    const std::uintptr_t handle = own->handle();
    const StreamId borrowed = device->borrow(handle, kFirst);
    {
        CudaVisit visit(device.get(), borrowed);
        visit.note_work(borrowed, true);
    }
    own.reset();
    const OwnStream again{*device};
    REQUIRE(again.handle() == handle);
    const std::uint64_t waits = fake_cuda().calls("cuStreamWaitEvent");
    { const CudaVisit visit(device.get(), borrowed); }
    CHECK(fake_cuda().calls("cuStreamWaitEvent") == waits + 1);
    { const CudaVisit visit(device.get(), borrowed); }
    CHECK(fake_cuda().calls("cuStreamWaitEvent") == waits + 1);
}

TEST_CASE("a stream that comes after one that is gone is told from it once no capture forbids",
          "[cuda]") {
    const auto device = open_device(fake_driver({.recycle = 1}));
    OwnStream captured{*device};
    device->adopt(captured.handle());
    std::optional<OwnStream> own{*device};
    const StreamId borrowed = device->borrow(own->handle(), kFirst);
    {
        CudaVisit visit(device.get(), borrowed);
        visit.note_work(borrowed, false);
    }
    own.reset();
    const OwnStream again{*device};
    captured.begin(cuda::CUstreamCaptureMode::global);
    { const CudaVisit visit(device.get(), borrowed); }
    CHECK(captured.end());
    const std::uint64_t waits = fake_cuda().calls("cuCtxSynchronize");
    { const CudaVisit visit(device.get(), borrowed); }
    CHECK(fake_cuda().calls("cuCtxSynchronize") == waits + 1);
    { const CudaVisit visit(device.get(), borrowed); }
    CHECK(fake_cuda().calls("cuCtxSynchronize") == waits + 1);
}

TEST_CASE("the capture of a borrowed stream is known from its visits, and not spoilt", "[cuda]") {
    const auto device = open_device(fake_driver());
    const Address memory = must(*device, device->malloc(1_MiB));
    OwnStream own{*device};
    const StreamId borrowed = device->borrow(own.handle(), kFirst);
    { const CudaVisit visit(device.get(), borrowed); }
    own.begin(cuda::CUstreamCaptureMode::global);
    const Address unseen = must(*device, device->malloc(1_MiB));  // nobody has seen it yet
    {
        CudaVisit visit(device.get(), borrowed);
        CHECK(device->capturing());
        CHECK(device->free(memory).error().status == DeviceStatus::not_permitted);
        visit.note_work(borrowed, true);
    }
    CHECK(device->capturing());
    CHECK(own.end());
    CHECK_FALSE(device->capturing());
    must(*device, device->free(memory));
    must(*device, device->free(unseen));
}

TEST_CASE("visits nest", "[cuda]") {
    const auto device = open_device(fake_driver());
    const OwnStream one{*device};
    const OwnStream other{*device};
    const StreamId first = device->borrow(one.handle(), kFirst);
    const StreamId second = device->borrow(other.handle(), kFirst);
    const CudaVisit outer(device.get(), first);
    { const CudaVisit inner(device.get(), second); }
    const std::uint64_t before = fake_cuda().calls("cuEventRecord");
    must(*device, device->record(first));
    CHECK(fake_cuda().calls("cuEventRecord") == before + 1);
    must(*device, device->record(second));  // it is not there: the last point is given
    CHECK(fake_cuda().calls("cuEventRecord") == before + 1);
}

}  // namespace
}  // namespace tidemark
