// Instructions of the kernel's machine. Its register 6 keeps the saved registers of the process, 7
// the hit in the ring; 0 to 5 are lost with each call.
#include "replay/attach/probe_program.h"

#include <cstddef>

namespace tidemark::attach {
namespace {

constexpr std::uint8_t kSaved = BPF_REG_6;
constexpr std::uint8_t kHit = BPF_REG_7;
constexpr std::int16_t kWord = -8;  // on the stack: what is read from the process's memory
constexpr std::int16_t kKey = -16;  // on the stack: the index of an array

class Assembler {
  public:
    void add(std::uint8_t code, std::uint8_t target, std::uint8_t source, std::int16_t offset,
             std::int32_t number) {
        bpf_insn instruction{};
        instruction.code = code;
        instruction.dst_reg = target & 0xfU;
        instruction.src_reg = source & 0xfU;
        instruction.off = offset;
        instruction.imm = number;
        program_.push_back(instruction);
    }

    void set(std::uint8_t target, std::int32_t number) {
        add(BPF_ALU64 | BPF_MOV | BPF_K, target, 0, 0, number);
    }

    void move(std::uint8_t target, std::uint8_t source) {
        add(BPF_ALU64 | BPF_MOV | BPF_X, target, source, 0, 0);
    }

    void compute(std::uint8_t operation, std::uint8_t target, std::int32_t number) {
        add(static_cast<std::uint8_t>(BPF_ALU64 | BPF_K | operation), target, 0, 0, number);
    }

    void load(std::uint8_t target, std::uint8_t from, std::int16_t offset) {
        add(BPF_LDX | BPF_MEM | BPF_DW, target, from, offset, 0);
    }

    void store(std::uint8_t to, std::int16_t offset, std::uint8_t source) {
        add(BPF_STX | BPF_MEM | BPF_DW, to, source, offset, 0);
    }

    // Two instructions, the second with the upper half.
    void set_wide(std::uint8_t target, std::uint64_t number, std::uint8_t meaning = 0) {
        add(BPF_LD | BPF_IMM | BPF_DW, target, meaning, 0, static_cast<std::int32_t>(number));
        add(0, 0, 0, 0, static_cast<std::int32_t>(number >> 32U));
    }

    void set_map(std::uint8_t target, int map) {
        set_wide(target, static_cast<std::uint32_t>(map), BPF_PSEUDO_MAP_FD);
    }

    void call(bpf_func_id function) { add(BPF_JMP | BPF_CALL, 0, 0, 0, function); }

    // Returns the jump, taken if register 0 is zero, to be ended by land().
    std::size_t jump_if_zero() {
        add(BPF_JMP | BPF_JEQ | BPF_K, BPF_REG_0, 0, 0, 0);
        return program_.size() - 1;
    }

    // Goes on here.
    void land(std::size_t jump) {
        program_[jump].off = static_cast<std::int16_t>(program_.size() - jump - 1);
    }

    void exit() {
        set(BPF_REG_0, 0);
        add(BPF_JMP | BPF_EXIT, 0, 0, 0, 0);
    }

    std::vector<bpf_insn> take() { return std::move(program_); }

