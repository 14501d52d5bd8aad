// The notes of probes: those of PyTorch 2.11, byte by byte, in a file made around them; and files
// that lie.
#include "replay/attach/probe_notes.h"

#include <cstring>

#include <catch2/catch.hpp>
#include <elf.h>
#include <fmt/format.h>

using namespace tidemark;
using attach::Probe;
using attach::read_probes;

namespace {

// Section .note.stapsdt of libc10_cuda.so from the wheel torch-2.11.0 for CUDA 13.
constexpr std::string_view kTorchNotes =
    "080000002d000000030000007374617073647400d031010000000000000000000000000050d70600"
    "000000007079746f7263680066726565002d38402572646900000000080000002d00000003000000"
    "737461707364740035e3010000000000000000000000000050d70600000000007079746f72636800"
    "66726565002d38402572646900000000080000004b0000000300000073746170736474004f4c0400"
    "00000000000000000000000052d70600000000007079746f726368006d616c6c6f63002d38402572"
    "6178202d314025646c202d384025723134202d38402d35362825726270290000";

using FileBytes = std::vector<std::byte>;

FileBytes from_hex(std::string_view text) {
    FileBytes bytes;
    for (std::size_t i = 0; i + 1 < text.size(); i += 2)
        bytes.push_back(std::byte(std::stoi(std::string(text.substr(i, 2)), nullptr, 16)));
    return bytes;
}

template <class Struct>
void put(FileBytes& file, std::size_t at, const Struct& value) {
    file.resize(std::max(file.size(), at + sizeof value));
    std::memcpy(file.data() + at, &value, sizeof value);
}

// Where the parts of such a file are.
constexpr std::size_t kSegments = sizeof(Elf64_Ehdr);
constexpr std::size_t kSections = kSegments + 2 * sizeof(Elf64_Phdr);
constexpr std::size_t kNames = kSections + 4 * sizeof(Elf64_Shdr);
constexpr std::size_t kNotes = kNames + 64;
constexpr std::string_view kSectionNames{"\0.note.stapsdt\0.stapsdt.base\0.shstrtab\0", 39};

// An ELF file with these notes, and of all else only what says where they are: code at 0xa000 as in
// the wheel, data at 0x6c200 in the file and `moved` further in memory. `base` as prelink moves it.
FileBytes file_with(const FileBytes& notes, std::uint64_t base = 0, std::uint64_t moved = 0) {
    FileBytes file;
    Elf64_Ehdr header{};
    std::memcpy(header.e_ident, ELFMAG, SELFMAG);
    header.e_ident[EI_CLASS] = ELFCLASS64;
    header.e_ident[EI_DATA] = ELFDATA2LSB;
    header.e_machine = EM_X86_64;
    header.e_phoff = kSegments;
    header.e_phentsize = sizeof(Elf64_Phdr);
    header.e_phnum = 2;
    header.e_shoff = kSections;
    header.e_shentsize = sizeof(Elf64_Shdr);
    header.e_shnum = 4;
    header.e_shstrndx = 3;
    put(file, 0, header);
    Elf64_Phdr segment{};
    segment.p_type = PT_LOAD;
    segment.p_offset = segment.p_vaddr = 0xa000;
    segment.p_filesz = 0x4dbf5;
    put(file, kSegments, segment);
    segment.p_offset = 0x6c200;
    segment.p_vaddr = 0x6c200 + moved;
    segment.p_filesz = 0x1554;
    put(file, kSegments + sizeof segment, segment);
    Elf64_Shdr section{};
    put(file, kSections, section);
    section.sh_name = 1;
    section.sh_type = SHT_NOTE;
    section.sh_offset = kNotes;
    section.sh_size = notes.size();
    put(file, kSections + sizeof section, section);
    section = {};
    section.sh_name = base == 0 ? 0 : 15;
    section.sh_addr = base;
    put(file, kSections + 2 * sizeof section, section);
    section = {};
    section.sh_offset = kNames;
    section.sh_size = kSectionNames.size();
    put(file, kSections + 3 * sizeof section, section);
    file.resize(kNotes);
    std::memcpy(file.data() + kNames, kSectionNames.data(), kSectionNames.size());
    file.insert(file.end(), notes.begin(), notes.end());
    return file;
}

std::vector<std::string> lines_of(const std::vector<Probe>& probes) {
    std::vector<std::string> lines;
    for (const Probe& probe : probes)
        lines.push_back(fmt::format("{}:{} {:x} {:x} {}", probe.provider, probe.name,
                                    probe.location, probe.semaphore, probe.arguments));
    return lines;
}

using Lines = std::vector<std::string>;

}  // namespace

