// Which parameters a kernel may write through, by the types that its name has, and what that does
// to what is known.
#include "backends/imagined/writes.h"

#include <algorithm>
#include <array>
#include <string>
#include <vector>

#include <catch2/catch.hpp>

namespace tidemark::imagined {
namespace {

// The numbers of the parameters that may be written through.
std::vector<std::size_t> written(const std::vector<std::string_view>& parameters) {
    std::vector<std::size_t> found;
    for (const Output& output : outputs_of(parameters))
        found.push_back(output.parameter);
    return found;
}

constexpr std::string_view kLambda =
    "at::native::gpu_index_kernel<at::native::index_fill_kernel_impl<at::native::OpaqueType<8> > >("
    "at::TensorIteratorBase&, c10::ArrayRef<long>)::{lambda(int)#1}";

TEST_CASE("a kernel writes through pointers that aren't const") {
    CHECK(written({"long*", "long const*", "float* __restrict__", "float const* __restrict__",
                   "int", "long"}) == std::vector<std::size_t>{0, 2});
}

TEST_CASE("a kernel writes into tensors whose elements aren't const") {
    CHECK(written({"at::cuda::detail::TensorInfo<float const, unsigned int>",
                   "at::cuda::detail::TensorInfo<long, unsigned int>",
                   "at::GenericPackedTensorAccessor<long const, 1ul, at::DefaultPtrTraits, long>",
                   "std::array<char*, 2ul>", "at::detail::Array<char*, 2>"}) ==
          std::vector<std::size_t>{1, 3, 4});
}

TEST_CASE("a lambda of PyTorch's writes to what it holds first, and that of scatter() second") {
    const auto fill = outputs_of({"int", kLambda});
    REQUIRE(fill.size() == 1);
    CHECK(fill[0].pointers_before == 0);
    CHECK_FALSE(fill[0].is_pointer);
    const std::string scatter =
        "at::native::_cuda_scatter_gather_internal_kernel<true, long>::operator()(long*)::"
        "{lambda(int)#1}";
    const auto second = outputs_of({"int", scatter});
    REQUIRE(second.size() == 1);
    CHECK(second[0].pointers_before == 1);
    CHECK(outputs_of({}).empty());
}

void forget_owned(Contents& contents, std::uint64_t at) {
    if (const auto owner = contents.owner_of(at))
        contents.forget(owner->begin, owner->size);
}

TEST_CASE("what an owner has is forgotten where any of it may be written") {
    Contents contents;
    constexpr std::uint64_t kOwner = 0x1000, kNext = 0x1040;
    contents.hand_out(kOwner, 0x40);
    contents.hand_out(kNext, 0x40);
    contents.fill(kOwner, std::byte{1}, 0x80);
    forget_owned(contents, kOwner + 0x20);
    CHECK_FALSE(contents.any(kOwner, 0x40));
    CHECK(contents.any(kNext, 0x40));
    forget_owned(contents, kOwner - 1);
    forget_owned(contents, kNext + 0x40);
    CHECK(contents.any(kNext, 0x40));
    contents.hand_out(kOwner + 0x20, 0x40);  // over both
    contents.fill(kOwner, std::byte{1}, 0x80);
    forget_owned(contents, kNext + 0x30);  // nobody's now
    CHECK(contents.any(kNext + 0x20, 1));
}

TEST_CASE("a launch forgets what its output belongs to, wherever in a structure that is") {
    Contents contents;
    constexpr std::uint64_t kRead = 0x1000, kWritten = 0x2000;
    contents.hand_out(kRead, 8);
    contents.hand_out(kWritten, 8);
    const auto know_both = [&] {
        contents.fill(kRead, std::byte{1}, 8);
        contents.fill(kWritten, std::byte{1}, 8);
    };
    const auto known = [&](std::uint64_t at) { return contents.any(at, 8); };
    // On this thread's stack, where a sanitizer's own has no part: the output and an input.
    auto* const lambda = static_cast<std::uint64_t*>(__builtin_alloca(4 * sizeof(std::uint64_t)));
    std::copy_n(std::array<std::uint64_t, 4>{7, kWritten, kRead, 1}.begin(), 4, lambda);
    int number = 5;
    void* arguments[] = {&number, lambda};
    know_both();
    forget_outputs({{1, false, 0}}, arguments, 2, contents);
    CHECK(known(kRead));
    CHECK_FALSE(known(kWritten));
    know_both();
    forget_outputs({{1, false, 1}}, arguments, 2, contents);
    CHECK_FALSE(known(kRead));
    CHECK(known(kWritten));
    know_both();
    std::uint64_t plain = kWritten + 4;
    void* pointers[] = {&plain};
    forget_outputs({{0, true, 0}, {1, true, 0}}, pointers, 1, contents);  // it has one argument
    CHECK(known(kRead));
    CHECK_FALSE(known(kWritten));
}

}  // namespace
}  // namespace tidemark::imagined
