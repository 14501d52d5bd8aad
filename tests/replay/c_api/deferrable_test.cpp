// Buffers that keep their addresses, through the C interface, on a simulated GPU.
#include <cstring>
#include <string>
#include <thread>
#include <vector>

#include <catch2/catch.hpp>

#include "replay/c_api/tidemark.h"

namespace {

constexpr std::uint64_t kMebibyte = 1 << 20;

// A GPU of 8 MiB with 64 MiB of host memory.
class Gpu {
  public:
    Gpu() {
        TM_INIT(tm_context_options, machine);
        machine.machine = "sim";
        REQUIRE(tm_context_open(&machine, &context_) == TM_OK);
        TM_INIT(tm_store_options, options);
        options.gpu = context_;
        options.gpu_bytes = 8 * kMebibyte;
        options.host_bytes = 64 * kMebibyte;
        REQUIRE(tm_store_open(&options, &store) == TM_OK);
    }

    Gpu(const Gpu&) = delete;
    Gpu& operator=(const Gpu&) = delete;

    ~Gpu() {
        tm_store_close(store);
        tm_context_close(context_, nullptr);
    }

    std::uint64_t create(std::uint64_t bytes) {
        std::uint64_t made = 0;
        REQUIRE(tm_buffer_create(store, bytes, TM_TIER_GPU, TM_KEEPS_ADDRESS, 0, &made) == TM_OK);
        return made;
    }

    std::vector<tm_piece> pin(const std::vector<std::uint64_t>& buffers, tm_access** access) {
        REQUIRE(tm_buffer_pin(store, buffers.data(), buffers.size(), TM_PIN, 5, 0, access) ==
                TM_OK);
        std::vector<tm_piece> pieces(buffers.size());
        std::size_t count = 0;
        REQUIRE(tm_access_pieces(*access, pieces.data(), pieces.size(), &count) == TM_OK);
        pieces.resize(count);
        return pieces;
    }

    tm_buffer_facts look(std::uint64_t buffer) {
        TM_INIT(tm_buffer_facts, facts);
        REQUIRE(tm_buffer_look(store, buffer, &facts) == TM_OK);
        return facts;
    }

    tm_defer_answer defer(std::uint64_t buffer, std::uint32_t flags = 0) {
        tm_defer_answer answer{};
        REQUIRE(tm_buffer_defer(store, buffer, flags, &answer) == TM_OK);
        return answer;
    }

    tm_store* store = nullptr;

  private:
    tm_context* context_ = nullptr;
};

std::uint8_t& byte_at(std::uint64_t address) {
    return *reinterpret_cast<std::uint8_t*>(address);
}

}  // namespace

TEST_CASE("more than the GPU has, each at one address with its bytes") {
    Gpu gpu;
    std::vector<std::uint64_t> buffers;
    std::vector<std::uint64_t> addresses;
    for (std::uint8_t i = 0; i < 6; ++i) {
        buffers.push_back(gpu.create(3 * kMebibyte));
        tm_access* access = nullptr;
        const tm_piece piece = gpu.pin({buffers.back()}, &access).front();
        CHECK(piece.bytes == 3 * kMebibyte);
        std::memset(&byte_at(piece.address), i + 1, piece.bytes);
        addresses.push_back(piece.address);
        tm_access_release(access);
    }
    for (std::uint8_t i = 0; i < 6; ++i) {
        tm_access* access = nullptr;
        const tm_piece piece = gpu.pin({buffers[i]}, &access).front();
        CHECK(piece.address == addresses[i]);
        CHECK(byte_at(piece.address + piece.bytes - 1) == i + 1);
        CHECK(gpu.look(buffers[i]).pins == 1);
        CHECK(gpu.look(buffers[i]).state == TM_STATE_PINNED);
        CHECK(gpu.defer(buffers[i]) == TM_BUSY);
        tm_access_release(access);
        std::uint64_t found = 0;
        CHECK(tm_buffer_at(gpu.store, addresses[i] + 5, &found) == TM_OK);
        CHECK(found == buffers[i]);
        CHECK(gpu.defer(buffers[i], TM_PATIENT) == TM_DEFERRED);
        CHECK(gpu.defer(buffers[i]) == TM_AWAY);
        CHECK(gpu.look(buffers[i]).tier == TM_TIER_HOST);
        CHECK(tm_buffer_retrieve(gpu.store, buffers[i], TM_MAKE_ROOM) == TM_OK);
        CHECK(gpu.look(buffers[i]).state == TM_STATE_RESIDENT);
    }
    TM_INIT(tm_deferrable_statistics, all);
    CHECK(tm_store_statistics(gpu.store, &all) == TM_OK);
    CHECK(all.buffers == 6);
    CHECK(all.deferrals >= 6);
    CHECK(all.pins == 0);
    std::size_t count = 0;
    CHECK(tm_store_deferrables(gpu.store, nullptr, 0, &count) == TM_OK);
    CHECK(count == 6);
    for (const std::uint64_t buffer : buffers)
        CHECK(tm_buffer_destroy(gpu.store, buffer) == TM_OK);
    CHECK(tm_buffer_destroy(gpu.store, buffers[0]) == TM_NOT_FOUND);
}

