// Pictures come back from their files, and what is no picture is an error that says so.
#include "viz/headless/png.h"

#include <filesystem>
#include <fstream>

#include <catch2/catch.hpp>
#include <unistd.h>

namespace tidemark::viz {
namespace {

Bitmap sample() {
    Bitmap bitmap;
    bitmap.width = 31;
    bitmap.height = 7;
    for (std::uint32_t i = 0; i < 31 * 7; ++i)
        bitmap.pixels.push_back(rgb(i * 40503U & 0xffffffU));
    return bitmap;
}

class Folder {
  public:
    Folder() { std::filesystem::create_directories(path_); }

    ~Folder() { std::filesystem::remove_all(path_); }

    std::string file(const std::string& name) const { return path_ / name; }

    std::size_t files() const {
        return static_cast<std::size_t>(
            std::distance(std::filesystem::directory_iterator(path_), {}));
    }

  private:
    std::filesystem::path path_ =
        std::filesystem::temp_directory_path() / ("tidemark-png-" + std::to_string(::getpid()));
};

}  // namespace

TEST_CASE("a picture comes back from its file") {
    const Folder folder;
    REQUIRE(write_png(sample(), folder.file("a.png")));
    const Result<Bitmap> back = read_png(folder.file("a.png"));
    REQUIRE(back);
    CHECK(back->width == 31);
    CHECK(back->height == 7);
    CHECK(back->pixels == sample().pixels);
    CHECK(folder.files() == 1);  // nothing half-written stays
    CHECK(*encode_png(sample()) == *encode_png(sample()));
}

TEST_CASE("pictures that cannot be written say what is wrong and leave nothing behind") {
    const Folder folder;
    CHECK(write_png(Bitmap{}, folder.file("a.png")).error().code == ErrorCode::bad_option);
    Bitmap lying = sample();
    lying.pixels.pop_back();
    CHECK(write_png(lying, folder.file("a.png")).error().code == ErrorCode::bad_option);
    const Error error = write_png(sample(), folder.file("none/a.png")).error();
    CHECK(error.code == ErrorCode::io);
    CHECK(error.where == folder.file("none/a.png"));
    CHECK(folder.files() == 0);
}

TEST_CASE("damaged pictures are refused") {
    const Folder folder;
    CHECK(read_png(folder.file("none.png")).error().code == ErrorCode::io);
    const std::vector<std::byte> whole = *encode_png(sample());
    for (const std::size_t kept :
         {std::size_t{0}, std::size_t{4}, std::size_t{20}, whole.size() / 2, whole.size() - 20}) {
        std::ofstream(folder.file("cut.png"), std::ios::binary)
            .write(reinterpret_cast<const char*>(whole.data()), static_cast<std::streamsize>(kept));
        const Result<Bitmap> read = read_png(folder.file("cut.png"));
        REQUIRE_FALSE(read);
        CHECK(read.error().code == ErrorCode::bad_input);
    }
}

}  // namespace tidemark::viz
