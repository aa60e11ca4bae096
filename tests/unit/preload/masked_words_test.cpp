#include "preload/options/masked_words.h"

#include <string>
#include <vector>

#include "tests/unit/catching.h"

namespace {

std::string masked(const std::vector<const char*>& words) {
    char text[512];
    peakline::preload::write_masked(words.data(), words.size(), text, sizeof text);
    return text;
}

}  // namespace

TEST_CASE("values of secret names are masked", "[preload]") {
    REQUIRE(masked({"a.py", "--api-key=abc", "--lr=3"}) == "a.py --api-key=*** --lr=3");
    REQUIRE(masked({"a.py", "--token", "abc", "x"}) == "a.py --token *** x");
    REQUIRE(masked({"a.py", "--hf_token", "a b c"}) == "a.py --hf_token ***");
    REQUIRE(masked({"a.py", "AWS_SECRET_ACCESS_KEY=a b"}) == "a.py AWS_SECRET_ACCESS_KEY=***");
    REQUIRE(masked({"db.Password=x,y", "wandb.apiKey=\"q r\""}) ==
            "db.Password=*** wandb.apiKey=\"***\"");
    REQUIRE(masked({"{\"lr\": 3, \"secret\": \"abc\", \"n\": 1}"}) ==
            "{\"lr\": 3, \"secret\": \"***\", \"n\": 1}");
    REQUIRE(masked({"-c", "login(token='abc', n=1); f(password=xyz)"}) ==
            "-c login(token='***', n=1); f(password=***)");
    REQUIRE(masked({"bash", "-c", "python a.py --api-key abc --lr 3"}) ==
            "bash -c python a.py --api-key *** --lr 3");
    REQUIRE(masked({"https://x/y?token=abc&n=1"}) == "https://x/y?token=***&n=1");
    REQUIRE(masked({"-H", "Authorization: Bearer abc"}) == "-H Authorization: ***");
}

TEST_CASE("known kinds of keys and passwords of addresses are masked", "[preload]") {
    REQUIRE(masked({"a.py", "hf_abcdefgh12345678"}) == "a.py ***");
    REQUIRE(masked({"--key=sk-proj-abcd_efgh1234"}) == "--key=***");
    REQUIRE(masked({"AKIAIOSFODNN7EXAMPLE"}) == "***");
    REQUIRE(masked({"x=ghp_0123456789abcdef,y=2"}) == "x=***,y=2");
    REQUIRE(masked({"s3://me:pass@host:90/b?c=d"}) == "s3://me:***@host:90/b?c=d");
    REQUIRE(masked({"http://me:p@ss@host"}) == "http://me:***@host");
}

TEST_CASE("other words stay as they are", "[preload]") {
    for (const char* word : {"--max-tokens=4096",
                             "--tokenizer",
                             "hf_internal_testing/tiny",
                             "sk-1",
                             "https://host:80/a@b",
                             "git@host:x",
                             "--use-auth-token",
                             "--token=",
                             "a=b:c",
                             "\xff\x1b"}) {
        REQUIRE(masked({word}) == word);
    }
    REQUIRE(masked({"--use-auth-token", "--lr", "3"}) == "--use-auth-token --lr 3");
    REQUIRE(masked({}).empty());
}

TEST_CASE("a command line that does not fit is cut", "[preload]") {
    const std::vector<const char*> words{"abcdef", "--token", "xyz"};
    char text[12];
    for (size_t room = 1; room <= sizeof text; ++room) {
        peakline::preload::write_masked(words.data(), words.size(), text, room);
        REQUIRE(std::string(text) == std::string("abcdef --tok").substr(0, room - 1));
    }
}
