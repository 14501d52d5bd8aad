// The fuzz targets over mutants of their corpora, for scripts/fuzz --blind: what libFuzzer does,
// but without looking at which code ran, so any compiler's build will do.
#include <algorithm>
#include <array>
#include <chrono>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <random>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include <catch2/catch.hpp>
#include <fcntl.h>
#include <unistd.h>

#include "tests/fuzz/targets.h"

namespace tidemark {
namespace {

using Random = std::mt19937_64;

constexpr std::size_t kMostBytes = 65'536;  // scripts/fuzz gives libFuzzer the same
constexpr unsigned kSecondsOfOne = 60;      // then it hangs

std::string word(const char* name, const char* otherwise) {
    const char* const value = std::getenv(name);
    return value == nullptr ? otherwise : value;
}

std::vector<std::string> seeds_of(std::string_view target) {
    std::vector<std::filesystem::path> paths;
    for (const auto& entry : std::filesystem::directory_iterator(
             std::filesystem::path(TIDEMARK_SOURCE_DIR) / "tests/fuzz/corpus" / target))
        paths.push_back(entry.path());
    std::sort(paths.begin(), paths.end());  // the same seed number makes the same mutants
    std::vector<std::string> seeds;
    for (const auto& path : paths) {
        std::ifstream file(path, std::ios::binary);
        seeds.emplace_back(std::istreambuf_iterator<char>(file), std::istreambuf_iterator<char>());
    }
    return seeds;
}

// One in 0..count-1; 0 for a count of 0.
std::size_t below(Random& random, std::size_t count) {
    return count == 0 ? 0 : random() % count;
}

// Numbers at which sums and casts break, as 1, 2, 4 or 8 bytes of little or big endian.
void put_extreme(Random& random, std::string& text) {
    constexpr std::array<std::uint64_t, 10> kExtremes{
        0, 1, 0x7F, 0x80, 0xFF, 0x7FFF, 0x7FFF'FFFF, 0xFFFF'FFFF, ~0ULL >> 1U, ~0ULL};
    const std::uint64_t value = kExtremes[below(random, kExtremes.size())];
    const std::size_t size = std::size_t{1} << below(random, 4);
    const std::size_t at = below(random, text.size());
    const bool big = below(random, 2) == 1;
    for (std::size_t i = 0; i < size && at + i < text.size(); ++i)
        text[at + i] = static_cast<char>(value >> (8 * (big ? size - 1 - i : i)));
}

// A number in a text becomes another one.
void put_digits(Random& random, std::string& text) {
    constexpr std::array kNumbers{
        "0",   "-1",        "18446744073709551615", "9223372036854775808", "1e9", "nan",
        "0.5", "4294967296"};
    const std::size_t at = text.find_first_of("0123456789", below(random, text.size()));
    if (at == std::string::npos)
        return;
    const std::size_t end = std::min(text.find_first_not_of("0123456789", at), text.size());
    text.replace(at, end - at, kNumbers[below(random, kNumbers.size())]);
}

void mutate(Random& random, std::string& text, const std::string& other) {
    const std::size_t at = below(random, text.size());
    const std::size_t length = below(random, std::min<std::size_t>(text.size() - at, 64) + 1);
    switch (below(random, 8)) {
        case 0:
            if (!text.empty())
                text[at] = static_cast<char>(text[at] ^ (1 << below(random, 8)));
            break;
        case 1:
            if (!text.empty())
                text[at] = static_cast<char>(random());
            break;
        case 2:
            text.erase(at, length);
            break;
        case 3:
            text.insert(below(random, text.size() + 1), text.substr(at, length));
            break;
        case 4:
            put_extreme(random, text);
            break;
        case 5:
            put_digits(random, text);
            break;
        case 6:
            text.resize(at);
            break;
        default: {
            const std::size_t from = below(random, other.size());
            text.insert(at, other.substr(from, 1 + below(random, 256)));
        }
    }
}

// The input that runs now, for whoever looks after it broke something. The file stays open: making
// it again takes longer than most runs.
class LastInput {
  public:
    explicit LastInput(std::string path)
        : path_(std::move(path)),
          file_(path_.empty() ? -1 : ::open(path_.c_str(), O_RDWR | O_CREAT | O_CLOEXEC, 0644)) {
        REQUIRE((path_.empty() || file_ >= 0));
    }

    LastInput(const LastInput&) = delete;
    LastInput& operator=(const LastInput&) = delete;

    ~LastInput() {
        if (file_ >= 0)
            ::close(file_);
    }

    void keep(const std::string& text) {
        if (file_ < 0)
            return;
        const auto size = static_cast<ssize_t>(text.size());
        if (::pwrite(file_, text.data(), text.size(), 0) != size || ::ftruncate(file_, size) != 0)
            FAIL(path_ << " cannot be written");
    }

    // Nothing broke.
    void remove() {
        if (file_ >= 0)
            std::filesystem::remove(path_);
    }

  private:
    std::string path_;
    int file_;
};

std::string mutant(Random& random, const std::vector<std::string>& seeds) {
    std::string text = seeds[below(random, seeds.size())];
    // Mostly little changes: a file with many is refused at its first.
    const std::size_t changes = std::size_t{1} << below(random, 5);
    for (std::size_t i = 0; i < changes; ++i)
        mutate(random, text, seeds[below(random, seeds.size())]);
    text.resize(std::min(text.size(), kMostBytes));
    return text;
}

}  // namespace

// Hidden: how much it tests depends on how long it may run.
TEST_CASE("fuzz targets survive mutants of their corpora", "[.mutants]") {
    const std::string wanted = word("TIDEMARK_FUZZ_TARGET", "");
    const std::string found = word("TIDEMARK_FUZZ_FOUND", "");  // holds the input that broke it
    const std::chrono::seconds seconds(std::stoi(word("TIDEMARK_FUZZ_SECONDS", "1")));
    const unsigned seed = static_cast<unsigned>(std::stoul(word("TIDEMARK_FUZZ_SEED", "1")));
    std::size_t targets = 0;
    for (const fuzz::Target& target : fuzz::all_targets()) {
        if (!wanted.empty() && target.name != wanted)
            continue;
        ++targets;
        Random random(seed);
        const std::vector<std::string> seeds = seeds_of(target.name);
        REQUIRE(!seeds.empty());
        LastInput last(found);
        std::uint64_t runs = 0;
        for (const auto end = std::chrono::steady_clock::now() + seconds;
             std::chrono::steady_clock::now() < end; ++runs) {
            std::string text = mutant(random, seeds);
            const std::span<std::byte> bytes = std::as_writable_bytes(std::span(text));
            // Seven in eight get their checksums repaired: the others show what wrong ones do.
            if (target.name == "tmk" && below(random, 8) != 0)
                fuzz::repair_tmk(bytes);
            last.keep(text);
            ::alarm(kSecondsOfOne);
            target.run(bytes);
            ::alarm(0);
        }
        last.remove();
        WARN(target.name << ": nothing found in " << runs << " runs");
    }
    CHECK(targets > 0);
}

}  // namespace tidemark
