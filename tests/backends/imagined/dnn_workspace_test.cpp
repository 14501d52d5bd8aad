// Plans of cuDNN for a card that isn't there, against what it said on an H100.
#include "backends/imagined/dnn_workspace.h"

#include <fstream>

#include <catch2/catch.hpp>
#include <nlohmann/json.hpp>

namespace tidemark::imagined {
namespace {

using Json = nlohmann::json;

const std::vector<int> kClusters{132, 66, 43, 30, 22, 21, 15, 15};

Json strides_of(const Json& sizes, bool channels_last) {
    const std::vector<std::int64_t> dims = sizes;
    std::vector<std::int64_t> strides(dims.size(), 1);
    std::int64_t next = channels_last ? dims.at(1) : 1;
    for (std::size_t dim = dims.size(); dim-- > 2; next *= dims[dim])
        strides[dim] = next;
    strides[1] = channels_last ? 1 : next;
    strides[0] = channels_last ? next : next * dims[1];
    return strides;
}

// A row of dnn_plans.json as cuDNN describes such a plan.
std::string plan_of(const Json& data, const Json& row) {
    const std::string operation = row.at(1);
    const bool filter = operation.ends_with("FILTER"), image = operation.ends_with("DATA");
    const std::array<std::string, 3> roles{image ? "dX" : "X", filter ? "dW" : "W",
                                           filter || image ? "dY" : "Y"};
    Json node{{"operation", "CUDNN_BACKEND_OPERATION_" + operation + "_DESCRIPTOR"}};
    Json tensors = Json::array();
    for (std::size_t index = 0; index < 3; ++index) {
        const Json& sizes = row.at(3 + index);
        const std::string name = std::to_string(index);
        node[roles.at(index)] = name;
        tensors.push_back({{"name", name},
                           {"dim", sizes},
                           {"stride", strides_of(sizes, row.at(6).at(index) == 1)},
                           {"dataType", "CUDNN_DATA_" + row.at(2).get<std::string>()}});
    }
    Json knobs = Json::object();
    for (std::size_t index = 0; index < data.at("knobs").size(); ++index)
        if (const int value = row.at(7).at(index); value >= 0)
            knobs["CUDNN_KNOB_TYPE_" + data.at("knobs").at(index).get<std::string>()] = value;
    return Json{{"engine", {{"engineId", row.at(0)}, {"knobChoices", knobs}}},
                {"operationGraph", {{"tensors", tensors}, {"nodes", {node}}}}}
        .dump();
}

Json measured() {
    std::ifstream file(TIDEMARK_SOURCE_DIR "/tests/backends/imagined/dnn_plans.json");
    return Json::parse(file);
}

TEST_CASE("workspaces of most plans are those on the card") {
    const Json data = measured();
    int before = 0, right = 0;
    for (const Json& row : data.at("rows")) {
        const std::int64_t without = row.at(8), on_card = row.at(9);
        before += without == on_card;
        right += workspace_on_card(plan_of(data, row), without, kClusters) == on_card;
    }
    CHECK(before == 47);
    CHECK(right >= 121);  // of 140
}

TEST_CASE("without the card's clusters a plan keeps its workspace") {
    const Json data = measured();
    for (const Json& row : data.at("rows"))
        CHECK(workspace_on_card(plan_of(data, row), row.at(8), {}) == row.at(8));
}

TEST_CASE("a plan that isn't understood keeps its workspace") {
    for (const char* text :
         {"", "{", "[]", "{\"engine\": 3}", "{\"engine\": {\"engineId\": \"x\"}}"})
        CHECK(workspace_on_card(text, 131, kClusters) == 131);
    const Json data = measured();
    for (const Json& row : data.at("rows"))  // what the rules don't explain
        if (row.at(0) == 68)
            CHECK(workspace_on_card(plan_of(data, row), 12345, kClusters) == 12345);
}

}  // namespace
}  // namespace tidemark::imagined
