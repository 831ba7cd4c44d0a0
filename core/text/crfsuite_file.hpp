// A CRFsuite model file: weights of attributes with labels, of label pairs, and two tables of strings.
#pragma once
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace trellis {

// A constant database (CQDB) in the bytes of a file: strings with their ids, 256 hash tables with linear probing, and
// links from ids to strings.
class CrfsuiteStrings {
 public:
  // The first n strings of the database at `at`; `what` they are, for messages.
  CrfsuiteStrings(std::string_view file, std::uint64_t at, std::size_t n, std::string what);
  std::size_t size() const { return n_; }
  std::int32_t lookup(std::string_view s) const;  // the string's id, or -1
  struct Copy {
    std::vector<std::uint8_t> data;
    std::vector<std::int64_t> starts;  // [n + 1]
  };
  Copy copied() const;  // all strings, checked to be UTF-8

 private:
  std::string_view table_;
  std::uint64_t links_;  // offset of the links
  std::size_t n_;
  std::string what_;
};
// The hash function of these tables, of a string with its final NUL: lookup3 by Bob Jenkins.
std::uint32_t crfsuite_hash(std::string_view s);

struct CrfsuiteWeights {
  // Attribute a has weights[s] for labels[s], s from starts[a] to starts[a + 1]; labels ascend.
  struct {
    std::vector<std::uint32_t> starts;  // [n_attributes + 1]
    std::vector<std::uint16_t> labels;
    std::vector<float> weights;
  } rows;
  // Pairs of labels, in file order; also the labels of the two attributes for the first and the last token, which have no
  // rows: with n_labels and n_labels + 1 as the previous label.
  std::vector<std::int32_t> previous, next;
  std::vector<float> pair_weights;
};

// All offsets in the file are checked before use; functions throw std::invalid_argument with the reason. Opening a file copies
// no attributes: they are looked up in its bytes, which must outlive it.
struct CrfsuiteFile {
  explicit CrfsuiteFile(std::string_view bytes);
  // `first` and `last` are the names of the two attributes; rows are read for up to 65,535 labels.
  CrfsuiteWeights weights(std::string_view first, std::string_view last) const;

  std::string_view bytes;
  CrfsuiteStrings labels, attributes;
};

}  // namespace trellis
