// Names of plans and of convolutions, and the run's table of them.
#include "backends/imagined/dnn_book.h"

#include <mutex>
#include <set>
#include <string_view>

#include <fmt/format.h>
#include <fmt/ranges.h>
#include <nlohmann/json.hpp>
#include <xxhash.h>

#include "backends/imagined/api.h"
#include "backends/imagined/settings.h"

namespace tidemark::imagined {
namespace {

using Json = nlohmann::json;

std::string joined(const DnnSizes& numbers) {
    return fmt::format("{}", fmt::join(numbers, ","));
}

std::string tensor_name(const DnnTensor& tensor) {
    return fmt::format("{} {}:{}", tensor.type, joined(tensor.sizes), joined(tensor.strides));
}

// "CUDNN_DATA_HALF" without its prefix, or "" for a name with another prefix.
std::string after(std::string_view prefix, const std::string& name) {
    return name.starts_with(prefix) ? name.substr(prefix.size()) : "";
}

DnnTensor tensor_in(const Json& graph, const Json& node, const char* name, const char* gradient) {
    const Json& wanted = node.contains(name) ? node.at(name) : node.at(gradient);
    for (const Json& tensor : graph.at("tensors"))
        if (tensor.at("name") == wanted)
            return {after("CUDNN_DATA_", tensor.at("dataType")), tensor.at("dim"),
                    tensor.at("stride")};
    return {};
}

std::string convolution_in(const Json& graph) {
    constexpr std::string_view kEnd = "_DESCRIPTOR";
    const Json& node = graph.at("nodes").at(0);
    std::string kind = after("CUDNN_BACKEND_OPERATION_CONVOLUTION_", node.at("operation"));
    if (graph.at("nodes").size() != 1 || !kind.ends_with(kEnd))
        return "";
    kind.resize(kind.size() - kEnd.size());
    return convolution_name({kind, tensor_in(graph, node, "X", "dX"),
                             tensor_in(graph, node, "W", "dW"), tensor_in(graph, node, "Y", "dY"),
                             node.at("pad"), node.at("stride"), node.at("dilation")});
}

// Names that were looked up, by whether they were found.
struct Looked {
    std::mutex guard;
    std::set<std::string> found, missing;
};

Looked& looked() {
    static Looked* const one = new Looked;  // outlives every thread
    return *one;
}

std::optional<std::int64_t> look_up(const std::map<std::string, std::int64_t>& names,
                                    const std::string& name) {
    const auto found = names.find(name);
    const bool there = found != names.end();
    const std::scoped_lock lock(looked().guard);
    (there ? looked().found : looked().missing).insert(name);
    return there ? std::optional(found->second) : std::nullopt;
}

}  // namespace

std::string plan_key(const std::string& json) {
    Json plan = Json::parse(json, nullptr, false);
    if (!plan.is_object())
        return "";
    plan.erase("GPUProfile");
    if (plan.contains("operationGraph") && plan["operationGraph"].contains("tensors"))
        for (Json& tensor : plan["operationGraph"]["tensors"])
            tensor.erase("ptrAlignment");
    const std::string text = plan.dump(-1, ' ', false, Json::error_handler_t::replace);
    return fmt::format("{:016x}", XXH3_64bits(text.data(), text.size()));
}

std::string convolution_name(const Convolution& one) {
    return fmt::format("{} {} {} {} pad {} stride {} dilation {}", one.kind, tensor_name(one.image),
                       tensor_name(one.filter), tensor_name(one.output), joined(one.paddings),
                       joined(one.strides), joined(one.dilations));
}

std::string convolution_of_plan(const std::string& json) {
    try {
        return convolution_in(Json::parse(json).at("operationGraph"));
    } catch (const std::exception&) {
        return "";
    }
}

std::optional<std::int64_t> measured_plan(const std::string& json) {
    const auto& plans = settings().book.plans;
    return plans.empty() ? std::nullopt : look_up(plans, plan_key(json));
}

std::optional<std::int64_t> measured_convolution(const Convolution& one) {
    const auto& convolutions = settings().book.convolutions;
    return convolutions.empty() ? std::nullopt : look_up(convolutions, convolution_name(one));
}

}  // namespace tidemark::imagined

// Of the names that the run looked up in its table: how many it has (0), how many it hasn't (1).
IMAGINED(std::uint64_t, workspaces_measured)(int missing) {
    using namespace tidemark::imagined;
    const std::scoped_lock lock(looked().guard);
    return (missing != 0 ? looked().missing : looked().found).size();
}