TEST_CASE("the probes of PyTorch 2.11 are found where readelf finds them", "[attach]") {
    const auto probes = read_probes(file_with(from_hex(kTorchNotes)), "libc10_cuda.so");
    REQUIRE(probes);
    CHECK(lines_of(*probes) == Lines{"pytorch:free 131d0 6d750 -8@%rdi",
                                     "pytorch:free 1e335 6d750 -8@%rdi",
                                     "pytorch:malloc 44c4f 6d752 "
                                     "-8@%rax -1@%dl -8@%r14 -8@-56(%rbp)"});
}

TEST_CASE("an address in memory is not the one in the file", "[attach]") {
    FileBytes notes = from_hex(kTorchNotes);
    const auto moved = read_probes(file_with(notes, 0, 0x10000), "");
    REQUIRE_FALSE(moved);  // the semaphore of these notes isn't in the moved segment's memory
    constexpr std::size_t kSemaphore = 20 + 16;  // of the first note
    constexpr std::size_t kNextNote = 20 + 48;
    std::uint64_t semaphore = 0x6d750 + 0x10000;
    std::memcpy(notes.data() + kSemaphore, &semaphore, sizeof semaphore);
    notes.resize(kNextNote);
    const auto one = read_probes(file_with(notes, 0, 0x10000), "");
    REQUIRE(one);
    CHECK(lines_of(*one) == Lines{"pytorch:free 131d0 6d750 -8@%rdi"});
}

TEST_CASE("what prelink moved is found by the base that moved with it", "[attach]") {
    FileBytes notes = from_hex(kTorchNotes);
    constexpr std::size_t kBase = 20 + 8;
    constexpr std::size_t kNextNote = 20 + 48;
    const std::uint64_t base = 0x60000;
    std::memcpy(notes.data() + kBase, &base, sizeof base);
    notes.resize(kNextNote);
    const auto probes = read_probes(file_with(notes, 0x5fff0), "");
    REQUIRE(probes);
    CHECK(lines_of(*probes) == Lines{"pytorch:free 131c0 6d740 -8@%rdi"});
}

TEST_CASE("a file without probes has none, and what is no such file is refused", "[attach]") {
    const auto none = read_probes(file_with({}), "");
    REQUIRE(none);
    CHECK(none->empty());
    CHECK(read_probes({}, "").error().code == ErrorCode::bad_input);
    FileBytes file = file_with(from_hex(kTorchNotes));
    file[EI_CLASS] = std::byte{ELFCLASS32};
    CHECK(read_probes(file, "").error().code == ErrorCode::bad_input);
    file = file_with(from_hex(kTorchNotes));
    put(file, offsetof(Elf64_Ehdr, e_machine), Elf64_Half{EM_AARCH64});
    CHECK(read_probes(file, "").error().code == ErrorCode::unsupported);
}

// Each answer is a refusal or probes within the file: what it is, address checks find out.
TEST_CASE("no file makes the reader look outside of it", "[attach]") {
    const FileBytes whole = file_with(from_hex(kTorchNotes));
    std::size_t refused = 0;
    for (std::size_t size = 0; size < whole.size(); ++size) {
        const FileBytes cut(whole.begin(), whole.begin() + static_cast<std::ptrdiff_t>(size));
        const auto probes = read_probes(cut, "");
        refused += static_cast<std::size_t>(!probes);
        CHECK((!probes || probes->empty()));
    }
    CHECK(refused > 0);
    for (std::size_t at = 0; at < whole.size(); ++at) {
        for (const std::byte value : {std::byte{0}, std::byte{0x7f}, std::byte{0xff}}) {
            FileBytes changed = whole;
            changed[at] = value;
            const auto probes = read_probes(changed, "");
            CHECK((!probes || probes->size() <= 3));
        }
    }
}
