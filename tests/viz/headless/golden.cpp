// Comparing with golden pictures.
#include "tests/viz/headless/golden.h"

#include <cstdlib>
#include <filesystem>
#include <string_view>

#include <catch2/catch.hpp>
#include <fmt/format.h>
#include <imgui.h>

#include "viz/headless/png.h"

namespace tidemark::viz {
namespace {

constexpr int kSmall = 10;           // of 255, in one part of a pixel
constexpr double kTolerated = 2e-4;  // of the pixels: 300 of 1600 x 900

bool differs(Colour a, Colour b) {
    for (const unsigned shift : {0U, 8U, 16U})
        if (std::abs(static_cast<int>(a >> shift & 0xffU) - static_cast<int>(b >> shift & 0xffU)) >
            kSmall)
            return true;
    return false;
}

std::string golden_path(const std::string& name) {
    return fmt::format("{}/tests/viz/golden/{}-{}.png", TIDEMARK_SOURCE_DIR, name,
                       IMGUI_VERSION_NUM);
}

// Beside the programs that were built.
std::string failure_path(const std::string& name, std::string_view what) {
    const auto folder = std::filesystem::path(TIDEMARK_PROGRAM).parent_path() / "golden";
    std::filesystem::create_directories(folder);
    return folder / fmt::format("{}-{}.png", name, what);
}

}  // namespace

Difference difference(const Bitmap& expected, const Bitmap& actual) {
    Difference result;
    if (expected.width != actual.width || expected.height != actual.height)
        return result;
    result.bitmap = expected;
    std::size_t count = 0;
    for (std::size_t i = 0; i < expected.pixels.size(); ++i) {
        const bool other = differs(expected.pixels[i], actual.pixels[i]);
        count += other ? 1 : 0;
        result.bitmap.pixels[i] =
            other ? rgb(0xff00ff) : mix(expected.pixels[i], rgb(0xffffff), 0.7);
    }
    result.share = static_cast<double>(count) / static_cast<double>(expected.pixels.size());
    return result;
}

void check_golden(const std::string& name, const Bitmap& actual) {
    const std::string path = golden_path(name);
    if (const char* update = std::getenv("TIDEMARK_UPDATE_GOLDEN");
        update != nullptr && std::string_view(update) == "1") {
        REQUIRE(write_png(actual, path));
        return;
    }
    if (!std::filesystem::exists(path)) {
        WARN("skipped: there is no golden picture " << path);
        return;
    }
    const Result<Bitmap> expected = read_png(path);
    REQUIRE(expected);
    const Difference found = difference(*expected, actual);
    if (found.share <= kTolerated)
        return;
    const std::string shown = failure_path(name, "actual");
    REQUIRE(write_png(actual, shown));
    std::string where = "actual picture: " + shown;
    if (!found.bitmap.pixels.empty()) {
        const std::string marked = failure_path(name, "difference");
        REQUIRE(write_png(found.bitmap, marked));
        where += "\nwhere it differs: " + marked;
    }
    FAIL(
        fmt::format("{:.3f} % of the pixels are not those of {}\n{}\n"
                    "If they are better now: TIDEMARK_UPDATE_GOLDEN=1 writes it again.",
                    100 * found.share, path, where));
}

}  // namespace tidemark::viz
