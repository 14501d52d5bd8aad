// Arguments of probes as the assembler writes them.
#include "replay/attach/probe_argument.h"

#include <catch2/catch.hpp>

using namespace tidemark;
using attach::parse_probe_arguments;
using attach::ProbeArgument;
using attach::Register;
using Kind = ProbeArgument::Kind;

namespace {

ProbeArgument only(std::string_view text) {
    const auto arguments = parse_probe_arguments(text);
    INFO(text);
    REQUIRE(arguments);
    REQUIRE(arguments->size() == 1);
    return arguments->front();
}

}  // namespace

TEST_CASE("PyTorch's arguments are two registers, a byte of one, and the stack", "[attach]") {
    const auto arguments = parse_probe_arguments("-8@%rax -1@%dl -8@%r14 -8@-56(%rbp)");
    REQUIRE(arguments);
    CHECK(*arguments ==
          std::vector<ProbeArgument>{
              {.kind = Kind::in_register, .bytes = 8, .is_signed = true, .base = Register::rax},
              {.kind = Kind::in_register, .bytes = 1, .is_signed = true, .base = Register::rdx},
              {.kind = Kind::in_register, .bytes = 8, .is_signed = true, .base = Register::r14},
              {.kind = Kind::in_memory,
               .bytes = 8,
               .is_signed = true,
               .base = Register::rbp,
               .number = -56}});
}

TEST_CASE("every register is known by each of its widths", "[attach]") {
    const std::vector<std::pair<Register, std::vector<std::string>>> registers{
        {Register::rax, {"rax", "eax", "ax", "al"}},
        {Register::rbx, {"rbx", "ebx", "bx", "bl"}},
        {Register::rcx, {"rcx", "ecx", "cx", "cl"}},
        {Register::rdx, {"rdx", "edx", "dx", "dl"}},
        {Register::rsi, {"rsi", "esi", "si", "sil"}},
        {Register::rdi, {"rdi", "edi", "di", "dil"}},
        {Register::rbp, {"rbp", "ebp", "bp", "bpl"}},
        {Register::rsp, {"rsp", "esp", "sp", "spl"}},
        {Register::r8, {"r8", "r8d", "r8w", "r8b"}},
        {Register::r9, {"r9", "r9d", "r9w", "r9b"}},
        {Register::r10, {"r10", "r10d", "r10w", "r10b"}},
        {Register::r11, {"r11", "r11d", "r11w", "r11b"}},
        {Register::r12, {"r12", "r12d", "r12w", "r12b"}},
        {Register::r13, {"r13", "r13d", "r13w", "r13b"}},
        {Register::r14, {"r14", "r14d", "r14w", "r14b"}},
        {Register::r15, {"r15", "r15d", "r15w", "r15b"}}};
    for (const auto& [value, names] : registers) {
        std::uint8_t bytes = 8;
        for (const std::string& name : names) {
            const ProbeArgument argument = only(std::to_string(bytes) + "@%" + name);
            CHECK(argument ==
                  ProbeArgument{.kind = Kind::in_register, .bytes = bytes, .base = value});
            bytes /= 2;
        }
    }
    CHECK(only("1@%ah").high_byte);
    CHECK(only("1@%ah").base == Register::rax);
}

TEST_CASE("constants and all forms of memory", "[attach]") {
    CHECK(only("-4@$-7").number == -7);
    CHECK(only("8@$0xffffffffffffffff").number == -1);
    const ProbeArgument indexed = only("4@16(%rax,%rbx,4)");
    CHECK(indexed == ProbeArgument{.kind = Kind::in_memory,
                                   .bytes = 4,
                                   .base = Register::rax,
                                   .index = Register::rbx,
                                   .scale = 4,
                                   .number = 16});
    CHECK(only("8@(%rsp)").number == 0);
    CHECK_FALSE(only("8@-8(,%rcx,8)").base);
    CHECK(only("8@(%rax,%rcx)").scale == 1);
    CHECK(parse_probe_arguments("")->empty());
}

TEST_CASE("what cannot be read is refused", "[attach]") {
    for (const char* text : {"-8@%xmm0",
                             "8f@%xmm0",
                             "8@%rip",
                             "8@symbol(%rip)",
                             "8@symbol",
                             "8@%fs:16(%rax)",
                             "3@%rax",
                             "-9223372036854775808@%rax",
                             "8@",
                             "@%rax",
                             "%rax",
                             "8@%",
                             "8@()",
                             "8@(%eax)",
                             "8@8(%rax",
                             "8@(%rax,%rbx,3)",
                             "8@4294967296(%rax)",
                             "8@$",
                             "8@$x",
                             "8@%al",
                             "4@%ax"}) {
        INFO(text);
        const auto arguments = parse_probe_arguments(text);
        REQUIRE_FALSE(arguments);
        CHECK(arguments.error().code == ErrorCode::unsupported);
    }
}
