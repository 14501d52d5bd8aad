// One file after another.
#include "traces/live/recording_chain.h"

#include <cerrno>
#include <charconv>
#include <filesystem>
#include <system_error>
#include <utility>

namespace tidemark::live {

std::vector<Record> records_of(std::span<const std::byte> slots) {
    const std::size_t count = slots.size() / sizeof(Record);
    std::vector<Record> records;
    records.reserve(count);
    while (records.size() < count) {
        const std::uint64_t payload = payload_slots(slot_at(slots, records.size()));
        if (payload >= count - records.size())
            break;
        for (std::uint64_t i = 0; i <= payload; ++i)
            records.push_back(slot_at(slots, records.size()));
    }
    return records;
}

RecordingChain::RecordingChain(const Header& header, std::uint32_t first, Owner owner)
    : header_(header), owner_(owner), session_(header.session), wanted_(first) {}

RecordingChain RecordingChain::after(const Header& header, std::uint64_t next) {
    RecordingChain chain(header, header.segment + 1, Owner::anyone);
    chain.begun_ = true;
    chain.next_ = next;
    return chain;
}

Result<ChainPiece> RecordingChain::next(std::uint32_t last) {
    for (;;) {
        if (!file_) {
            TM_ASSIGN(const bool opened, open_next(last));
            if (!opened)
                return ChainPiece{};
        }
        TM_ASSIGN(FoundChunk chunk, file_->next());
        if (!chunk.whole) {
            if (oldest_from(wanted_, last) == 0)
                return ChainPiece{};
            // The file may have got its last chunk after it was read and before the next began.
            TM_ASSIGN(chunk, file_->next());
        }
        if (!chunk.whole) {
            file_.reset();
            continue;
        }
        TM_ASSIGN(ChainPiece piece, take(chunk));
        if (piece.found)
            return piece;
    }
}

Result<ChainPiece> RecordingChain::take(const FoundChunk& chunk) {
    ChainPiece piece;
    piece.snapshot = (chunk.chunk.flags & kSnapshot) != 0;
    if (piece.snapshot && continues_)
        return piece;
    piece.found = true;
    piece.records = records_of(chunk.slots);
    piece.jumped = !std::exchange(jump_reported_, true);
    piece.forgotten = piece.jumped ? gap_ : 0;
    piece.next_sequence = chunk.chunk.next_sequence;
    next_ = chunk.chunk.next_sequence;
    begun_ = true;
    return piece;
}

// The oldest existing file from `number` on; 0 if there is none. The oldest may be removed at any
// time.
std::uint32_t RecordingChain::oldest_from(std::uint32_t number, std::uint32_t last) const {
    namespace fs = std::filesystem;
    const std::string path = segment_path(header_, number);
    std::error_code problem;
    if ((header_.flags & kSegmented) == 0)
        return file_ ? 0 : number;
    if (fs::exists(path, problem))
        return number;
    if (last != 0 && last <= number)
        return 0;
    const std::string stem = path.substr(0, path.rfind('-') + 1);
    std::uint32_t oldest = 0;
    for (const auto& entry : fs::directory_iterator(fs::path(path).parent_path(), problem)) {
        const std::string name = entry.path().string();
        if (!name.starts_with(stem) || !name.ends_with(".tml"))
            continue;
        std::uint32_t found = 0;
        std::from_chars(name.data() + stem.size(), name.data() + name.size(), found);
        if (found > number && (oldest == 0 || found < oldest))
            oldest = found;
    }
    return oldest;
}

Result<bool> RecordingChain::open_next(std::uint32_t last) {
    const std::uint32_t number = oldest_from(wanted_, last);
    return number == 0 ? false : open(number);
}

Result<bool> RecordingChain::open(std::uint32_t number) {
    const std::string path = segment_path(header_, number);
    Result<RecordingFile> file = RecordingFile::open(path, owner_);
    if (!file && file.error().code == ErrorCode::not_found)
        return false;
    if (!file)
        return tl::make_unexpected(file.error());
    if (file->header().session != session_)
        return fail(ErrorCode::bad_input, "is the recording of another program", path);
    // The next piece is next to this one, wherever its header says that it used to be.
    const auto recording = header_.recording;
    header_ = file->header();
    header_.recording = recording;
    file_ = std::move(*file);
    wanted_ = number + 1;
    continues_ = begun_ && header_.first_sequence <= next_;
    gap_ = header_.first_sequence > next_ ? header_.first_sequence - next_ : 0;
    jump_reported_ = continues_ || gap_ == 0;
    return true;
}

}  // namespace tidemark::live
