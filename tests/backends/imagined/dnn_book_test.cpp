// Names by which workspaces that were measured are found again.
#include "backends/imagined/dnn_book.h"

#include <catch2/catch.hpp>
#include <nlohmann/json.hpp>

namespace tidemark::imagined {
namespace {

nlohmann::json plan() {
    return nlohmann::json::parse(R"({
        "cudnnVersion": 91900, "GPUProfile": {"deviceName": "NVIDIA H100", "pciDeviceId": 6},
        "engine": {"engineId": 38, "knobChoices": {"CUDNN_KNOB_TYPE_STAGES": 3}},
        "operationGraph": {
            "tensors": [
                {"name": "119", "dataType": "CUDNN_DATA_HALF", "dim": [4, 3, 3, 3],
                 "stride": [27, 9, 3, 1], "ptrAlignment": 32},
                {"name": "120", "dataType": "CUDNN_DATA_HALF", "dim": [5, 3, 8, 8],
                 "stride": [192, 1, 24, 3], "ptrAlignment": 16},
                {"name": "121", "dataType": "CUDNN_DATA_HALF", "dim": [5, 4, 8, 8],
                 "stride": [256, 1, 32, 4], "ptrAlignment": 32}],
            "nodes": [{
                "operation": "CUDNN_BACKEND_OPERATION_CONVOLUTION_BACKWARD_DATA_DESCRIPTOR",
                "pad": [1, 1], "stride": [1, 1], "dilation": [1, 1],
                "dX": "120", "W": "119", "dY": "121"}]}})");
}

TEST_CASE("a plan has one name on a card and on its description") {
    nlohmann::json other = plan();
    other["GPUProfile"]["pciDeviceId"] = 0;
    other["operationGraph"]["tensors"][0]["ptrAlignment"] = 16;
    CHECK(plan_key(other.dump()) == plan_key(plan().dump()));
    other["engine"]["knobChoices"]["CUDNN_KNOB_TYPE_STAGES"] = 2;
    CHECK(plan_key(other.dump()) != plan_key(plan().dump()));
    for (const char* text : {"", "{", "[1]", "null"})
        CHECK(plan_key(text).empty());
}

TEST_CASE("a convolution is named by its shapes") {
    const Convolution same{"BACKWARD_DATA",
                           {"HALF", {5, 3, 8, 8}, {192, 1, 24, 3}},
                           {"HALF", {4, 3, 3, 3}, {27, 9, 3, 1}},
                           {"HALF", {5, 4, 8, 8}, {256, 1, 32, 4}},
                           {1, 1},
                           {1, 1},
                           {1, 1}};
    CHECK(convolution_of_plan(plan().dump()) == convolution_name(same));
    CHECK(convolution_name(same) ==
          "BACKWARD_DATA HALF 5,3,8,8:192,1,24,3 HALF 4,3,3,3:27,9,3,1 "
          "HALF 5,4,8,8:256,1,32,4 pad 1,1 stride 1,1 dilation 1,1");
}

TEST_CASE("what isn't one convolution has no name as one") {
    nlohmann::json attention = plan(), several = plan(), broken = plan();
    attention["operationGraph"]["nodes"][0]["operation"] =
        "CUDNN_BACKEND_OPERATION_SDPA_FWD_DESCRIPTOR";
    several["operationGraph"]["nodes"].push_back(several["operationGraph"]["nodes"][0]);
    broken["operationGraph"]["nodes"][0]["pad"] = "1";
    for (const nlohmann::json& one : {attention, several, broken})
        CHECK(convolution_of_plan(one.dump()).empty());
    CHECK(convolution_of_plan("").empty());
}

}  // namespace
}  // namespace tidemark::imagined
