// The fuzz targets over their corpora: seeds, and everything that fuzzing has ever found.
#include <algorithm>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <string>
#include <vector>

#include <catch2/catch.hpp>

#include "tests/fuzz/answer_all.h"
#include "tests/fuzz/draw_all.h"
#include "tests/fuzz/targets.h"
#include "tests/support/extremes.h"
#include "tests/support/file_in_memory.h"

namespace tidemark {
namespace {

std::vector<std::filesystem::path> corpus_of(std::string_view target) {
    const std::filesystem::path folder =
        std::filesystem::path(TIDEMARK_SOURCE_DIR) / "tests/fuzz/corpus" / target;
    std::vector<std::filesystem::path> files;
    if (!std::filesystem::exists(folder))
        return files;
    for (const auto& entry : std::filesystem::directory_iterator(folder))
        files.push_back(entry.path());
    std::sort(files.begin(), files.end());
    return files;
}

// Takes what any of the others takes, and then a hundred times as long.
bool is_whole_program(const fuzz::Target& target) {
    return target.name == "answers" || target.name == "views" || target.name == "live_feed";
}

std::string content_of(const std::filesystem::path& path) {
    std::ifstream file(path, std::ios::binary);
    return {std::istreambuf_iterator<char>(file), std::istreambuf_iterator<char>()};
}

std::span<const std::byte> bytes_of(const std::string& text) {
    return std::as_bytes(std::span(text));
}

}  // namespace

TEST_CASE("every fuzz target survives its corpus", "[fuzz]") {
    for (const fuzz::Target& target : fuzz::all_targets()) {
        const auto files = corpus_of(target.name);
        INFO(target.name);
        CHECK(files.size() >= 3);
        for (const auto& path : files) {
            INFO(path.string());
            target.run(bytes_of(content_of(path)));
            SUCCEED();
        }
    }
}

TEST_CASE("every fuzz target survives every part of its smallest seeds", "[fuzz]") {
    for (const fuzz::Target& target : fuzz::all_targets()) {
        if (is_whole_program(target))
            continue;
        for (const auto& path : corpus_of(target.name)) {
            const std::string whole = content_of(path);
            if (whole.size() > 600)
                continue;
            INFO(path.string());
            for (std::size_t kept = 0; kept < whole.size(); ++kept)
                target.run(bytes_of(whole.substr(0, kept)));
            SUCCEED();
        }
    }
}

TEST_CASE("every fuzz target survives nothing, zeros and each other's seeds", "[fuzz]") {
    for (const fuzz::Target& target : fuzz::all_targets()) {
        INFO(target.name);
        target.run({});
        target.run(bytes_of(std::string(1000, '\0')));
        if (is_whole_program(target))
            continue;
        for (const fuzz::Target& other : fuzz::all_targets()) {
            for (const auto& path : corpus_of(other.name))
                target.run(bytes_of(content_of(path)));
        }
        SUCCEED();
    }
}

TEST_CASE("what is extreme but legitimate has an answer", "[fuzz][extremes]") {
    for (const support::Extreme& extreme : support::extremes()) {
        INFO(extreme.name);
        const support::FileInMemory file(bytes_of(extreme.jsonl));
        ReadOptions options;
        options.lenient = extreme.damaged;
        const auto commands = extreme.large ? fuzz::Commands::few : fuzz::Commands::all;
        CHECK(fuzz::answer(file.path(), options, commands));
#ifdef TIDEMARK_VIZ
        CHECK(fuzz::draw_all(file.path(), options.lenient));
#endif
    }
}

}  // namespace tidemark
