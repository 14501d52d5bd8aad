// Reading a configuration from text.
#include "tests/backends/cuda/fake/fake_config.h"

#include <charconv>
#include <cstdio>
#include <cstdlib>
#include <vector>

namespace tidemark::fake {
namespace {

[[noreturn]] void refuse(std::string_view word) {
    std::fprintf(stderr, "the fake CUDA driver: TIDEMARK_FAKE_CUDA_CONFIG: '%.*s'\n",
                 static_cast<int>(word.size()), word.data());
    std::abort();
}

template <class T>
T number(std::string_view text) {
    T value{};
    const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
    if (error != std::errc{} || end != text.data() + text.size())
        refuse(text);
    return value;
}

std::vector<std::string_view> split(std::string_view text, char separator) {
    std::vector<std::string_view> parts;
    while (!text.empty()) {
        const std::size_t end = text.find(separator);
        parts.push_back(text.substr(0, end));
        text = end == std::string_view::npos ? std::string_view{} : text.substr(end + 1);
    }
    return parts;
}

Failure duration(std::string_view word) {
    if (word == "one")
        return Failure::one;
    if (word == "all")
        return Failure::all;
    if (word == "lost")
        return Failure::lost;
    refuse(word);
}

Plan read_plan(std::string_view text) {
    const std::vector<std::string_view> parts = split(text, ':');
    if (parts.size() < 3 || parts.size() > 4)
        refuse(text);
    Plan plan;
    plan.call = parts[0] == "any" ? "" : parts[0];
    plan.nth = number<std::uint64_t>(parts[1]);
    plan.code = Code{number<int>(parts[2])};
    if (parts.size() == 4)
        plan.how = duration(parts[3]);
    return plan;
}

}  // namespace

void read_config(std::string_view text, Config& config, Plan& plan) {
    const std::pair<std::string_view, std::uint32_t*> switches[] = {
        {"devices", &config.devices}, {"driver_version", &config.driver_version},
        {"vmm", &config.vmm},         {"pools", &config.pools},
        {"ipc", &config.ipc},         {"peers", &config.peers},
        {"by_hand", &config.by_hand}, {"recycle", &config.recycle},
    };
    const std::pair<std::string_view, std::uint64_t*> sizes[] = {
        {"memory", &config.memory},
        {"granularity", &config.granularity},
        {"address_space", &config.address_space},
    };
    for (const std::string_view word : split(text, ',')) {
        const std::size_t equals = word.find('=');
        if (equals == std::string_view::npos)
            refuse(word);
        const std::string_view name = word.substr(0, equals);
        const std::string_view value = word.substr(equals + 1);
        bool known = name == "fail";
        if (known)
            plan = read_plan(value);
        for (const auto& [each, target] : switches) {
            if (each == name)
                *target = number<std::uint32_t>(value), known = true;
        }
        for (const auto& [each, target] : sizes) {
            if (each == name)
                *target = number<std::uint64_t>(value), known = true;
        }
        if (!known)
            refuse(word);
    }
}

}  // namespace tidemark::fake
