// The part of NVTX's interface for tools that the recorder uses: our own declarations, so that no
// toolkit is needed to build. Each part of a program that has NVTX in it (a header) looks for a
// tool when it is first used, and gives it tables to put its functions into. Layouts and numbers
// are those of NVTX 3, where they never change; a test compares them with its headers where there
// are any.
#pragma once

#include <cstddef>
#include <cstdint>

namespace tidemark::inject::nvtx {

using Function = void (*)();

// What a program gives a tool.
using GetExportTable = const void* (*)(std::uint32_t table);
constexpr std::uint32_t kCallbacks = 1;  // NVTX_ETID_CALLBACKS

struct CallbackTables {
    std::size_t struct_size = 0;
    // The table of a module: where each of its functions is to be put.
    int (*table_of)(int module, Function*** table, unsigned* size) = nullptr;
};

// NvtxCallbackModule
constexpr int kCore = 1;
constexpr int kCore2 = 5;

// NvtxCallbackIdCore
enum class Core : unsigned {
    mark_ex = 1,
    mark = 2,
    start_ex = 4,
    start = 5,
    start_wide = 6,
    end = 7,
    push_ex = 8,
    push = 9,
    push_wide = 10,
    pop = 11,
};

// NvtxCallbackIdCore2, of functions that name a domain
enum class Core2 : unsigned {
    mark_ex = 1,
    start_ex = 2,
    end = 3,
    push_ex = 4,
    pop = 5,
    register_string = 10,
    register_wide = 11,
    create = 12,
    create_wide = 13,
};

// nvtxMessageType_t
constexpr std::int32_t kText = 1;
constexpr std::int32_t kRegistered = 3;

// nvtxEventAttributes_t
struct Attributes {
    std::uint16_t version = 0;
    std::uint16_t size = 0;
    std::uint32_t category = 0;
    std::int32_t colour_type = 0;
    std::uint32_t colour = 0;
    std::int32_t payload_type = 0;
    std::int32_t reserved = 0;
    std::uint64_t payload = 0;
    std::int32_t message_type = 0;
    const void* message = nullptr;  // a text or what a domain gave for a registered one, by type
};

static_assert(offsetof(Attributes, message) == 40 && sizeof(Attributes) == 48);

}  // namespace tidemark::inject::nvtx