  private:
    std::vector<bpf_insn> program_;
};

std::int16_t position_of(Register saved) {
    return static_cast<std::int16_t>(static_cast<unsigned>(saved) * sizeof(std::uint64_t));
}

// The value's own bits are the lowest: the others become zeros, or its sign.
void extend(Assembler& program, const ProbeArgument& argument, std::uint8_t value) {
    const std::int32_t rest = 64 - 8 * argument.bytes;
    if (rest == 0)
        return;
    program.compute(BPF_LSH, value, rest);
    program.compute(argument.is_signed ? BPF_ARSH : BPF_RSH, value, rest);
}

// Into register 1; where the process's memory cannot be read, zero.
void read_memory(Assembler& program, const ProbeArgument& argument) {
    program.set(BPF_REG_1, 0);
    program.store(BPF_REG_10, kWord, BPF_REG_1);
    program.set(BPF_REG_3, static_cast<std::int32_t>(argument.number));
    for (const auto& [saved, scale] :
         {std::pair(argument.base, 1), std::pair(argument.index, int{argument.scale})}) {
        if (!saved)
            continue;
        program.load(BPF_REG_1, kSaved, position_of(*saved));
        program.compute(BPF_MUL, BPF_REG_1, scale);
        program.add(BPF_ALU64 | BPF_ADD | BPF_X, BPF_REG_3, BPF_REG_1, 0, 0);
    }
    program.move(BPF_REG_1, BPF_REG_10);
    program.compute(BPF_ADD, BPF_REG_1, kWord);
    program.set(BPF_REG_2, argument.bytes);
    program.call(BPF_FUNC_probe_read_user);
    program.load(BPF_REG_1, BPF_REG_10, kWord);
}

void read_argument(Assembler& program, const ProbeArgument& argument) {
    switch (argument.kind) {
        case ProbeArgument::Kind::constant:
            program.set_wide(BPF_REG_1, static_cast<std::uint64_t>(argument.number));
            break;
        case ProbeArgument::Kind::in_memory:
            read_memory(program, argument);
            break;
        case ProbeArgument::Kind::in_register:
            program.load(BPF_REG_1, kSaved, position_of(*argument.base));
            if (argument.high_byte)
                program.compute(BPF_RSH, BPF_REG_1, 8);
            break;
    }
    extend(program, argument, BPF_REG_1);
}

void count_lost(Assembler& program, int lost) {
    program.set(BPF_REG_1, 0);
    program.store(BPF_REG_10, kKey, BPF_REG_1);
    program.set_map(BPF_REG_1, lost);
    program.move(BPF_REG_2, BPF_REG_10);
    program.compute(BPF_ADD, BPF_REG_2, kKey);
    program.call(BPF_FUNC_map_lookup_elem);
    const std::size_t nothing = program.jump_if_zero();
    program.set(BPF_REG_1, 1);
    program.add(BPF_STX | BPF_ATOMIC | BPF_DW, BPF_REG_0, BPF_REG_1, 0, BPF_ADD);
    program.land(nothing);
    program.exit();
}

}  // namespace

std::vector<bpf_insn> probe_program(std::span<const ProbeArgument> arguments, std::uint32_t probe,
                                    int ring, int lost) {
    Assembler program;
    program.move(kSaved, BPF_REG_1);
    program.set_map(BPF_REG_1, ring);
    program.set(BPF_REG_2, sizeof(Hit));
    program.set(BPF_REG_3, 0);
    program.call(BPF_FUNC_ringbuf_reserve);
    const std::size_t full = program.jump_if_zero();
    program.move(kHit, BPF_REG_0);
    program.call(BPF_FUNC_ktime_get_ns);
    program.store(kHit, offsetof(Hit, time), BPF_REG_0);
    program.set(BPF_REG_1, static_cast<std::int32_t>(probe));
    program.store(kHit, offsetof(Hit, probe), BPF_REG_1);
    for (std::size_t i = 0; i < kMostArguments; ++i) {
        program.set(BPF_REG_1, 0);
        if (i < arguments.size())
            read_argument(program, arguments[i]);
        program.store(kHit,
                      static_cast<std::int16_t>(offsetof(Hit, values) + i * sizeof(std::uint64_t)),
                      BPF_REG_1);
    }
    program.move(BPF_REG_1, kHit);
    // It wakes nobody: the listener polls every few milliseconds, and the process pays less.
    program.set(BPF_REG_2, BPF_RB_NO_WAKEUP);
    program.call(BPF_FUNC_ringbuf_submit);
    program.exit();
    program.land(full);
    count_lost(program, lost);
    return program.take();
}

}  // namespace tidemark::attach
