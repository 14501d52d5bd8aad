// Reading JSON that people may have written: a value knows its path in the document, and the
// document's first fault is kept with its path. What is absent or at fault reads as 0, "" or an
// empty list, so that a reader continues and checks for the fault at the end. Not thread-safe.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <utility>

#include <fmt/format.h>

#include "core/base/result.h"

namespace tidemark {

// The wording of a document's faults.
struct JsonStyle {
    bool pointers = true;   // paths are "/spaces/1/id"; else "calls.malloc[1]"
    std::string_view text;  // what a string is called: "a text"
    Error (*error)(std::string_view where, const std::string& path, std::string what,
                   std::string hint) = nullptr;
};

// One document that is being read, and its first fault.
class JsonDocument {
  public:
    // `where` is the document's name in faults. Both must outlive this.
    JsonDocument(const JsonStyle& style, std::string_view where) : style_(style), where_(where) {}

    const JsonStyle& style() const { return style_; }

    const std::optional<Error>& fault() const { return fault_; }

    // Keeps the fault if it is the first.
    void refuse(const std::string& path, std::string what, std::string hint = {}) {
        if (!fault_)
            fault_ = style_.error(where_, path, std::move(what), std::move(hint));
    }

  private:
    const JsonStyle& style_;
    std::string_view where_;
    std::optional<Error> fault_;
};

// A value of a document, or none. `Json` is nlohmann's, ordered or not.
template <class Json>
class JsonValue {
  public:
    JsonValue(JsonDocument& document, const Json* value, std::string path = {})
        : document_(&document), value_(value), path_(std::move(path)) {}

    bool present() const { return value_ != nullptr; }

    // Only for one that is present.
    const Json* operator->() const { return value_; }

    const Json& operator*() const { return *value_; }

    void refuse(std::string what, std::string hint = {}) const {
        document_->refuse(path_, std::move(what), std::move(hint));
    }

    bool at_fault() const { return document_->fault().has_value(); }

    // The member `name` of this object: if it is missing, that is a fault, but not with
    // optional_member().
    JsonValue member(std::string_view name) const {
        JsonValue found = optional_member(name);
        if (!found.present())
            found.refuse("missing");
        return found;
    }

    JsonValue optional_member(std::string_view name) const {
        const auto found = value_->find(std::string{name});
        return {*document_, found == value_->end() ? nullptr : &*found, member_path(name)};
    }

    // The `i`-th of this list.
    JsonValue element(std::size_t i) const {
        return {*document_, &(*value_)[i],
                document_->style().pointers ? fmt::format("{}/{}", path_, i)
                                            : fmt::format("{}[{}]", path_, i)};
    }

    // Where the member `name` is, or would be.
    std::string member_path(std::string_view name) const {
        if (document_->style().pointers)
            return fmt::format("{}/{}", path_, name);
        return path_.empty() ? std::string{name} : fmt::format("{}.{}", path_, name);
    }

    void refuse_member(std::string_view name, std::string what, std::string hint = {}) const {
        document_->refuse(member_path(name), std::move(what), std::move(hint));
    }

    // Present, and of that kind; present and of another kind is a fault.
    bool is_object() const { return expect(&Json::is_object, "an object"); }

    bool is_list() const { return expect(&Json::is_array, "a list"); }

    std::string text() const {
        return expect(&Json::is_string, document_->style().text)
                   ? value_->template get<std::string>()
                   : std::string();
    }

    // A whole number of at most `largest`.
    std::uint64_t count(std::uint64_t largest) const {
        if (!present())
            return 0;
        if (value_->is_number_unsigned() && value_->template get<std::uint64_t>() <= largest)
            return value_->template get<std::uint64_t>();
        refuse(fmt::format("expected a whole number from 0 to {}", largest));
        return 0;
    }

    // The result made from this value; if there is none, the reason becomes its fault.
    template <class T>
    T checked(const Result<T>& result) const {
        if (!result)
            refuse(result.error().what, result.error().hint);
        return result.value_or(T{});
    }

  private:
    bool expect(bool (Json::*is_kind)() const noexcept, std::string_view kind) const {
        const bool is_right = present() && (value_->*is_kind)();
        if (present() && !is_right)
            refuse(fmt::format("expected {}", kind));
        return is_right;
    }

    JsonDocument* document_;
    const Json* value_;
    std::string path_;
};

}  // namespace tidemark
