// A report for people and for programs, each part of it described once.
//
// Programs get one JSON object (--json; JSON.md has its fields). People get a list of elements:
// sentences, facts, tables, which the renderer in peakline/text lays out for a terminal, plain
// text, Markdown and HTML:
//   {"text": "...", "tone": "plain" | "heading" | "warning" | "answer" | "verbatim"}
//   {"facts": [[name, value], ...], "is_list": false}
//   {"table": {"columns": [{"head", "align", "spare", "is_literal"}], "indent": 0,
//              "rows": [{"cells": [...], "share": 0.2}], "left_out": null | [5, "more rows"],
//              "literal": "" | the line of heads of the literal form}}
//   {"gap": true}: an empty line on a terminal
// A table of stacks has a field "tree" as well, see render/table/stack_tree.cpp.
// A cell is a text, or for a line of code {"text", "line": null | {"before", "path", "number",
// "function"}, "via", "more_via"}, or for several lines {"lines": [{"text", "is_whole"}]}. All
// texts are printable. A Document has one of the two forms; what belongs to the other one is
// dropped at once.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "cells.h"
#include "report/render/format/align.h"
#include "report/render/format/json_writer.h"
#include "report/render/format/report_options.h"

namespace peakline::report {

// kVerbatim: never wrapped.
enum class Tone : unsigned char { kPlain, kHeading, kWarning, kAnswer, kVerbatim };

// "Max mem", "12.62 GB"; without a value there is nothing to say.
struct Fact {
    std::string name;
    std::string value;
};

class Document {
public:
    explicit Document(OutputForm form);

    bool is_for_people() const { return form_ != OutputForm::kJson; }
    // The open object for programs.
    JsonWriter& fields() { return is_for_people() ? dropped() : json_; }

    // One sentence, which may hold names: a line break in it is part of a name and is not shown.
    // Spaces before it stay. Nothing for an empty text.
    void say(const std::string& sentence, Tone tone = Tone::kPlain);
    // Lines whose names are printable already, see printable().
    void say_lines(std::string_view text, Tone tone = Tone::kPlain);
    void show_empty_line() { say_lines("\n"); }
    // An empty line on a terminal.
    void show_gap();
    // On one line, or one below the other.
    void show_facts(const std::vector<Fact>& facts, bool is_list);
    // A fact for people that is a field for programs.
    void show_fact(const char* key, const char* name, const Cell& value);

    // The finished document. Nothing may be added after it.
    std::string take();

private:
    friend class DocumentTable;

    JsonWriter& dropped();

    OutputForm form_;
    JsonWriter json_;
    JsonWriter dropped_;
};

struct Column {
    const char* key;  // the field of each row; nullptr: for people only
    std::string head = {};
    Align align = Align::kRight;
    bool is_shown = true;  // false: for programs only
    // Where lines are too long the column with the lowest number goes first; 0: none of these.
    int spare = 0;
    bool is_literal = false;  // also of the literal form
};

// A column that only programs get.
inline Column hidden(const char* key) {
    return {key, {}, Align::kRight, false, 0, false};
}

// A field with an array of rows, and a table. Ends with its life.
class DocumentTable {
public:
    // Without a `key` it is for people only. Lines begin with `indent` spaces.
    DocumentTable(Document& document,
                  const char* key,
                  std::vector<Column> columns,
                  uint64_t indent = 0);
    ~DocumentTable();
    DocumentTable(const DocumentTable&) = delete;
    DocumentTable& operator=(const DocumentTable&) = delete;

    // One cell for each column, in their order.
    void add(const std::vector<Cell>& cells);
    // The same for a row with fields that are no cells: they are put into the result, up to end().
    JsonWriter& begin(const std::vector<Cell>& cells);
    void end();
    // A row for people only: one cell for each column that is shown.
    void add_words(const std::vector<std::string>& words);
    // "... 5 more layers (--top 0)", of rows that are not shown; nothing for 0.
    void leave_out(uint64_t count, std::string_view things);
    // The share of the last row, by which it is coloured.
    void set_share(double share) { share_ = share; }
    // The heads of the literal form, as one line.
    void set_literal(std::string heads) { literal_ = std::move(heads); }
    // The rows as a tree, as JSON.
    void set_tree(std::string tree) { tree_ = std::move(tree); }

private:
    Document& document_;
    bool has_key_;
    std::vector<Column> columns_;
    std::optional<double> share_;  // of the row that is open
    uint64_t left_out_count_ = 0;
    std::string left_out_things_;
    std::string literal_;
    std::string tree_;
};

// The object for programs that `put` makes of a report, within another one.
template <class Report>
std::string json_of(void (*put)(Document&, const Report&), const Report& report) {
    Document document(OutputForm::kJson);
    put(document, report);
    return document.take();
}

}  // namespace peakline::report
