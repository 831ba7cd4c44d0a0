#include "text/crfsuite_file.hpp"

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstring>
#include <numeric>
#include <span>
#include <stdexcept>
#include <string>
#include <utility>

#include "text/strings.hpp"

namespace trellis {

namespace {

[[noreturn]] void refuse(const std::string& why) { throw std::invalid_argument(why); }

[[gnu::always_inline]] inline std::uint32_t number_at(std::string_view file, std::uint64_t at) {
  if (at + 4 > file.size()) refuse("the CRFsuite model ends too early; copy it again");
  std::uint32_t number;
  std::memcpy(&number, file.data() + at, 4);
  return number;
}

const std::string kOfFile = " of the CRFsuite model ";
constexpr std::uint32_t kMark = 0x62445371, kHead = 24, kTables = 256;

struct [[gnu::packed, gnu::may_alias]] Feature {  // as in the file
  std::uint32_t kind, source, label;
  double weight;
  std::uint64_t key() const { return std::uint64_t{kind} << 63 ^ (std::uint64_t{source} << 32 | label); }
};
constexpr std::uint32_t kState = 0, kTransition = 1;

std::span<const Feature> features_of(std::string_view file) {
  const std::uint64_t at = number_at(file, 28), size = number_at(file, at + 4), count = number_at(file, at + 8);
  if (file.substr(at, 4) != "FEAT" || size != 12 + count * sizeof(Feature) || at + size > file.size())
    refuse("the features of the CRFsuite model are damaged");
  return {reinterpret_cast<const Feature*>(file.data() + at + 12), count};
}

std::string_view checked(std::string_view file) {
  constexpr std::uint32_t kVersion = 100;
  if (file.size() < 48) refuse("the CRFsuite model ends too early; copy it again");
  if (!file.starts_with("lCRF") || file.substr(8, 4) != "FOMC" || number_at(file, 12) != kVersion)
    refuse("not a CRFsuite model of version 100");
  if (number_at(file, 4) != file.size())
    refuse("the CRFsuite model should have " + std::to_string(number_at(file, 4)) + " bytes and has " +
           std::to_string(file.size()) + "; copy it again");
  return file;
}

}  // namespace

std::uint32_t crfsuite_hash(std::string_view s) {
  const std::size_t size = s.size() + 1;
  std::uint32_t a, b, c;
  a = b = c = 0xDEADBEEF + static_cast<std::uint32_t>(size);
  const auto mix = [](std::uint32_t& x, std::uint32_t by, int turn) { x = (x - by) ^ std::rotl(by, turn); };
  const auto end = [](std::uint32_t& x, std::uint32_t by, int turn) { x = (x ^ by) - std::rotl(by, turn); };
  for (std::size_t at = 0;; at += 12) {
    std::uint32_t words[3] = {};
    if (at < s.size()) std::memcpy(words, s.data() + at, std::min<std::size_t>(12, s.size() - at));
    a += words[0], b += words[1], c += words[2];
    if (at + 12 >= size) break;
    mix(a, c, 4), c += b, mix(b, a, 6), a += c, mix(c, b, 8), b += a;
    mix(a, c, 16), c += b, mix(b, a, 19), a += c, mix(c, b, 4), b += a;
  }
  end(c, b, 14), end(a, c, 11), end(b, a, 25), end(c, b, 16), end(a, c, 4), end(b, a, 14), end(c, b, 24);
  return c;
}

CrfsuiteStrings::CrfsuiteStrings(std::string_view file, std::uint64_t at, std::size_t n, std::string what)
    : links_(number_at(file, at + 20)), n_(n), what_(std::move(what)) {
  const std::uint64_t size = number_at(file, at + 4), n_links = number_at(file, at + 16);
  const auto damaged = [&](bool is) {
    if (is) refuse(what_ + "s" + kOfFile + "are damaged");
  };
  damaged(file.substr(at, 4) != "CQDB" || number_at(file, at + 12) != kMark || at + size > file.size() || n_links < n ||
          links_ + 4 * n_links > size || size < kHead + 8 * kTables);
  table_ = file.substr(at, size);
  std::uint64_t places = 0, total = 0;  // the sum of the offsets of all strings, as the tables have each once; of their sizes
  for (std::size_t i = 0; i < n; ++i) {
    const std::uint64_t place = number_at(table_, links_ + 4 * i);
    if (place < kHead || place + 8 > size) refuse(what_ + " " + std::to_string(i) + kOfFile + "is nowhere in the file");
    const std::uint64_t length = number_at(table_, place + 4);
    if (number_at(table_, place) != i || length < 1 || place + 8 + length > size)
      refuse(what_ + " " + std::to_string(i) + kOfFile + "is damaged");
    places += place, total += length;
  }
  damaged(total > size);  // overlapping strings
  for (std::uint32_t t = 0; t < kTables; ++t) {
    const std::uint64_t begin = number_at(table_, kHead + 8 * t), n_slots = number_at(table_, kHead + 8 * t + 4);
    damaged(begin + 8 * n_slots > size);
    for (std::uint64_t s = 0; s < n_slots; ++s) places -= number_at(table_, begin + 8 * s + 4);
  }
  damaged(n == n_links && places != 0);
}

std::int32_t CrfsuiteStrings::lookup(std::string_view s) const {
  const std::uint32_t hash = crfsuite_hash(s), head = kHead + 8 * (hash % kTables);
  const std::uint64_t begin = number_at(table_, head), n_slots = number_at(table_, head + 4);
  for (std::uint64_t tries = 0, slot = n_slots ? (hash >> 8) % n_slots : 0; tries < std::min(n_slots, kLongSearch); ++tries) {
    const std::uint64_t at = begin + 8 * slot, place = number_at(table_, at + 4);
    if (place == 0) return -1;
    if (number_at(table_, at) == hash && place + 8 + s.size() <= table_.size() && number_at(table_, place + 4) == s.size() + 1 &&
        table_.substr(place + 8, s.size()) == s)
      return number_at(table_, place) < n_ ? static_cast<std::int32_t>(number_at(table_, place)) : -1;
    if (++slot == n_slots) slot = 0;
  }
  return -1;
}

CrfsuiteStrings::Copy CrfsuiteStrings::copied() const {
  Copy out;
  out.starts.push_back(0);
  for (std::size_t i = 0; i < n_; ++i) {
    const std::uint64_t place = number_at(table_, links_ + 4 * i), length = number_at(table_, place + 4) - 1;
    out.data.insert(out.data.end(), table_.begin() + place + 8, table_.begin() + place + 8 + length);
    out.starts.push_back(static_cast<std::int64_t>(out.data.size()));
  }
  if (const std::size_t i = find_invalid_string(out.data, out.starts); i < n_)
    refuse(what_ + " " + std::to_string(i) + kOfFile + "is not UTF-8; train again on UTF-8 text");
  return out;
}

CrfsuiteFile::CrfsuiteFile(std::string_view file)
    : bytes(checked(file)), labels(file, number_at(file, 32), number_at(file, 20), "label"),
      attributes(file, number_at(file, 36), number_at(file, 24), "attribute") {
  if (labels.size() > 0xFFFF)
    refuse("the CRFsuite model has " + std::to_string(labels.size()) + " labels; at most 65,535 are read");
}

CrfsuiteWeights CrfsuiteFile::weights(std::string_view first, std::string_view last) const {
  std::span<const Feature> features = features_of(bytes);
  std::vector<Feature> sorted;  // by attribute and label, as in files of CRFsuite
  if (!std::ranges::is_sorted(features, {}, &Feature::key)) {
    sorted.assign(features.begin(), features.end());
    std::ranges::stable_sort(sorted, {}, &Feature::key);
    features = sorted;
  }
  constexpr double kMost = 1e30;  // larger than any trained weight; ours are single precision
  const std::size_t n = attributes.size(), n_labels = labels.size();
  const std::int32_t ends[] = {attributes.lookup(first), attributes.lookup(last)};
  CrfsuiteWeights out;
  out.rows.starts.assign(n + 1, 0), out.rows.labels.reserve(features.size()), out.rows.weights.reserve(features.size());
  for (const Feature& f : features) {
    if (f.kind > kTransition) refuse("the CRFsuite model has features of an unknown kind");
    if (f.label >= n_labels || !(std::fabs(f.weight) < kMost))
      refuse("the CRFsuite model has a feature of an unknown label, or a weight that is no number");
    if (f.source >= (f.kind == kState ? n : n_labels))
      refuse("the CRFsuite model has a feature of an unknown attribute or label");
    const auto weight = static_cast<float>(f.weight);
    const auto source = static_cast<std::int32_t>(f.source);
    const bool is_end = f.kind == kState && (source == ends[0] || source == ends[1]);
    if (f.kind == kState && !is_end) {
      ++out.rows.starts[f.source + 1];
      out.rows.labels.push_back(static_cast<std::uint16_t>(f.label)), out.rows.weights.push_back(weight);
    } else {
      out.previous.push_back(is_end ? static_cast<std::int32_t>(n_labels) + (source == ends[1]) : source);
      out.next.push_back(static_cast<std::int32_t>(f.label)), out.pair_weights.push_back(weight);
    }
  }
  std::partial_sum(out.rows.starts.begin(), out.rows.starts.end(), out.rows.starts.begin());
  return out;
}

}  // namespace trellis
