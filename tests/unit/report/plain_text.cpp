#include "plain_text.h"

#include <algorithm>
#include <map>
#include <vector>

namespace peakline::test {
namespace {

// A value of JSON. Numbers, truths and null are texts.
struct Value {
    std::string text;
    std::vector<Value> items;
    std::map<std::string, Value> fields;

    const Value& at(const std::string& name) const { return fields.at(name); }
    bool has(const std::string& name) const { return fields.count(name) != 0; }
};

class Parser {
public:
    explicit Parser(const std::string& json) : json_(json) {}

    Value value() {
        Value parsed;
        switch (json_.at(at_)) {
            case '{':
                for (++at_; json_.at(at_) != '}'; skip(',')) {
                    const std::string name = string();
                    skip(':');
                    parsed.fields[name] = value();
                }
                ++at_;
                return parsed;
            case '[':
                for (++at_; json_.at(at_) != ']'; skip(',')) {
                    parsed.items.push_back(value());
                }
                ++at_;
                return parsed;
            case '"':
                parsed.text = string();
                return parsed;
            default:
                const size_t end = json_.find_first_of(",]}", at_);
                parsed.text = json_.substr(at_, end - at_);
                at_ = end;
                return parsed;
        }
    }

private:
    // A separator, where there is one, and the spaces behind it.
    void skip(char expected) {
        at_ += json_.at(at_) == expected ? 1 : 0;
        at_ = std::min(json_.find_first_not_of(' ', at_), json_.size());
    }

    std::string string() {
        std::string text;
        for (++at_; json_.at(at_) != '"'; ++at_) {
            if (json_.at(at_) == '\\') {
                const char escape = json_.at(++at_);
                if (escape == 'u') {
                    text += static_cast<char>(std::stoi(json_.substr(at_ + 1, 4), nullptr, 16));
                    at_ += 4;
                    continue;
                }
                text += escape == 'n' ? '\n' : escape;
            } else {
                text += json_[at_];
            }
        }
        ++at_;
        return text;
    }

    const std::string& json_;
    size_t at_ = 0;
};

std::string cell_text(const Value& cell) {
    if (!cell.has("text")) {
        return cell.text;
    }
    const std::string& via = cell.at("via").text;
    const std::string& more = cell.at("more_via").text;
    return cell.at("text").text + (via.empty() ? "" : "  via " + via) +
           (more == "0" ? "" : ", +" + more + " more");
}

std::string table_text(const Value& table) {
    const bool is_literal = !table.at("literal").text.empty();
    const size_t indent = std::stoul(table.at("indent").text);
    std::string text = is_literal ? table.at("literal").text + "\n" : "";
    for (const Value& row : table.at("rows").items) {
        std::string line;
        const char* between = "";
        for (size_t i = 0; i < row.at("cells").items.size(); ++i) {
            if (!is_literal || table.at("columns").items[i].at("is_literal").text == "true") {
                line += between + cell_text(row.at("cells").items[i]);
                between = "  ";
            }
        }
        text += std::string(indent, ' ') + line + "\n";
    }
    return text + (table.at("left_out").items.empty() ? "" : "...\n");
}

}  // namespace

std::string plain_text(const std::string& document) {
    std::string text;
    const Value parsed = Parser(document).value();
    for (const Value& element : parsed.at("elements").items) {
        if (element.has("text")) {
            text += element.at("text").text + "\n";
        } else if (element.has("table")) {
            text += table_text(element.at("table"));
        } else if (element.has("facts")) {
            for (const Value& fact : element.at("facts").items) {
                text += fact.items[0].text + ": " + fact.items[1].text + "\n";
            }
        }
    }
    return text;
}

}  // namespace peakline::test
