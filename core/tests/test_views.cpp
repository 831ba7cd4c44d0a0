// Views of ASCII words; Python's own functions are the oracle of tests/test_features.py.
#include "text/views.hpp"

#include "check.hpp"

namespace {
using namespace trellis;
}

TEST(views_share_their_calls_and_may_be_silent) {
  ViewTree tree;
  CHECK(tree.add({{"lower", 0}}) && tree.add({}) && tree.add({{"lower", 0}, {"suffix", 3}}) && tree.add({{"shape", 0}}));
  CHECK(tree.add({{"suffix", 4}, {"has_digit", 0}}) && tree.add({{"outside", 0}}) && tree.add({{"prefix", 2}, {"lower", 0}}));
  CHECK(!tree.add({{"reversed", 0}}) && !tree.add({{"suffix", 0}}) && !tree.add({{"prefix", -1}}));
  Said said;
  for (int again = 0; again < 2; ++again) {
    tree.ask("F-16xyZ", said);
    CHECK((said.views == std::vector<std::string_view>{"f-16xyz", {}, "xyz", "X-ddxxX", "yes", {}, "f-"}));
    tree.ask("", said);
    CHECK(said.views[0].data() && said.views[0].empty() && said.views[3].data() && said.views[3].empty());
    CHECK(!said.views[2].data() && !said.views[4].data() && !said.views[6].data());
  }
  CHECK(is_ascii("") && is_ascii("12345678a") && !is_ascii("1234567\xC3\xA9") && !is_ascii("12345678\xC3\xA9"));
}

TEST(views_of_answers_that_are_longer_than_the_word) {
  const std::vector<std::vector<ViewTree::Call>> views = {
      {{"normal", 0}, {"lower", 0}},          {{"normal", 0}, {"lower_ascii", 0}},          {{"normal", 0}, {"shape", 0}},
      {{"normal", 0}, {"shape", 0}, {"lower", 0}}, {{"normal", 0}, {"lower", 0}, {"normal", 0}}, {{"normal", 0}, {"kinds", 0}, {"lower", 0}},
      {{"has_digit", 0}, {"lower", 0}},       {{"has_digit", 0}, {"shape", 0}, {"lower", 0}}};
  const std::vector<std::pair<std::string, std::vector<std::string_view>>> answers = {
      {"7", {"!digits", "!digits", "!XX", "!xx", "!digits", "pa", "yes", "xx"}},
      {"1984", {"!year", "!year", "!XX", "!xx", "!year", "pa", "yes", "xx"}},
      {"a-1", {"!hyphen", "!hyphen", "!XX", "!xx", "!hyphen", "pa", "yes", "xx"}}};
  ViewTree tree;
  for (const auto& calls : views) CHECK(tree.add(calls));
  for (const auto& [word, expected] : answers) {
    Said said;  // of each word a new one: what an earlier word took room for would hide that too little is reserved
    tree.ask(word, said);
    CHECK(said.views == expected);
  }
}