TEST_CASE("a group is pinned together, and one that can't fit is listed") {
    Gpu gpu;
    const std::uint64_t a = gpu.create(4 * kMebibyte);
    const std::uint64_t b = gpu.create(4 * kMebibyte);
    const std::uint64_t c = gpu.create(4 * kMebibyte);
    tm_access* access = nullptr;
    CHECK(gpu.pin({a, b, a}, &access).size() == 2);
    const std::uint64_t one[] = {c};
    tm_access* other = nullptr;
    CHECK(tm_buffer_pin(gpu.store, one, 1, TM_READ, 0, 1'000'000, &other) == TM_CANCELLED);
    CHECK(other == nullptr);
    const std::uint64_t all[] = {a, b, c};
    CHECK(tm_buffer_pin(gpu.store, all, 3, TM_READ, 0, 0, &other) == TM_NO_SPACE);
    TM_INIT(tm_error, error);
    tm_last_error(&error);
    CHECK(std::string(error.what).find("can't fit together") != std::string::npos);
    CHECK(tm_buffer_pin(gpu.store, all, 3, TM_READ, 2, 0, &other) == TM_BAD_OPTION);
    // The last pin ends a buffer that was freed meanwhile, and its store.
    CHECK(tm_buffer_destroy(gpu.store, a) == TM_OK);
    CHECK(tm_buffer_pin(gpu.store, &a, 1, TM_READ, 0, 0, &other) == TM_NOT_FOUND);
    tm_access_release(access);
}

TEST_CASE("the host reads a deferred buffer where it is") {
    Gpu gpu;
    const std::uint64_t buffer = gpu.create(2 * kMebibyte);
    tm_access* access = nullptr;
    std::memset(&byte_at(gpu.pin({buffer}, &access).front().address), 42, 2 * kMebibyte);
    tm_access_release(access);
    CHECK(gpu.defer(buffer, TM_PATIENT) == TM_DEFERRED);
    CHECK(tm_buffer_acquire(gpu.store, buffer, TM_TIER_HOST, TM_READ, 0, 0, &access) == TM_OK);
    tm_piece piece{};
    CHECK(tm_access_pieces(access, &piece, 1, nullptr) == TM_OK);
    CHECK(byte_at(piece.address) == 42);
    tm_access_release(access);
    CHECK(gpu.look(buffer).tier == TM_TIER_HOST);
}

TEST_CASE("copies go to and from what is pinned, and nowhere else") {
    Gpu gpu;
    const std::uint64_t buffer = gpu.create(2 * kMebibyte);
    const std::uint64_t address = gpu.look(buffer).address;
    const std::string text = "deferrable";
    const auto from = reinterpret_cast<std::uint64_t>(text.data());
    tm_access* access = nullptr;
    gpu.pin({buffer}, &access);
    CHECK(tm_store_copy(gpu.store, address, from, text.size(), 0, 1) == TM_OK);
    CHECK(byte_at(address + 9) == 'e');
    tm_access_release(access);
    CHECK(gpu.defer(buffer, TM_PATIENT) == TM_DEFERRED);
    CHECK(tm_store_copy(gpu.store, address, from, text.size(), 0, 1) != TM_OK);
}

TEST_CASE("one reader is told what happens, and closing wakes it") {
    Gpu gpu;
    const std::uint64_t buffer = gpu.create(2 * kMebibyte);
    REQUIRE(tm_store_watch(gpu.store) == TM_OK);
    CHECK(tm_store_watch(gpu.store) == TM_UNSUPPORTED);
    CHECK(gpu.defer(buffer) == TM_DEFERRED);
    std::vector<tm_store_event> events(16);
    std::size_t count = 0;
    CHECK(tm_store_events(gpu.store, 0, events.data(), events.size(), &count) == TM_OK);
    REQUIRE(count == 3);
    CHECK(events[0].kind == TM_STORE_REGISTERED);
    CHECK(events[1].kind == TM_STORE_DEFERRING);
    CHECK(events[2].kind == TM_STORE_DEFERRED);
    CHECK(events[2].buffer == buffer);
    std::size_t none = 1;
    tm_status waited = TM_INTERNAL;
    std::thread reader(
        [&] { waited = tm_store_events(gpu.store, UINT64_MAX, events.data(), 1, &none); });
    CHECK(tm_store_stop(gpu.store) == TM_OK);
    reader.join();
    CHECK(waited == TM_OK);
    CHECK(none == 0);
    CHECK(tm_stream_ended(gpu.store, 5) == TM_OK);
}

TEST_CASE("what has no GPU, or no such buffer, says so") {
    TM_INIT(tm_store_options, options);
    options.host_bytes = kMebibyte;
    tm_store* store = nullptr;
    REQUIRE(tm_store_open(&options, &store) == TM_OK);
    std::uint64_t buffer = 0;
    CHECK(tm_buffer_create(store, kMebibyte, TM_TIER_HOST, TM_KEEPS_ADDRESS, 0, &buffer) ==
          TM_BAD_OPTION);
    CHECK(tm_store_watch(store) == TM_BAD_OPTION);
    CHECK(tm_store_stop(store) == TM_OK);
    tm_store_close(store);
    Gpu gpu;
    CHECK(tm_buffer_create(gpu.store, kMebibyte, TM_TIER_GPU, TM_KEEPS_ADDRESS | TM_STAYS, 0,
                           &buffer) == TM_BAD_OPTION);
    CHECK(tm_buffer_defer(gpu.store, 77, 0, nullptr) == TM_NOT_FOUND);
    CHECK(tm_buffer_at(gpu.store, 5, &buffer) == TM_NOT_FOUND);
    CHECK(tm_buffer_pin(nullptr, &buffer, 1, TM_PIN, 0, 0, nullptr) == TM_BAD_OPTION);
    CHECK(tm_store_deferrables(gpu.store, nullptr, 4, nullptr) == TM_BAD_OPTION);
}
