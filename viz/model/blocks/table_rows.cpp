// Rows for a file, and writing them a piece at a time.
#include "viz/model/blocks/table_rows.h"

#include <algorithm>
#include <utility>

#include "core/base/text.h"
#include "traces/io/output_file.h"
#include "viz/model/blocks/event_table.h"
#include "viz/model/blocks/site_names.h"

namespace tidemark::viz {
namespace {

constexpr std::uint64_t kRowsAtOnce = 4096;

// Of a run without times there are none.
void put_time(CsvLine& line, const History& history, EventIndex event) {
    if (event == kNever || history.end(AxisUnit::time) <= 1)
        line.nothing();
    else
        line.number(history.time(event));
}

void put_event(CsvLine& line, EventIndex event) {
    if (event == kNever)
        line.nothing();
    else
        line.number(event);
}

void put_site(CsvLine& line, const Site& site, SiteNames& names) {
    line.number(site.device);
    line.number(to_integer(site.stream));
    line.number(to_integer(site.pool));
    line.text(names.tag(site));
    line.text(site.stack == 0 ? std::string() : names.call_site(site.stack));
}

class BlockRowsForFile final : public TableRows {
  public:
    BlockRowsForFile(std::shared_ptr<const History> history, std::vector<BlockIndex> blocks)
        : history_(std::move(history)), names_(*history_), blocks_(std::move(blocks)) {}

    std::string_view titles() const override {
        return "block,size_bytes,requested_bytes,address,born_event,born_ns,freed_event,freed_ns,"
               "lived_ns,device,stream,pool,tag,allocated_at";
    }

    std::uint64_t rows() const override { return blocks_.size(); }

    void put(std::uint64_t row, CsvLine& line) override {
        const BlockIndex index = blocks_[static_cast<std::size_t>(row)];
        const Block block = history_->block(index);
        line.number(index);
        line.number(block.size);
        line.number(block.requested);
        line.figure(fmt::format("{:#x}", to_integer(block.address)));
        line.number(block.born);
        put_time(line, *history_, block.born);
        put_event(line, block.freed);
        put_time(line, *history_, block.freed);
        if (block.freed == kNever || history_->end(AxisUnit::time) <= 1)
            line.nothing();
        else
            line.number(history_->time(block.freed) - history_->time(block.born));
        put_site(line, history_->site(block.site), names_);
    }

  private:
    std::shared_ptr<const History> history_;
    SiteNames names_;
    std::vector<BlockIndex> blocks_;
};

class EventRowsForFile final : public TableRows {
  public:
    EventRowsForFile(std::shared_ptr<const History> history, std::shared_ptr<const RankedBits> bits,
                     std::uint64_t events)
        : history_(std::move(history)),
          names_(*history_),
          bits_(std::move(bits)),
          rows_(bits_ ? bits_->count() : events) {}

    std::string_view titles() const override {
        return "event,time_ns,what,block,size_bytes,address,device,stream,pool,tag,allocated_at";
    }

    std::uint64_t rows() const override { return rows_; }

    void put(std::uint64_t row, CsvLine& line) override {
        const auto event = static_cast<EventIndex>(
            bits_ ? bits_->select(static_cast<std::size_t>(row)) : static_cast<std::size_t>(row));
        line.number(event);
        put_time(line, *history_, event);
        line.figure(to_text(history_->kind(event)));
        const BlockIndex index = history_->block_at(event);
        if (index == kNoBlock || index >= history_->counts().blocks) {
            for (int i = 0; i < 8; ++i)
                line.nothing();
            return;
        }
        const Block block = history_->block(index);
        line.number(index);
        line.number(block.size);
        line.figure(fmt::format("{:#x}", to_integer(block.address)));
        put_site(line, history_->site(block.site), names_);
    }

  private:
    std::shared_ptr<const History> history_;
    SiteNames names_;
    std::shared_ptr<const RankedBits> bits_;
    std::uint64_t rows_;
};

class TextRows final : public TableRows {
  public:
    TextRows(std::string titles, std::vector<std::string> lines)
        : titles_(std::move(titles)), lines_(std::move(lines)) {}

    std::string_view titles() const override { return titles_; }

    std::uint64_t rows() const override { return lines_.size(); }

    void put(std::uint64_t row, CsvLine& line) override {
        line.lines() += lines_[static_cast<std::size_t>(row)];
    }

  private:
    std::string titles_;
    std::vector<std::string> lines_;
};

}  // namespace

std::unique_ptr<TableRows> block_rows_for_file(std::shared_ptr<const History> history,
                                               std::vector<BlockIndex> blocks) {
    return std::make_unique<BlockRowsForFile>(std::move(history), std::move(blocks));
}

std::unique_ptr<TableRows> event_rows_for_file(std::shared_ptr<const History> history,
                                               std::shared_ptr<const RankedBits> bits,
                                               std::uint64_t events) {
    return std::make_unique<EventRowsForFile>(std::move(history), std::move(bits), events);
}

std::unique_ptr<TableRows> text_rows_for_file(std::string titles, std::vector<std::string> lines) {
    return std::make_unique<TextRows>(std::move(titles), std::move(lines));
}

Result<std::uint64_t> write_csv(TableRows& rows, const OutputTarget& target,
                                const std::function<void(double share)>& report,
                                const Cancelled& cancelled) {
    TM_ASSIGN(const auto file, OutputFile::create(target));
    CsvLine line;
    line.lines() = rows.titles();
    line.end();
    const std::uint64_t count = rows.rows();
    for (std::uint64_t row = 0; row < count;) {
        for (const std::uint64_t end = std::min(count, row + kRowsAtOnce); row < end; ++row) {
            rows.put(row, line);
            line.end();
        }
        TM_TRY(file->write(line.lines()));
        line.lines().clear();
        report(share_of(row, count));
        if (cancelled)
            return fail(ErrorCode::cancelled, "was cancelled", target.path);
    }
    TM_TRY(file->write(line.lines()));
    TM_TRY(file->commit(false));
    return count;
}

}  // namespace tidemark::viz
