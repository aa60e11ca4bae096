#include "document.h"

#include <utility>

#include "report/render/format/printable.h"

namespace peakline::report {
namespace {

const char* tone_name(Tone tone) {
    switch (tone) {
        case Tone::kHeading:
            return "heading";
        case Tone::kWarning:
            return "warning";
        case Tone::kAnswer:
            return "answer";
        case Tone::kVerbatim:
            return "verbatim";
        case Tone::kPlain:
            break;
    }
    return "plain";
}

const char* align_name(Align align) {
    switch (align) {
        case Align::kLeft:
            return "left";
        case Align::kLeftWhole:
            return "left whole";
        case Align::kWrapped:
            return "wrapped";
        case Align::kRight:
            break;
    }
    return "right";
}

}  // namespace

Document::Document(OutputForm form) : form_(form) {
    json_.begin_object();
    if (is_for_people()) {
        json_.key("elements").begin_array();
    }
}

JsonWriter& Document::dropped() {
    dropped_ = JsonWriter();
    return dropped_;
}

void Document::say(const std::string& sentence, Tone tone) {
    if (is_for_people() && !sentence.empty()) {
        put_sentence(sentence, tone);
    }
}

void Document::put_sentence(std::string_view sentence, Tone tone) {
    json_.begin_object().field("text", printable(sentence));
    json_.field("tone", tone_name(tone)).end_object();
}

void Document::say_lines(std::string_view text, Tone tone) {
    while (is_for_people() && !text.empty()) {
        const size_t end = std::min(text.find('\n'), text.size());
        put_sentence(text.substr(0, end), tone);
        text.remove_prefix(std::min(end + 1, text.size()));
    }
}

void Document::show_gap() {
    if (is_for_people()) {
        json_.begin_object().field("gap", true).end_object();
    }
}

void Document::show_facts(const std::vector<Fact>& facts, bool is_list) {
    if (!is_for_people()) {
        return;
    }
    json_.begin_object().field("is_list", is_list).key("facts").begin_array();
    for (const Fact& fact : facts) {
        if (!fact.value.empty()) {
            json_.begin_array().value(printable(fact.name)).value(printable(fact.value));
            json_.end_array();
        }
    }
    json_.end_array().end_object();
}

void Document::show_fact(const char* key, const char* name, const Cell& value) {
    if (is_for_people()) {
        show_facts({{name, words_of(value)}}, false);
    } else {
        put_value(json_.key(key), value);
    }
}

std::string Document::take() {
    if (is_for_people()) {
        json_.end_array();
    }
    return json_.end_object().take();
}

DocumentTable::DocumentTable(Document& document,
                             const char* key,
                             std::vector<Column> columns,
                             uint64_t indent)
    : document_(document), has_key_(key != nullptr), columns_(std::move(columns)) {
    JsonWriter& json = document_.json_;
    if (!document_.is_for_people()) {
        if (has_key_) {
            json.key(key).begin_array();
        }
        return;
    }
    json.begin_object().key("table").begin_object().field("indent", indent);
    json.key("columns").begin_array();
    for (const Column& column : columns_) {
        if (column.is_shown) {
            json.begin_object().field("head", column.head);  // our own text, possibly of two lines
            json.field("align", align_name(column.align)).field("spare", column.spare);
            json.field("is_literal", column.is_literal).end_object();
        }
    }
    json.end_array().key("rows").begin_array();
}

DocumentTable::~DocumentTable() {
    JsonWriter& json = document_.json_;
    if (document_.is_for_people()) {
        json.end_array().key("left_out");
        if (left_out_count_ == 0) {
            json.null();
        } else {
            json.begin_array().value(left_out_count_).value(left_out_things_).end_array();
        }
        if (!tree_.empty()) {
            json.key("tree").embed(tree_);
        }
        json.field("literal", literal_).end_object().end_object();
    } else if (has_key_) {
        json.end_array();
    }
}

void DocumentTable::add(const std::vector<Cell>& cells) {
    begin(cells);
    end();
}

JsonWriter& DocumentTable::begin(const std::vector<Cell>& cells) {
    JsonWriter& json = document_.json_;
    if (document_.is_for_people()) {
        json.begin_object().key("cells").begin_array();
        for (size_t i = 0; i < cells.size(); ++i) {
            if (columns_[i].is_shown) {
                cells[i].parts.empty() ? json.value(printable(words_of(cells[i])))
                                       : json.embed(cells[i].parts);
            }
        }
        json.end_array();
    } else if (has_key_) {
        json.begin_object();
        for (size_t i = 0; i < cells.size(); ++i) {
            if (columns_[i].key != nullptr) {
                put_value(json.key(columns_[i].key), cells[i]);
            }
        }
    }
    return document_.fields();
}

void DocumentTable::end() {
    if (document_.is_for_people() && share_.has_value()) {
        document_.json_.field("share", *share_);
    }
    if (document_.is_for_people() || has_key_) {
        document_.json_.end_object();
    }
    share_.reset();
}

void DocumentTable::add_words(const std::vector<std::string>& words) {
    if (!document_.is_for_people()) {
        return;
    }
    JsonWriter& json = document_.json_.begin_object().key("cells").begin_array();
    for (const std::string& one : words) {
        json.value(printable(one));
    }
    json.end_array().end_object();
}

void DocumentTable::leave_out(uint64_t count, std::string_view things) {
    left_out_count_ = count;
    left_out_things_ = things;
}

}  // namespace peakline::report
