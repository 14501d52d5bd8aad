// Products of dimensions, by hand and as PyTorch records them.
#include "replay/analysis/scale/operator_shapes.h"

#include <catch2/catch.hpp>

using namespace tidemark;

namespace {

std::optional<AxisPowers> powers(Bytes size, const char* text, BatchShape step,
                                 std::vector<Bytes> lasting = {}) {
    const OperatorShapes shapes = parse_operator(text);
    return powers_of({size, &shapes}, step, lasting);
}

constexpr BatchShape kText{6, 384}, kImages{32, 0};

}  // namespace

TEST_CASE("an operator's text is read, or nothing of it", "[scale]") {
    const OperatorShapes add = parse_operator("aten::addmm [768] [8192, 3072] (2, 1) -7 []");
    CHECK(add.name == "aten::addmm");
    REQUIRE(add.arguments.size() == 5);
    CHECK(add.arguments[1].is_tensor);
    CHECK(add.arguments[1].dims == std::vector<std::int64_t>{8192, 3072});
    CHECK_FALSE(add.arguments[2].is_tensor);
    CHECK(add.arguments[3].dims == std::vector<std::int64_t>{-7});
    CHECK(add.arguments[4].dims.empty());
    CHECK(parse_operator("aten::empty").arguments.empty());
    for (const char* const text :
         {"a [1", "a [1,2]", "a [x]", "a  [1]", "a 1]", "a [1] ", "", "a [99999999999999999999]"})
        CHECK(parse_operator(text).arguments.empty());
}

TEST_CASE("sizes grow with the dimensions that they are products of", "[scale]") {
    CHECK(powers(6 * 384 * 512 * 2, "aten::silu [6, 384, 512]", kText) == AxisPowers{1, 1});
    CHECK(powers(2304 * 1408 * 2, "aten::mm [2304, 512] [512, 1408]", kText) == AxisPowers{1, 1});
    CHECK(powers(6 * 384 * 4, "aten::rsqrt [6, 384, 1]", kText) == AxisPowers{1, 1});
    CHECK(powers(384 * 64 * 2, "aten::cos [1, 384, 64]", {6, 384}) == AxisPowers{0, 1});
    // Attention's scores, from products of matrices too.
    CHECK(powers(6 * 8 * 384 * 384 * 4, "aten::softmax [6, 8, 384, 384] -1", kText) ==
          AxisPowers{1, 2});
    CHECK(powers(48 * 384 * 384 * 2, "aten::bmm [48, 384, 64] [48, 64, 384]", kText) ==
          AxisPowers{1, 2});
    // A gradient of a weight.
    CHECK(powers(512 * 1408 * 2, "aten::mm [512, 2304] [2304, 1408]", kText, {512 * 1408 * 4}) ==
          AxisPowers{0, 0});
    CHECK(powers(32 * 64 * 28 * 28 * 2, "aten::convolution [32, 3, 56, 56] [64, 3, 3, 3]",
                 kImages) == AxisPowers{1, 0});
    // Dimensions whose product has no number.
    CHECK_FALSE(powers(12345, "aten::f [32, 2, 2, 2] 576460752303423488", kImages));
    CHECK_FALSE(powers(12345, "aten::mm [2304, 512] [512, 1408]", kText));
    CHECK_FALSE(powers(6 * 384 * 512 * 2, "aten::silu", kText));
    CHECK_FALSE(powers(6 * 384 * 512 * 2, "aten::silu [6, 384, 512]", {0, 0}));
}

TEST_CASE("a width that is as large as the length is none", "[scale]") {
    const std::vector<Bytes> lasting{512 * 4};  // a norm's weights
    CHECK(powers(6 * 512 * 512 * 2, "aten::silu [6, 512, 512]", {6, 512}, lasting) ==
          AxisPowers{1, 1});
    CHECK(powers(6 * 8 * 512 * 512 * 2, "aten::softmax [6, 8, 512, 512]", {6, 512}, lasting) ==
          AxisPowers{1, 2});
}

TEST_CASE("operators that work on weights alone are told", "[scale]") {
    const std::vector<Bytes> lasting{400, 4000};
    CHECK(works_on_weights(parse_operator("aten::cat [100] [10, 100] 0"), lasting));
    CHECK_FALSE(works_on_weights(parse_operator("aten::cat [100] [11, 100]"), lasting));
    CHECK_FALSE(works_on_weights(parse_operator("aten::empty (100) 6"), lasting));
    CHECK_FALSE(works_on_weights({}, lasting));
}

TEST_CASE("batch and length are found among first and second dimensions", "[scale]") {
    const OperatorShapes hidden = parse_operator("aten::mul [6, 384, 512] [6, 384, 1]");
    const OperatorShapes heads = parse_operator("aten::bmm [48, 384, 64] [48, 64, 384]");
    const OperatorShapes mask = parse_operator("aten::le [1, 1, 1, 384] [1, 1, 384, 1]");
    const OperatorShapes weight = parse_operator("aten::conv2d [64, 32, 3, 3]");
    std::vector<ShapedRequest> step{{1000, &hidden}, {400, &heads}, {60, &mask}, {500, &weight}};
    const std::vector<Bytes> lasting{64 * 32 * 9 * 4};
    const BatchShape found = find_batch(step, lasting);
    CHECK(found.batch == 6);
    CHECK(found.length == 384);
    // Encoder and decoder: two lengths are none.
    const OperatorShapes other = parse_operator("aten::mul [6, 100, 512]");
    step.push_back({900, &other});
    CHECK(find_batch(step, lasting).batch == 6);
    CHECK(find_batch(step, lasting).length == 0);
    CHECK(find_batch({}, lasting).batch == 0);
}
