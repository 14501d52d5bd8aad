// Tiles counted from a plan's JSON.
#include "backends/imagined/dnn_workspace.h"

#include <algorithm>
#include <array>
#include <limits>
#include <string>
#include <vector>

#include <nlohmann/json.hpp>

#include "backends/imagined/names.h"

namespace tidemark::imagined {
namespace {

using Json = nlohmann::json;

constexpr std::array kSharing{62, 65, 67, 68, 71};
constexpr std::array kOfBlas{58, 63};

// If cuBLASLt has more tiles than these, it needs descriptors: by tiles of 128 x 128 of each image
// in float32, of 128 x 256 of all images in half precision.
constexpr std::int64_t kManyOfFloat = 110, kManyOfHalves = 33, kManyOfChannelsLast = 66;

constexpr int kAssumed = 18;  // multiprocessors, by cuDNN without a device

// Bytes of a workspace in addition to parts of tiles.
constexpr std::int64_t kCopies = 16, kAlignment = 127, kSplit = 32, kCounter = 4, kPart = 4;

struct Tile {
    int knob = 0;  // CUDNN_KNOB_TYPE_TILE_SIZE
    std::int64_t rows = 0, columns = 0;
};

constexpr std::array<Tile, 12> kTiles{{{0, 128, 128},
                                       {1, 128, 64},
                                       {2, 256, 128},
                                       {3, 256, 128},
                                       {4, 256, 64},
                                       {5, 64, 64},
                                       {6, 256, 128},
                                       {7, 64, 128},
                                       {9, 64, 256},
                                       {16, 256, 128},
                                       {18, 64, 192},
                                       {20, 256, 96}}};

// The cost of a level of adding up parts, as a number of steps along the inner dimension, by the
// tile's elements.
struct Level {
    std::int64_t elements = 0;
    double steps = 0;
};

constexpr std::array<Level, 4> kLevels{{{4096, 720}, {8192, 592}, {16384, 450}, {32768, 320}}};

// In bfloat16 a single round is split if the inner dimension has at least this length, into as many
// parts as possible, or this many.
constexpr std::int64_t kLongBfloat16 = 12800, kMostOfBfloat16 = 13;

template <class List>
bool in(const List& list, int value) {
    return std::find(list.begin(), list.end(), value) != list.end();
}

std::int64_t in_whole(std::int64_t size, std::int64_t part) {
    return (size + part - 1) / part;
}

// One convolution: its engine, and the matrices that represent it.
struct Plan {
    int engine = 0;
    bool of_filter = false, halves = false, bfloat16 = false;
    bool plain = false;  // two-dimensional, and without groups
    std::int64_t images = 1;
    std::int64_t rows = 1, columns = 1;  // of the output
    std::int64_t taps = 1, depth = 1;    // inner dimension: of a filter's positions, and at each
    std::int64_t copies = 0;             // bytes of tensors that aren't channels-last
    // Knobs; -1: the engine has none.
    int tile = -1, deep = -1, cluster_rows = -1, cluster_columns = -1, workspace = -1;
};

struct Shape {
    std::vector<std::int64_t> sizes;

    std::int64_t pixels() const {
        std::int64_t product = sizes.at(0);
        for (std::size_t dim = 2; dim < sizes.size(); ++dim)
            product *= sizes[dim];
        return product;
    }
};

int knob(const Json& engine, const char* name) {
    const Json& knobs = engine.at("knobChoices");
    const std::string key = std::string("CUDNN_KNOB_TYPE_") + name;
    return knobs.contains(key) ? knobs.at(key).get<int>() : -1;
}

Shape read_shape(const Json& graph, const Json& name, Plan& plan) {
    for (const Json& tensor : graph.at("tensors")) {
        if (tensor.at("name") != name)
            continue;
        Shape found{tensor.at("dim")};
        const std::vector<std::int64_t> strides = tensor.at("stride");
        plan.halves = tensor.at("dataType") != "CUDNN_DATA_FLOAT";
        plan.bfloat16 = tensor.at("dataType") == "CUDNN_DATA_BFLOAT16";
        if (strides.at(1) != 1)
            plan.copies += found.pixels() * found.sizes.at(1) * (plan.halves ? 2 : 4);
        return found;
    }
    return {{0, 0}};
}

// Throws what nlohmann_json and std::vector throw if the JSON isn't as expected.
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
    plan.tile = knob(engine, "TILE_SIZE");
    plan.deep = knob(engine, "TILEK");
    plan.cluster_rows = knob(engine, "TILE_CGA_M");
    plan.cluster_columns = knob(engine, "TILE_CGA_N");
    plan.workspace = knob(engine, "WORKSPACE");
    plan.of_filter = holds(operation, "FILTER");
    const bool of_data = holds(operation, "DATA");
    const Shape image = read_shape(graph, node.at(of_data ? "dX" : "X"), plan);
    const Shape filter = read_shape(graph, node.at(plan.of_filter ? "dW" : "W"), plan);
    const Shape output = read_shape(graph, node.at(plan.of_filter || of_data ? "dY" : "Y"), plan);
    const std::int64_t in_channels = filter.sizes.at(1), out_channels = filter.sizes.at(0);
    plan.images = std::max<std::int64_t>(image.sizes.at(0), 1);
    plan.plain = image.sizes.at(1) == in_channels && image.sizes.size() == 4;
    plan.taps = filter.pixels() / std::max<std::int64_t>(out_channels, 1);
    if (plan.of_filter) {
        plan.rows = out_channels;
        plan.columns = in_channels * plan.taps;
        plan.depth = output.pixels();
        plan.taps = 1;
    } else {
        plan.rows = of_data ? image.pixels() : output.pixels();
        plan.columns = of_data ? in_channels : out_channels;
        plan.depth = of_data ? out_channels : in_channels;
    }
    return plan;
}

// Tiles, how many run at once, and what sharing them needs.
struct Sharing {
    std::int64_t elements = 0;  // of a tile
    std::int64_t tiles = 0, at_once = 0;

