// Tiles counted from a plan's JSON.
#include "backends/imagined/dnn_workspace.h"

#include <algorithm>
#include <array>
#include <string>
#include <vector>

#include <nlohmann/json.hpp>

#include "backends/imagined/names.h"

namespace tidemark::imagined {
namespace {

using Json = nlohmann::json;

constexpr std::int64_t kCounter = 131, kAlignment = 16;  // all else is a multiple of the unit
constexpr std::array kSharing{62, 65, 67, 68, 71};
constexpr std::array kOfBlas{58, 63};
constexpr std::int64_t kBlasTile = 8192;  // elements

template <class List>
bool in(const List& list, int value) {
    return std::find(list.begin(), list.end(), value) != list.end();
}

// One convolution: its engine, and the tensor that it writes.
struct Plan {
    int engine = 0;
    bool of_filter = false;
    std::int64_t pixels = 1, channels = 1;
    bool halves = false;
    int tile = -1;  // CUDNN_KNOB_TYPE_TILE_SIZE; none: -1
    bool clusters = false;
    int workspace = -1;
};

int knob(const Json& engine, const char* name) {
    const Json& knobs = engine.at("knobChoices");
    const std::string key = std::string("CUDNN_KNOB_TYPE_") + name;
    return knobs.contains(key) ? knobs.at(key).get<int>() : -1;
}

// Throws what nlohmann_json throws where the JSON isn't as expected.
Plan read(const std::string& text) {
    const Json from = Json::parse(text);
    const Json& engine = from.at("engine");
    const Json& graph = from.at("operationGraph");
    const Json& node = graph.at("nodes").at(0);
    const std::string operation = node.at("operation");
    Plan plan;
    if (!holds(operation, "CONVOLUTION"))
        return plan;
    plan.engine = engine.at("engineId");
    plan.of_filter = holds(operation, "FILTER");
    plan.tile = knob(engine, "TILE_SIZE");
    plan.clusters = knob(engine, "TILE_CGA_M") >= 0;
    plan.workspace = knob(engine, "WORKSPACE");
    const char* const written = plan.of_filter ? "dW" : holds(operation, "DATA") ? "dX" : "Y";
    const std::string name = node.at(written);
    for (const Json& tensor : graph.at("tensors")) {
        if (tensor.at("name") != name)
            continue;
        const std::vector<std::int64_t> sizes = tensor.at("dim");
        plan.halves = tensor.at("dataType") != "CUDNN_DATA_FLOAT";
        plan.channels = sizes.at(1);
        plan.pixels = sizes.at(0);
        for (std::size_t dim = 2; dim < sizes.size(); ++dim)
            plan.pixels *= sizes[dim];
    }
    return plan;
}

std::int64_t tiles_of(std::int64_t size, std::int64_t tile) {
    return (size + tile - 1) / tile;
}

// By the knob's number; of those that the measurement didn't tell apart, the smaller.
std::int64_t tiles(const Plan& plan) {
    const std::int64_t rows = plan.tile == 4 ? 256 : 128;
    const std::int64_t columns = plan.tile == 0 ? 256 : plan.tile == 1 ? 128 : 64;
    return tiles_of(plan.pixels, rows) * tiles_of(plan.channels, columns);
}

}  // namespace

bool may_differ_on_card(std::int64_t bytes) {
    return bytes == 0 || bytes % kAlignment == kCounter % kAlignment;
}

std::int64_t workspace_on_card(const std::string& text, std::int64_t bytes, int multiprocessors) {
    Plan plan;
    try {
        plan = read(text);
    } catch (const Json::exception&) {
        return bytes;
    }
    if (in(kOfBlas, plan.engine) && plan.tile < 0 && plan.workspace > 0 && bytes == 0) {
        constexpr std::int64_t kTwo = 272, kThree = 400;
        const bool many = plan.pixels * plan.channels > multiprocessors * kBlasTile;
        return !many ? 0 : plan.halves ? kTwo : kThree;
    }
    if (in(kSharing, plan.engine) && plan.clusters && bytes % kAlignment == kCounter % kAlignment)
        return plan.of_filter || tiles(plan) <= multiprocessors ? bytes - kCounter : bytes;
    return bytes;
}

}  // namespace tidemark::imagined
