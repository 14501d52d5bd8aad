// Sections, then notes; every offset is checked before it is used.
#include "replay/attach/probe_notes.h"

#include <cstring>
#include <optional>
#include <string_view>

#include <elf.h>

namespace tidemark::attach {
namespace {

constexpr std::uint32_t kProbeNote = 3;
constexpr std::string_view kOwner = "stapsdt";

using FileBytes = std::span<const std::byte>;

// Empty if it isn't complete.
FileBytes part(FileBytes whole, std::uint64_t offset, std::uint64_t size) {
    if (offset > whole.size() || size > whole.size() - offset)
        return {};
    return whole.subspan(static_cast<std::size_t>(offset), static_cast<std::size_t>(size));
}

template <class Struct>
std::optional<Struct> get(FileBytes whole, std::uint64_t offset) {
    const FileBytes bytes = part(whole, offset, sizeof(Struct));
    if (bytes.empty())
        return std::nullopt;
    Struct result;
    std::memcpy(&result, bytes.data(), sizeof result);
    return result;
}

// Of a table in the file; none if the table isn't complete.
template <class Struct>
std::vector<Struct> table(FileBytes file, std::uint64_t offset, std::size_t count) {
    const FileBytes bytes = part(file, offset, count * sizeof(Struct));
    std::vector<Struct> rows(bytes.size() / sizeof(Struct));
    if (!rows.empty())
        std::memcpy(rows.data(), bytes.data(), bytes.size());
    return rows;
}

// Up to the next zero, which is taken from `rest` too; none: there is no zero.
std::optional<std::string_view> take_text(FileBytes& rest) {
    const std::string_view all(reinterpret_cast<const char*>(rest.data()), rest.size());
    const std::size_t end = all.find('\0');
    if (end == std::string_view::npos)
        return std::nullopt;
    rest = rest.subspan(end + 1);
    return all.substr(0, end);
}

struct Sections {
    FileBytes notes;
    std::optional<std::uint64_t> base;  // where the file's probes count from
};

Sections find_sections(FileBytes file, const Elf64_Ehdr& header) {
    Sections found;
    if (header.e_shentsize != sizeof(Elf64_Shdr))
        return found;
    const auto sections = table<Elf64_Shdr>(file, header.e_shoff, header.e_shnum);
    if (header.e_shstrndx >= sections.size())
        return found;
    const Elf64_Shdr& texts = sections[header.e_shstrndx];
    const FileBytes names = part(file, texts.sh_offset, texts.sh_size);
    for (const Elf64_Shdr& section : sections) {
        FileBytes rest = part(names, section.sh_name,
                              names.size() - std::min<std::size_t>(section.sh_name, names.size()));
        const std::string_view name = take_text(rest).value_or("");
        if (name == ".note.stapsdt")
            found.notes = part(file, section.sh_offset, section.sh_size);
        else if (name == ".stapsdt.base")
            found.base = section.sh_addr;
    }
    return found;
}

// Where in the file an address of the loaded library comes from.
std::optional<std::uint64_t> offset_of(std::uint64_t address,
                                       std::span<const Elf64_Phdr> segments) {
    for (const Elf64_Phdr& segment : segments) {
        if (segment.p_type == PT_LOAD && address >= segment.p_vaddr &&
            address - segment.p_vaddr < segment.p_filesz)
            return segment.p_offset + (address - segment.p_vaddr);
    }
    return std::nullopt;
}

struct Addresses {
    std::uint64_t location;
    std::uint64_t base;
    std::uint64_t semaphore;
};

std::optional<Probe> read_probe(FileBytes description, const Sections& sections,
                                std::span<const Elf64_Phdr> segments) {
    const auto addresses = get<Addresses>(description, 0);
    if (!addresses)
        return std::nullopt;
    FileBytes rest = description.subspan(sizeof(Addresses));
    const auto provider = take_text(rest);
    const auto name = provider ? take_text(rest) : std::nullopt;
    const auto arguments = name ? take_text(rest) : std::nullopt;
    if (!arguments)
        return std::nullopt;
    // What moved after the notes were written (prelink) is known by how far the base moved.
    const std::uint64_t moved =
        sections.base && addresses->base != 0 ? *sections.base - addresses->base : 0;
    const auto location = offset_of(addresses->location + moved, segments);
    const auto semaphore = addresses->semaphore == 0
                               ? std::optional<std::uint64_t>(0)
                               : offset_of(addresses->semaphore + moved, segments);
    if (!location || !semaphore)
        return std::nullopt;
    return Probe{.provider = std::string(*provider),
                 .name = std::string(*name),
                 .arguments = std::string(*arguments),
                 .location = *location,
                 .semaphore = *semaphore};
}

std::uint64_t rounded(std::uint64_t size) {
    return (size + 3) & ~std::uint64_t{3};
}

}  // namespace

Result<std::vector<Probe>> read_probes(std::span<const std::byte> file, const std::string& path) {
    const auto header = get<Elf64_Ehdr>(file, 0);
    if (!header || std::memcmp(header->e_ident, ELFMAG, SELFMAG) != 0 ||
        header->e_ident[EI_CLASS] != ELFCLASS64 || header->e_ident[EI_DATA] != ELFDATA2LSB)
        return fail(ErrorCode::bad_input, "is not a 64-bit ELF file", path);
    if (header->e_machine != EM_X86_64)
        return fail(ErrorCode::unsupported, "its probes are for a processor other than x86-64",
                    path);
    const Sections sections = find_sections(file, *header);
    std::vector<Elf64_Phdr> segments;
    if (header->e_phentsize == sizeof(Elf64_Phdr))
        segments = table<Elf64_Phdr>(file, header->e_phoff, header->e_phnum);
    std::vector<Probe> probes;
    FileBytes rest = sections.notes;
    while (!rest.empty()) {
        const auto note = get<Elf64_Nhdr>(rest, 0);
        const std::uint64_t name_size = note ? rounded(note->n_namesz) : 0;
        const std::uint64_t begin = sizeof(Elf64_Nhdr) + name_size;
        if (!note || begin > rest.size() || note->n_descsz > rest.size() - begin)
            return fail(ErrorCode::bad_input, "its probe notes are cut off", path);
        FileBytes owner = rest.subspan(sizeof(Elf64_Nhdr), note->n_namesz);
        const FileBytes description = rest.subspan(static_cast<std::size_t>(begin), note->n_descsz);
        if (note->n_type == kProbeNote && take_text(owner) == kOwner) {
            auto probe = read_probe(description, sections, segments);
            if (!probe)
                return fail(ErrorCode::bad_input,
                            "has a note of a probe at an address outside of it", path);
            probes.push_back(std::move(*probe));
        }
        rest = rest.subspan(std::min<std::size_t>(
            rest.size(), static_cast<std::size_t>(begin + rounded(note->n_descsz))));
    }
    return probes;
}

}  // namespace tidemark::attach
