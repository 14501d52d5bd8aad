// ProbeArgument: where a probe's argument is when the program reaches the probe, as its note says
// in assembler syntax: "-8@%rax -1@%dl -4@$7 8@-56(%rbp)". Pure.
#pragma once

#include <cstdint>
#include <optional>
#include <string_view>
#include <vector>

#include "core/base/result.h"

namespace tidemark::attach {

// A general register of x86-64; the value is its place among the registers that the kernel saves
// (struct pt_regs).
enum class Register : std::uint8_t {
    r15,
    r14,
    r13,
    r12,
    rbp,
    rbx,
    r11,
    r10,
    r9,
    r8,
    rax,
    rcx,
    rdx,
    rsi,
    rdi,
    rsp = 19,
};

struct ProbeArgument {
    enum class Kind : std::uint8_t { in_register, in_memory, constant };

    Kind kind = Kind::constant;
    std::uint8_t bytes = 8;  // 1, 2, 4 or 8
    bool is_signed = false;
    bool high_byte = false;              // of a register: bits 8 to 15 of it (%ah)
    std::optional<Register> base = {};   // the register; of memory, what its address begins with
    std::optional<Register> index = {};  // of memory: is added `scale` times
    std::uint8_t scale = 1;              // 1, 2, 4 or 8
    std::int64_t number = 0;             // the constant; of memory, is added

    friend bool operator==(const ProbeArgument&, const ProbeArgument&) = default;
};

// All of a probe. Errors (unsupported): what is none of these: floating point, symbols, segments.
Result<std::vector<ProbeArgument>> parse_probe_arguments(std::string_view text);

}  // namespace tidemark::attach
