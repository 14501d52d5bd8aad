// What a killed program leaves, made up by the page of the format: a shared file, whose one ring
// holds records that wait, and a recording that ends before them. Whatever a test wants is wrong
// with it.
#pragma once

#include <cstdint>
#include <cstring>
#include <filesystem>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include <sys/stat.h>

#include "tests/support/live_folder.h"
#include "traces/live/wire.h"

namespace tidemark::support {

struct DeadProgram {
    std::uint64_t session = 77;
    std::uint32_t process = 0x7ffffff0;  // no system has so many
    std::string name = "victim";
    std::string recording = {};  // its path
    std::uint64_t recorded = 10;
    std::uint64_t waiting = 30;
    std::uint64_t head = 0;  // of the ring, beyond what `waiting` says
    std::uint64_t tail = 0;
    std::uint32_t rings = 1;
    std::uint32_t ring_slots = 1024;

    live::Header header(bool shared) const {
        live::Header header;
        header.magic = shared ? live::kSharedMagic : live::kRecordingMagic;
        header.session = session;
        header.process = process;
        header.process_start = 1;
        header.unix_time = 1;
        header.rings = shared ? rings : 0;
        header.ring_slots = shared ? ring_slots : 0;
        header.segment = shared ? 0 : 1;
        header.devices = 1;
        live::put_text(header.name, name);
        live::put_text(header.recording, recording);
        live::seal(header);
        return header;
    }

    static live::Record record(std::uint64_t sequence) {
        return {.sequence = sequence,
                .time = sequence,
                .address = 0x10000 + sequence * 4096,
                .size = 512,
                .extra = 512,
                .kind = live::RecordKind::allocate};
    }

    std::string recording_bytes() const {
        std::string bytes;
        put(bytes, header(false));
        std::vector<live::Record> slots;
        for (std::uint64_t i = 0; i < recorded; ++i)
            slots.push_back(record(i));
        live::Chunk chunk{.first_sequence = 0, .next_sequence = recorded};
        live::seal(chunk, slots);
        put(bytes, chunk);
        for (const live::Record& slot : slots)
            put(bytes, slot);
        return bytes;
    }

    std::string shared_bytes() const {
        std::string bytes;
        put(bytes, header(true));
        bytes.resize(live::ring_offset(header(true), 1));
        const std::uint32_t one = 1;
        poke(bytes, sizeof(live::Header) + offsetof(live::Counters, last_segment), one);
        poke(bytes, sizeof(live::Header) + offsetof(live::Counters, first_segment), one);
        poke(bytes, sizeof(live::Header) + offsetof(live::Counters, rings_used), rings);
        const std::size_t ring = live::ring_offset(header(true), 0);
        poke(bytes, ring + offsetof(live::RingControl, head), waiting + head);
        poke(bytes, ring + offsetof(live::RingControl, tail), tail);
        for (std::uint64_t i = 0; i < waiting; ++i)
            poke(bytes, ring + sizeof(live::RingControl) + i * sizeof(live::Record),
                 record(recorded + i));
        return bytes;
    }

    // Puts the shared file into the folder's runtime folder; returns its path.
    std::string leave(const LiveFolder& folder) const {
        std::filesystem::create_directories(folder.file("run"));
        ::chmod(folder.file("run").c_str(), 0700);
        const std::string path = folder.write("run/" + name + ".live", shared_bytes());
        ::chmod(path.c_str(), 0600);
        return path;
    }

  private:
    template <class T>
    static void put(std::string& bytes, const T& value) {
        bytes.append(reinterpret_cast<const char*>(&value), sizeof value);
    }

    template <class T>
    static void poke(std::string& bytes, std::size_t at, const T& value) {
        std::memcpy(bytes.data() + at, &value, sizeof value);
    }
};

}  // namespace tidemark::support
