// Policies as forms: what is filled in is what the parser of command lines reads.
#include "viz/model/navigation/policy_form.h"

#include <catch2/catch.hpp>

using namespace tidemark;
using namespace tidemark::viz;

namespace {

const PolicyInfo& policy_of(std::string_view name) {
    const auto found = find_policy(name);
    REQUIRE(found);
    return **found;
}

PolicyForm::Field& field_of(PolicyForm& form, std::string_view option) {
    for (PolicyForm::Field& field : form.fields)
        if (field.option->name == option)
            return field;
    FAIL("no option " << option);
    return form.fields.front();
}

}  // namespace

TEST_CASE("every policy is a form with its options and those of all", "[viz][policy-form]") {
    for (const PolicyInfo& policy : all_policies()) {
        INFO(policy.name);
        PolicyForm form(policy);
        CHECK(form.fields.size() == policy.options.size() + wrapper_options().size());
        CHECK(form.typed() == policy.name);
        for (PolicyForm::Field& field : form.fields)
            field.value = field.option->default_value;
        const auto filled = form.read();
        INFO(form.typed());
        REQUIRE(filled);
        CHECK(filled->text() == policy.name);
    }
}

TEST_CASE("what is filled in is the setting, wrong or right", "[viz][policy-form]") {
    PolicyForm form(policy_of("vpmm"));
    field_of(form, "page").value = " 4MiB ";
    field_of(form, "threads").value = "2";
    CHECK(form.typed() == "vpmm:page=4MiB,threads=2");
    REQUIRE(form.read());
    CHECK(form.read()->text() == "vpmm:page=4MiB,threads=2");
    field_of(form, "page").value = "four";
    const auto wrong = form.read();
    REQUIRE_FALSE(wrong);
    CHECK(to_text(wrong.error()) == to_text(parse_policy("vpmm:page=four,threads=2").error()));
}

TEST_CASE("policies are found by their names first, and by words of their sentences",
          "[viz][policy-form]") {
    CHECK(policies_with("").size() == all_policies().size());
    const auto found = policies_with("VPMM");
    REQUIRE_FALSE(found.empty());
    CHECK(found.front()->name == "vpmm");
    CHECK(policies_with("pool rmm").size() >= 2);
    CHECK(policies_with("rmm").front()->name.starts_with("rmm"));
    CHECK(policies_with("no such words").empty());
}

TEST_CASE("a setting is quoted where a shell wants that", "[viz][policy-form]") {
    CHECK(policy_argument("vpmm:page=4MiB") == "--policy vpmm:page=4MiB");
    CHECK(policy_argument("plan:file=it's") == "--policy 'plan:file=it'\\''s'");
    CHECK(policy_argument("torch:roundup=[256:1]") == "--policy 'torch:roundup=[256:1]'");
}
