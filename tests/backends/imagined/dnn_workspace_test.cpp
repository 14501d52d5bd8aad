// Plans of cuDNN for a card that isn't there, against what it said on an H100.
#include "backends/imagined/dnn_workspace.h"

#include <catch2/catch.hpp>
#include <fmt/format.h>

namespace tidemark::imagined {
namespace {

constexpr int kMultiprocessors = 132;

std::string plan(int engine, const std::string& operation, const std::string& output,
                 const std::string& sizes, const std::string& type, const std::string& knobs) {
    return fmt::format(
        R"({{"engine": {{"engineId": {}, "knobChoices": {{{}}}}},)"
        R"( "operationGraph": {{"tensors": [{{"name": "3", "dim": [{}], "dataType": "CUDNN_DATA_{}"}}],)"
        R"( "nodes": [{{"operation": "CUDNN_BACKEND_OPERATION_CONVOLUTION_{}_DESCRIPTOR", "{}": "3"}}]}}}})",
        engine, knobs, sizes, type, operation, output);
}

std::string sharing(int tile) {
    return fmt::format(R"("CUDNN_KNOB_TYPE_TILE_SIZE": {}, "CUDNN_KNOB_TYPE_TILE_CGA_M": 8)", tile);
}

TEST_CASE("workspaces of plans are those on the card") {
    struct Measured {
        std::string plan;
        std::int64_t without, on_card;
    };

    const std::string workspace = R"("CUDNN_KNOB_TYPE_WORKSPACE": )";
    const Measured measured[] = {
        {plan(62, "FORWARD", "Y", "8, 128, 32, 32", "BFLOAT16", sharing(0)), 6881427, 6881296},
        {plan(67, "BACKWARD_DATA", "dX", "16, 64, 56, 56", "BFLOAT16", sharing(1)), 16167059,
         16167059},
        {plan(65, "BACKWARD_FILTER", "dW", "128, 256, 3, 3", "BFLOAT16", sharing(5)), 6881427,
         6881296},
        {plan(58, "FORWARD", "Y", "10, 64, 56, 56", "FLOAT", workspace + "1"), 0, 400},
        {plan(58, "FORWARD", "Y", "32, 256, 32, 32", "BFLOAT16", workspace + "1"), 0, 272},
        {plan(58, "FORWARD", "Y", "16, 512, 40, 40", "BFLOAT16", workspace + "0"), 0, 0},
        {plan(63, "BACKWARD_DATA", "dX", "4, 256, 32, 32", "FLOAT", workspace + "2"), 0, 0},
        {plan(73, "BACKWARD_DATA", "dX", "8, 64, 8, 8", "FLOAT", sharing(5)), 6881427, 6881427},
    };
    for (const Measured& one : measured) {
        CAPTURE(one.plan);
        CHECK(may_differ_on_card(one.without));
        CHECK(workspace_on_card(one.plan, one.without, kMultiprocessors) == one.on_card);
    }
}

TEST_CASE("a plan that isn't understood keeps its workspace") {
    for (const char* text :
         {"", "{", "[]", "{\"engine\": 3}", "{\"engine\": {\"engineId\": \"x\"}}"})
        CHECK(workspace_on_card(text, 131, kMultiprocessors) == 131);
}

}  // namespace
}  // namespace tidemark::imagined
