// A report for people and for programs; each part is described once.
//
// Programs get one JSON object (--json; JSON.md has its fields). People get a list of elements:
// sentences, facts and tables. The renderer in peakline/text lays them out for a terminal, plain
// text, Markdown and HTML:
//   {"text": "...", "tone": "plain" | "heading" | "warning" | "answer" | "verbatim"}
//   {"facts": [[name, value], ...], "is_list": false}
//   {"table": {"columns": [{"head", "align", "spare", "is_literal"}], "indent": 0,
//              "rows": [{"cells": [...], "share": 0.2}], "left_out": null | [5, "more rows"],
//              "literal": "" | the line of heads of the literal form}}
//   {"gap": true}: an empty line on a terminal
// A table of stacks also has a field "tree", see render/table/stack_tree.cpp.
// A cell is a text; for a line of code it is {"text", "line": null | {"before", "path", "number",
// "function", "code", "is_changed"}, "via", "more_via", "caller", "more_callers"}; for several
// lines
// {"lines": [{"text", "is_whole"}]}. All texts are printable. A Document has one of the two forms
// and drops the parts of the other one.
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

// "Max mem", "12.62 GB". A fact without a value is not shown.
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

    // Adds one sentence; an empty one adds nothing. It may contain names, so printable() replaces
    // line breaks. Leading spaces stay.
    void say(const std::string& sentence, Tone tone = Tone::kPlain);
    // Adds a sentence per line. Names in `text` must be printable already: see printable().
    void say_lines(std::string_view text, Tone tone = Tone::kPlain);
    void show_empty_line() { say_lines("\n"); }
    // Adds an empty line on a terminal, before the next element.
    void show_gap();
    // Shows the facts in a row, or as a list with one fact per line.
    void show_facts(const std::vector<Fact>& facts, bool is_list);
    // A fact for people, a field for programs.
    void show_fact(const char* key, const char* name, const Cell& value);

    // Returns the finished document. Nothing may be added after it.
    std::string take();

private:
    friend class DocumentTable;

    JsonWriter& dropped();
    void put_sentence(std::string_view sentence, Tone tone);

    OutputForm form_;
    JsonWriter json_;
    JsonWriter dropped_;
};

struct Column {
    const char* key;  // the field of each row; nullptr: for people only
    std::string head = {};
    Align align = Align::kRight;
    bool is_shown = true;  // false: for programs only
    // When rows are too wide, spare columns are dropped, the lowest number first; 0: never.
    int spare = 0;
    bool is_literal = false;  // also in the literal form
};

// A column for programs only.
inline Column hidden(const char* key) {
    return {key, {}, Align::kRight, false, 0, false};
}

// An array of rows for programs, a table for people. The destructor ends it.
class DocumentTable {
public:
    // `key` nullptr: for people only. `indent`: spaces before each line.
    DocumentTable(Document& document,
                  const char* key,
                  std::vector<Column> columns,
                  uint64_t indent = 0);
    ~DocumentTable();
    DocumentTable(const DocumentTable&) = delete;
    DocumentTable& operator=(const DocumentTable&) = delete;

    // Adds a row: one cell per column, in their order.
    void add(const std::vector<Cell>& cells);
    // Begins such a row. The result takes its fields that are no cells, until end().
    JsonWriter& begin(const std::vector<Cell>& cells);
    void end();
    // Adds a row for people only: one text per shown column.
    void add_words(const std::vector<std::string>& words);
    // Adds "... 5 more layers (--top 0)" for rows that are not shown; nothing for 0.
    void leave_out(uint64_t count, std::string_view things);
    // The share of the open row; the renderer colours the row by it.
    void set_share(double share) { share_ = share; }
    // The heads of the literal form, in one line.
    void set_literal(std::string heads) { literal_ = std::move(heads); }
    // The rows as a tree, in JSON.
    void set_tree(std::string tree) { tree_ = std::move(tree); }

private:
    Document& document_;
    bool has_key_;
    std::vector<Column> columns_;
    std::optional<double> share_;  // of the open row
    uint64_t left_out_count_ = 0;
    std::string left_out_things_;
    std::string literal_;
    std::string tree_;
};

// Returns the finished document that `put` makes of a report.
template <class Report>
std::string document_of(OutputForm form,
                        void (*put)(Document&, const Report&),
                        const Report& report) {
    Document document(form);
    put(document, report);
    return document.take();
}

}  // namespace peakline::report
