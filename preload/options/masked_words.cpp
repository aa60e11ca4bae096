#include "masked_words.h"

#include <algorithm>
#include <cctype>
#include <cstring>
#include <string_view>

namespace peakline::preload {
namespace {

using std::string_view;

constexpr string_view kMask = "***";
constexpr string_view kSecretNames[] = {"token",
                                        "secret",
                                        "password",
                                        "passwd",
                                        "passphrase",
                                        "pwd",
                                        "apikey",
                                        "accesskey",
                                        "secretkey",
                                        "privatekey",
                                        "authkey",
                                        "credential",
                                        "credentials",
                                        "authorization"};
constexpr string_view kKeyBeginnings[] = {"sk-",
                                          "AKIA",
                                          "ASIA",
                                          "AIza",
                                          "eyJ",
                                          "ghp_",
                                          "gho_",
                                          "ghs_",
                                          "ghu_",
                                          "github_pat_",
                                          "glpat-",
                                          "xoxa-",
                                          "xoxb-",
                                          "xoxp-"};
constexpr string_view kHubBeginning = "hf_";
constexpr size_t kLeastKeyLength = 8;  // after its prefix
constexpr string_view kBlanks = " \t\n";
constexpr string_view kQuotes = "\"'";
constexpr string_view kValueEnds = " \t\n\"'&;,)}]";

struct Text {
    char* begin;
    size_t room;
    size_t length = 0;

    void add(string_view more) {
        const size_t added = std::min(more.size(), room - 1 - length);
        memcpy(begin + length, more.data(), added);
        length += added;
        begin[length] = '\0';
    }
};

bool is_one_of(char letter, string_view letters) {
    return letters.find(letter) != string_view::npos;
}

bool is_alphanumeric(char letter) {
    return isalnum(static_cast<unsigned char>(letter)) != 0;
}

bool is_of_name(char letter) {
    return is_alphanumeric(letter) || is_one_of(letter, "_-.");
}

// Treats db.api_key, --apiKey and API-KEY alike.
bool is_secret_name(string_view name) {
    char plain[64];
    size_t length = 0;
    name = name.substr(name.rfind('.') + 1);
    if (name.size() > sizeof plain) {
        name = name.substr(name.size() - sizeof plain);
    }
    for (const char letter : name) {
        if (is_alphanumeric(letter)) {
            plain[length++] = static_cast<char>(tolower(static_cast<unsigned char>(letter)));
        }
    }
    const string_view found(plain, length);
    return std::any_of(std::begin(kSecretNames), std::end(kSecretNames), [found](string_view one) {
        return found.ends_with(one);
    });
}

bool is_key(string_view run) {
    if (run.starts_with(kHubBeginning)) {
        run.remove_prefix(kHubBeginning.size());
        // Other words are module names: hf_internal_testing.
        return run.size() >= kLeastKeyLength &&
               std::all_of(run.begin(), run.end(), is_alphanumeric);
    }
    const auto begins_run = [run](string_view one) {
        return run.starts_with(one) && run.size() >= one.size() + kLeastKeyLength;
    };
    return std::any_of(std::begin(kKeyBeginnings), std::end(kKeyBeginnings), begins_run);
}

size_t skip(string_view word, size_t at, string_view letters) {
    const size_t found = word.find_first_not_of(letters, at);
    return found == string_view::npos ? word.size() : found;
}

// Returns the beginning of the value after the secret name that ends at `at`; npos: not in this
// word.
size_t value_begin(string_view word, size_t at, bool is_option) {
    size_t next = at;
    if (next < word.size() && is_one_of(word[next], kQuotes)) {
        ++next;
    }
    next = skip(word, next, kBlanks);
    if (next < word.size() && is_one_of(word[next], "=:")) {
        return skip(word, next + 1, kBlanks);
    }
    return is_option && next > at && next < word.size() ? next : string_view::npos;
}

// `name_begin` is the beginning of its name: if the word holds only a name and a value, the value
// may contain blanks.
size_t value_end(string_view word, size_t at, size_t name_begin) {
    size_t end = string_view::npos;
    if (at < word.size() && is_one_of(word[at], kQuotes)) {
        end = word.find(word[at], at + 1);
    } else if (name_begin > 0) {
        end = word.find_first_of(kValueEnds, at);
    }
    return end == string_view::npos ? word.size() : end;
}

// Writes a run of name characters, and masks the value after it if it is the name of a secret.
// Returns the beginning of the rest.
size_t add_run(string_view word, size_t begin, Text* text) {
    size_t end = begin;
    while (end < word.size() && is_of_name(word[end])) {
        ++end;
    }
    const string_view run = word.substr(begin, end - begin);
    if (is_key(run)) {
        text->add(kMask);
        return end;
    }
    text->add(run);
    if (!is_secret_name(run)) {
        return end;
    }
    size_t value = value_begin(word, end, run[0] == '-');
    if (value == string_view::npos || value >= word.size()) {
        return end;
    }
    const size_t rest = value_end(word, value, begin);
    value += is_one_of(word[value], kQuotes) ? 1 : 0;
    text->add(word.substr(end, value - end));
    text->add(kMask);
    return std::max(rest, value);
}

// Writes "://user:" and the mask if an address has a password, else "://". Returns the beginning of
// the rest.
size_t add_address(string_view word, size_t begin, Text* text) {
    constexpr size_t kMark = 3;
    const string_view rest = word.substr(begin + kMark);
    const string_view authority = rest.substr(0, rest.find_first_of("/?# \t\n\"'"));
    const size_t user_end = authority.rfind('@');
    const size_t colon = authority.find(':');
    if (user_end == string_view::npos || colon >= user_end) {
        text->add(word.substr(begin, kMark));
        return begin + kMark;
    }
    text->add(word.substr(begin, kMark + colon + 1));
    text->add(kMask);
    return begin + kMark + user_end;
}

void add_word(string_view word, Text* text) {
    for (size_t at = 0; at < word.size();) {
        if (is_of_name(word[at])) {
            at = add_run(word, at, text);
        } else if (word.substr(at).starts_with("://")) {
            at = add_address(word, at, text);
        } else {
            text->add(word.substr(at++, 1));
        }
    }
}

// "--token": the next word is its value.
bool is_secret_option(string_view word) {
    return word.starts_with("-") && std::all_of(word.begin(), word.end(), is_of_name) &&
           is_secret_name(word);
}

}  // namespace

void write_masked(const char* const* words, size_t count, char* text, size_t room) {
    Text written{text, room};
    bool is_secret = false;
    text[0] = '\0';
    for (size_t i = 0; i < count; ++i) {
        const string_view word = words[i];
        written.add(i > 0 ? " " : "");
        if (is_secret && !word.starts_with("-")) {
            written.add(kMask);
        } else {
            add_word(word, &written);
        }
        is_secret = is_secret_option(word);
    }
}

}  // namespace peakline::preload
