// The settings file: JSON, checked as it is read.
#include "backends/imagined/settings.h"

#include <cstdlib>
#include <fstream>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

namespace tidemark::imagined {
namespace {

[[noreturn]] void stop(const std::string& what) {
    fmt::print(stderr, "tidemark: the imagined CUDA cannot start: {}\n", what);
    std::_Exit(70);
}

Card read_card(const nlohmann::json& from) {
    Card card;
    card.name = from.at("name");
    card.memory = from.at("memory");
    card.context = from.at("context");
    for (const auto& [number, value] : from.at("attributes").items())
        card.attributes.at(std::stoul(number)) = value;
    card.late_hole = from.at("late_hole");
    card.blas_handle = from.at("blas_handle");
    for (const auto& [name, taking] : from.at("first_uses").items())
        card.first_uses[name] = {taking.at("memory"), taking.at("addresses")};
    const nlohmann::json& taken = from.at("communicators");
    card.communicators = {taken.at("first"), taken.at("next"), taken.at("pair"),
                          taken.at("exchange")};
    card.clusters = from.value("clusters", card.clusters);
    return card;
}

Settings read() {
    const char* path = std::getenv("TIDEMARK_IMAGINED");
    if (path == nullptr)
        stop("TIDEMARK_IMAGINED names no settings; run the program by python -m tidemark.predict");
    try {
        std::ifstream file(path);
        const nlohmann::json from = nlohmann::json::parse(file);
        Settings settings;
        settings.card = read_card(from.at("card"));
        settings.gpus = from.at("gpus");
        settings.cuda = from.at("cuda");
        settings.late = from.at("late");
        settings.nonzero = from.at("nonzero");
        settings.distinct = from.at("unique");
        settings.journal = from.at("journal");
        settings.cudnn = from.at("cudnn");
        settings.cudnn_device = from.at("cudnn_device");
        settings.book.plans = from.at("book").at("plans");
        settings.book.convolutions = from.at("book").at("convolutions");
        if (const nlohmann::json& ranks = from.at("exchange"); !ranks.is_null())
            settings.ranks.emplace(
                Settings::Ranks{ranks.at("folder"), ranks.at("rank"), ranks.at("ranks")});
        return settings;
    } catch (const std::exception& failure) {
        stop(fmt::format("{}: {}", path, failure.what()));
    }
}

}  // namespace

const Settings& settings() {
    static const Settings* const kept = new Settings(read());  // outlives every thread
    return *kept;
}

}  // namespace tidemark::imagined