    std::int64_t last() const { return tiles % at_once; }

    std::int64_t most_parts() const { return last() == 0 ? 1 : at_once / last(); }

    std::int64_t bytes(std::int64_t parts) const {
        const std::int64_t counter = tiles > 2 * at_once ? kCounter : 0;
        if (parts < 2 || last() == 0)
            return counter == 0 ? 0 : kAlignment + counter;
        std::int64_t pairs = 0;
        for (std::int64_t left = parts; left > 1; pairs += left)
            left = in_whole(left, 2);
        return kAlignment + kSplit + counter +
               last() * (parts * elements * kPart + pairs * kCounter);
    }
};

// For the plan, if `clusters` of its size run at once.
Sharing share(const Plan& plan, const Tile& tile, std::int64_t clusters) {
    const auto rows = in_whole(in_whole(plan.rows, tile.rows), plan.cluster_rows);
    const auto columns = in_whole(in_whole(plan.columns, tile.columns), plan.cluster_columns);
    const std::int64_t size = std::int64_t{plan.cluster_rows} * plan.cluster_columns;
    return {tile.rows * tile.columns, rows * columns * size, clusters * size};
}

std::int64_t parts_of(const Plan& plan, const Sharing& sharing) {
    if (plan.workspace != 0)
        return 1;
    const std::int64_t step = plan.deep == 0 ? 32 : 64;
    const std::int64_t steps = plan.taps * in_whole(plan.depth, step);
    const bool one_round = sharing.tiles <= sharing.at_once;
    if (one_round && plan.bfloat16)
        return steps * step < kLongBfloat16 ? 1 : std::min(sharing.most_parts(), kMostOfBfloat16);
    const auto level = std::find_if(kLevels.begin(), kLevels.end(), [&](const Level& one) {
        return one.elements >= sharing.elements;
    });
    const double cost = (level == kLevels.end() ? kLevels.back() : *level).steps /
                        static_cast<double>(one_round ? step : 2 * step);
    std::int64_t best = 1;
    double least = std::numeric_limits<double>::infinity();
    for (std::int64_t parts = 1, levels = 0; parts <= sharing.most_parts(); ++parts) {
        if (parts > std::int64_t{1} << levels)
            ++levels;
        const double all =
            static_cast<double>(in_whole(steps, parts)) + cost * static_cast<double>(levels);
        if (all < least) {
            least = all;
            best = parts;
        }
    }
    return best;
}

bool many_of_blas(const Plan& plan) {
    if (!plan.halves)
        return plan.images * in_whole(plan.rows / plan.images, 128) * in_whole(plan.columns, 128) >
               kManyOfFloat;
    return in_whole(plan.rows, 128) * in_whole(plan.columns, 256) >
           (plan.copies == 0 ? kManyOfChannelsLast : kManyOfHalves);
}

bool explains(const Sharing& sharing, std::int64_t bytes) {
    for (std::int64_t parts = 1; parts <= sharing.most_parts(); ++parts)
        if (sharing.bytes(parts) == bytes)
            return true;
    return false;
}

std::int64_t shared_on_card(const Plan& plan, std::int64_t bytes,
                            const std::vector<int>& clusters) {
    const auto tile = std::find_if(kTiles.begin(), kTiles.end(),
                                   [&](const Tile& one) { return one.knob == plan.tile; });
    const int size = plan.cluster_rows * plan.cluster_columns;
    const bool known = plan.cluster_rows > 0 && plan.cluster_columns > 0 &&
                       size <= std::min(static_cast<int>(clusters.size()), kAssumed) &&
                       clusters[static_cast<std::size_t>(size - 1)] > 0;
    if (tile == kTiles.end() || !known)
        return bytes;
    const std::int64_t copies = plan.copies + (plan.copies == 0 ? 0 : kCopies);
    const Sharing real = share(plan, *tile, clusters[static_cast<std::size_t>(size - 1)]);
    if (!plan.plain) {
        const bool counted = bytes - copies == kAlignment + kCounter;
        return counted && (plan.of_filter || real.bytes(1) == 0) ? copies : bytes;
    }
    if (!explains(share(plan, *tile, kAssumed / size), bytes - copies))
        return bytes;
    return copies + real.bytes(parts_of(plan, real));
}

}  // namespace

std::int64_t workspace_on_card(const std::string& text, std::int64_t bytes,
                               const std::vector<int>& clusters) {
    if (clusters.empty())
        return bytes;
    Plan plan;
    try {
        plan = read(text);
    } catch (const std::exception&) {
        return bytes;
    }
    if (in(kOfBlas, plan.engine) && plan.tile < 0 && plan.workspace > 0 && bytes == 0) {
        constexpr std::int64_t kTwo = 272, kThree = 400;
        return !many_of_blas(plan) ? 0 : plan.halves ? kTwo : kThree;
    }
    return in(kSharing, plan.engine) ? shared_on_card(plan, bytes, clusters) : bytes;
}

}  // namespace tidemark::imagined
