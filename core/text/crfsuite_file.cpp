#include "text/crfsuite_file.hpp"

#include <algorithm>
#include <cmath>
#include <cstring>
#include <numeric>
#include <stdexcept>
#include <string>
#include <utility>

#include "text/strings.hpp"

namespace trellis {

namespace {

[[noreturn]] void refuse(const std::string& why) { throw std::invalid_argument(why); }

std::uint32_t number_at(std::string_view file, std::uint64_t at) {
  if (at + 4 > file.size()) refuse("the CRFsuite model ends too early; copy it again");
  std::uint32_t number;
  std::memcpy(&number, file.data() + at, 4);
  return number;
}

// The strings of a constant database (CQDB) by their ids, through its links from id to record: id, size with a NUL, bytes.
CrfsuiteModel::Strings read_strings(std::string_view file, std::uint64_t at, std::size_t n, const std::string& what) {
  const std::string of_file = " of the CRFsuite model ";
  const std::uint64_t size = number_at(file, at + 4), n_links = number_at(file, at + 16), links = number_at(file, at + 20);
  constexpr std::uint32_t kMark = 0x62445371, kHead = 24;
  const auto damaged = [&](bool is) {
    if (is) refuse("the " + what + "s" + of_file + "are damaged");
  };
  damaged(file.substr(at, 4) != "CQDB" || number_at(file, at + 12) != kMark || at + size > file.size() || n_links < n ||
          links + 4 * n_links > size);
  const std::string_view table = file.substr(at, size);
  CrfsuiteModel::Strings out;
  out.starts.resize(n + 1);
  std::uint64_t total = 0;
  for (std::size_t i = 0; i < n; ++i) {
    const std::uint64_t place = number_at(table, links + 4 * i);
    if (place < kHead || place + 8 > size) refuse(what + " " + std::to_string(i) + of_file + "is nowhere in the file");
    const std::uint64_t length = number_at(table, place + 4);
    if (number_at(table, place) != i || length < 1 || place + 8 + length > size)
      refuse(what + " " + std::to_string(i) + of_file + "is damaged");
    out.starts[i] = static_cast<std::int64_t>(place);
    total += length - 1;
    damaged(total > size);  // overlapping strings
  }
  constexpr std::size_t kChunk = 32;  // most strings are shorter: a fixed-size copy needs no call, and the excess is overwritten
  out.data.resize(total + kChunk);
  std::uint8_t* to = out.data.data();
  for (std::size_t i = 0; i < n; ++i) {
    const char* record = table.data() + std::exchange(out.starts[i], to - out.data.data());
    std::uint32_t length;
    std::memcpy(&length, record + 4, 4);
    if (length <= kChunk && record + 8 + kChunk <= table.data() + size) std::memcpy(to, record + 8, kChunk);
    else std::memcpy(to, record + 8, length - 1);
    to += length - 1;
  }
  out.data.resize(total);
  out.starts[n] = static_cast<std::int64_t>(total);
  if (const std::size_t i = find_invalid_string(out.data, out.starts); i < n)
    refuse(what + " " + std::to_string(i) + of_file + "is not UTF-8; train again on UTF-8 text");
  return out;
}

struct [[gnu::packed]] Feature {  // as in the file
  std::uint32_t kind, source, label;
  double weight;
};
constexpr std::uint32_t kState = 0, kTransition = 1;

std::vector<Feature> read_features(std::string_view file, std::uint64_t at) {
  const std::uint64_t size = number_at(file, at + 4), count = number_at(file, at + 8);
  if (file.substr(at, 4) != "FEAT" || size != 12 + count * sizeof(Feature) || at + size > file.size())
    refuse("the features of the CRFsuite model are damaged");
  std::vector<Feature> out(count);
  file.substr(at).copy(reinterpret_cast<char*>(out.data()), count * sizeof(Feature), 12);
  return out;
}

}  // namespace

CrfsuiteModel read_crfsuite(std::string_view file, std::string_view first, std::string_view last) {
  constexpr std::uint32_t kVersion = 100;
  if (file.size() < 48) refuse("the CRFsuite model ends too early; copy it again");
  if (!file.starts_with("lCRF") || file.substr(8, 4) != "FOMC" || number_at(file, 12) != kVersion)
    refuse("not a CRFsuite model of version 100");
  if (number_at(file, 4) != file.size())
    refuse("the CRFsuite model should have " + std::to_string(number_at(file, 4)) + " bytes and has " +
           std::to_string(file.size()) + "; copy it again");
  const std::size_t n_labels = number_at(file, 20), n = number_at(file, 24);
  const std::vector<Feature> features = read_features(file, number_at(file, 28));
  CrfsuiteModel out;
  out.labels = read_strings(file, number_at(file, 32), n_labels, "label");
  if (n_labels > 0xFFFF) refuse("the CRFsuite model has " + std::to_string(n_labels) + " labels; at most 65,535 are read");
  out.attributes = read_strings(file, number_at(file, 36), n, "attribute");
  out.slots = build_slots(out.attributes.data, out.attributes.starts);
  FrozenStrings strings{out.attributes.data, out.attributes.starts, out.slots};
  strings.shorten_searches();
  for (std::int32_t id = 0; id < static_cast<std::int32_t>(n); ++id)
    if (strings.lookup(strings.at(id)) != id) refuse("the CRFsuite model has one attribute twice");
  const std::int32_t ends[] = {strings.lookup(first), strings.lookup(last)};

  constexpr double kMost = 1e30;  // larger than any trained weight; ours are single precision
  bool no_label = false, no_kind = false, no_source = false;
  for (const Feature& f : features) {
    no_label |= (f.label >= n_labels) | !(std::fabs(f.weight) < kMost);
    no_kind |= f.kind > kTransition;
    no_source |= f.source >= (f.kind == kState ? n : n_labels);
  }
  if (no_label) refuse("the CRFsuite model has a feature of an unknown label, or a weight that is no number");
  if (no_kind) refuse("the CRFsuite model has features of an unknown kind");
  if (no_source) refuse("the CRFsuite model has a feature of an unknown attribute or label");

  std::vector<std::pair<std::uint64_t, float>> slots;  // by attribute and label; sorted in files of CRFsuite
  slots.reserve(features.size());
  for (const Feature& f : features) {
    const auto weight = static_cast<float>(f.weight);
    const auto source = static_cast<std::int32_t>(f.source);
    const bool is_end = f.kind == kState && (source == ends[0] || source == ends[1]);
    if (f.kind == kState && !is_end) {
      slots.emplace_back(std::uint64_t{f.source} << 32 | f.label, weight);
    } else {
      out.previous.push_back(is_end ? static_cast<std::int32_t>(n_labels) + (source == ends[1]) : source);
      out.next.push_back(static_cast<std::int32_t>(f.label)), out.pair_weights.push_back(weight);
    }
  }
  const auto key_of = [](const auto& slot) { return slot.first; };
  if (!std::ranges::is_sorted(slots, {}, key_of)) std::ranges::stable_sort(slots, {}, key_of);
  out.rows.starts.assign(n + 1, 0), out.rows.labels.reserve(slots.size()), out.rows.weights.reserve(slots.size());
  for (const auto& [key, weight] : slots) {
    ++out.rows.starts[(key >> 32) + 1];
    out.rows.labels.push_back(static_cast<std::uint16_t>(key)), out.rows.weights.push_back(weight);
  }
  std::partial_sum(out.rows.starts.begin(), out.rows.starts.end(), out.rows.starts.begin());
  return out;
}

}  // namespace trellis
