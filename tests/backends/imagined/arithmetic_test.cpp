// Kernels recognised by their names: what they leave, and that no name is followed too far.
#include "backends/imagined/arithmetic.h"

#include <array>
#include <span>
#include <string>
#include <vector>

#include <catch2/catch.hpp>
#include <rapidcheck.h>

#include "backends/imagined/names.h"

namespace tidemark::imagined {
namespace {

constexpr std::uint64_t kIn = 0x1000, kOther = 0x2000, kOut = 0x3000;

template <class T>
void put(Contents& contents, std::uint64_t at, const std::vector<T>& values) {
    contents.write(at, std::as_bytes(std::span(values)));
}

template <class T>
std::vector<T> found(const Contents& contents, std::size_t count) {
    std::vector<T> values(count);
    return contents.read(kOut, std::as_writable_bytes(std::span(values))) ? values
                                                                          : std::vector<T>{};
}

std::string plain(const std::string& functor, int tensors) {
    const std::string array = "std::array<char*, " + std::to_string(tensors) + "ul>";
    return "void at::native::vectorized_elementwise_kernel<4, " + functor + ", " + array +
           " >(int, " + functor + ", " + array + ")";
}

void run(const std::string& name, const void* functor, std::vector<std::uint64_t> tensors,
         int count, Contents& contents) {
    const auto computation = elementwise_of(name);
    REQUIRE(computation != nullptr);
    REQUIRE(computation->arguments() <= parameters_of(name).size());
    std::array<void*, 3> arguments{&count, const_cast<void*>(functor), tensors.data()};
    computation->run(arguments.data(), contents);
}

TEST_CASE("what a kernel makes of known integers is known") {
    Contents contents;
    put<std::int64_t>(contents, kIn, {1, 2, 3, -1});
    put<std::int64_t>(contents, kOther, {1, 5, 3, 7});
    constexpr int kNotEqual = 1;
    run(plain("at::native::BinaryFunctor<long, long, bool, at::native::(anonymous namespace)::"
              "CompareEqFunctor<long> >",
              3),
        &kNotEqual, {kOut, kIn, kOther}, 4, contents);
    CHECK(found<std::uint8_t>(contents, 4) == std::vector<std::uint8_t>{0, 1, 0, 1});
    const std::array<std::int64_t, 1> value{9};
    run(plain("at::native::FillFunctor<long>", 1), &value, {kOut}, 2, contents);
    CHECK(found<std::int64_t>(contents, 2) == std::vector<std::int64_t>{9, 9});
}

TEST_CASE("an operand that doesn't matter need not be known") {
    Contents contents;
    put<std::uint8_t>(contents, kIn, {0, 1});
    const std::string name =
        "at::native::BinaryFunctor<bool, bool, bool, at::native::"
        "BitwiseAndFunctor<bool> >";
    run(plain(name, 3), "", {kOut, kIn, kOther}, 2, contents);
    CHECK(found<std::uint8_t>(contents, 1) == std::vector<std::uint8_t>{0});
    CHECK(found<std::uint8_t>(contents, 2).empty());
}

TEST_CASE("what isn't computed is forgotten where it is written") {
    Contents contents;
    put<float>(contents, kOut, {1, 2, 3, 4});
    run(plain("at::native::SomeFunctor<float>", 2), "", {kOut, kIn}, 2, contents);
    CHECK(found<float>(contents, 1).empty());
    CHECK(contents.any(kOut + 2 * sizeof(float), 1));
}

TEST_CASE("the number of parameters is in a name") {
    CHECK(parameters_of("void f<int, g(long)>(int, a<b, c>, d*)") ==
          std::vector<std::string_view>{"int", "a<b, c>", "d*"});
    CHECK(parameters_of("void f()").empty());
    CHECK(parameters_of("f").empty());
}

TEST_CASE("no name makes anything but a computation or nothing") {
    const std::vector<std::string> parts{"::vectorized_elementwise_kernel<",
                                         "::elementwise_kernel<",
                                         "::reduce_kernel<",
                                         "::unrolled_elementwise_kernel<",
                                         "gpu_kernel_impl<",
                                         "ReduceOp<",
                                         "NonZeroOp<",
                                         "DeviceReduceSingleTileKernel<",
                                         "DeviceScanKernel<",
                                         "BinaryFunctor<",
                                         "{lambda(",
                                         "long",
                                         ", ",
                                         "<",
                                         ">",
                                         "(",
                                         ")",
                                         "{",
                                         "}",
                                         "MaxNanFunctor<",
                                         "FillFunctor<",
                                         "std::plus<"};
    const bool held = rc::check([&] {
        std::string name;
        for (const std::string& part :
             *rc::gen::container<std::vector<std::string>>(rc::gen::elementOf(parts)))
            name += part;
        elementwise_of(name);
        reduction_of(name);
        parameters_of(name);
    });
    REQUIRE(held);
}

}  // namespace
}  // namespace tidemark::imagined
