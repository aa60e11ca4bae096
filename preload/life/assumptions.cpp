#include "assumptions.h"

#include <cstdio>
#include <cstdlib>
#include <cstring>

namespace peakline::preload {
namespace {

using record::LockGuard;

// The companion knows the values of this rule (preload/simulate/companion/routing.cpp).
bool is_routing(const Assumption& rule) {
    return rule.line == 0 && strcmp(rule.where, "routing") == 0;
}

bool parse_value(const char* text, Assumption* rule) {
    if (strcmp(text, "true") == 0 || strcmp(text, "True") == 0 || strcmp(text, "false") == 0 ||
        strcmp(text, "False") == 0) {
        rule->value = text[0] == 't' || text[0] == 'T' ? 1 : 0;
        rule->is_whole = true;
        return true;
    }
    char* end = nullptr;
    rule->value = strtod(text, &end);
    rule->is_percentage = *end == '%';
    rule->is_whole = strpbrk(text, ".eE%") == nullptr;
    if (rule->is_percentage) {
        rule->value /= 100;
        ++end;
    }
    return end != text && *end == '\0';
}

// "FILE:LINE" or "operator"; "aten::nonzero" is an operator.
bool parse_where(const char* text, size_t length, Assumption* rule) {
    if (length == 0 || length >= sizeof rule->where) {
        return false;
    }
    memcpy(rule->where, text, length);
    rule->where[length] = '\0';
    char* const colon = strrchr(rule->where, ':');
    const bool is_line = colon != nullptr && colon != rule->where && colon[-1] != ':' &&
                         colon[1] != '\0' && strspn(colon + 1, "0123456789") == strlen(colon + 1);
    if (is_line) {
        rule->line = static_cast<uint32_t>(strtoul(colon + 1, nullptr, 10));
        *colon = '\0';
    }
    return is_line || strpbrk(rule->where, "/ ") == nullptr;
}

bool parse(const char* text, Assumption* rule) {
    const char* const equals = strrchr(text, '=');
    snprintf(rule->text, sizeof rule->text, "%s", text);
    return equals != nullptr && strlen(text) < sizeof rule->text &&
           parse_where(text, static_cast<size_t>(equals - text), rule) &&
           (is_routing(*rule) || parse_value(equals + 1, rule));
}

// "train.py" matches "/home/me/train.py", not "pretrain.py".
bool is_file(const Assumption& rule, const char* file, size_t length) {
    const size_t wanted = strlen(rule.where);
    return length >= wanted && memcmp(file + length - wanted, rule.where, wanted) == 0 &&
           (length == wanted || file[length - wanted - 1] == '/');
}

bool is_name(const char* name, size_t length, const char* wanted) {
    return strlen(wanted) == length && memcmp(name, wanted, length) == 0;
}

// Compares with one operator of the chain, for example "aten::_unique2".
bool is_operator(const Assumption& rule, const char* name, size_t length) {
    constexpr char kNamespace[] = "aten::";
    constexpr size_t kNamespaceLength = sizeof kNamespace - 1;
    if (is_name(name, length, rule.where)) {
        return true;
    }
    if (length <= kNamespaceLength || memcmp(name, kNamespace, kNamespaceLength) != 0) {
        return false;
    }
    name += kNamespaceLength;
    length -= kNamespaceLength;
    if (is_name(name, length, rule.where)) {
        return true;
    }
    if (strcmp(rule.where, "unique") == 0) {
        return is_name(name, length, "_unique2") || is_name(name, length, "unique_consecutive") ||
               is_name(name, length, "unique_dim");
    }
    return strcmp(rule.where, "item") == 0 && is_name(name, length, "_local_scalar_dense");
}

bool is_in_chain(const Assumption& rule, const char* operators) {
    while (*operators != '\0') {
        const size_t length = strcspn(operators, ">");
        if (is_operator(rule, operators, length)) {
            return true;
        }
        operators += length + (operators[length] == '>' ? 1 : 0);
    }
    return false;
}

}  // namespace

bool Assumptions::add(const char* text) {
    Assumption rule;
    if (!parse(text, &rule)) {
        return false;
    }
    const LockGuard guard(lock_);
    if (count_ == kMaxRules) {
        return false;
    }
    rules_[count_++] = rule;
    return true;
}

void Assumptions::remove(const char* text) {
    const LockGuard guard(lock_);
    for (size_t i = count_; i-- > 0;) {
        if (strcmp(rules_[i].text, text) == 0) {
            memmove(&rules_[i], &rules_[i + 1], (count_ - i - 1) * sizeof rules_[0]);
            --count_;
            return;
        }
    }
}

const char* Assumptions::add_all(char* texts) {
    char* rest = nullptr;
    for (char* one = strtok_r(texts, ";\n", &rest); one != nullptr;
         one = strtok_r(nullptr, ";\n", &rest)) {
        if (!add(one)) {
            return one;
        }
    }
    return nullptr;
}

bool Assumptions::find(record::StackTable& table,
                       uint32_t python_node,
                       const char* operators,
                       Assumption* found) {
    const LockGuard guard(lock_);
    if (count_ == 0) {
        return false;
    }
    Assumption* match = nullptr;
    const auto look = [&](const char* file, size_t length, const char*, size_t, uint32_t line) {
        for (size_t i = count_; i-- > 0 && match == nullptr;) {
            Assumption& rule = rules_[i];
            if (rule.line != 0 && rule.line == line && is_file(rule, file, length)) {
                match = &rule;
            }
        }
        return match == nullptr;
    };
    table.visit_python_stack(python_node, look);
    for (size_t i = count_; i-- > 0 && match == nullptr;) {
        if (rules_[i].line == 0 && is_in_chain(rules_[i], operators)) {
            match = &rules_[i];
        }
    }
    if (match != nullptr) {
        *found = *match;
        match->has_matched = true;
    }
    return match != nullptr;
}

}  // namespace peakline::preload
