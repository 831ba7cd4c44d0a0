// The model in a file of CRFsuite: weights of attributes with labels, of label pairs, and two tables of strings.
#pragma once
#include <cstdint>
#include <string_view>
#include <vector>

namespace trellis {

struct CrfsuiteModel {
  struct Strings {
    std::vector<std::uint8_t> data;
    std::vector<std::int64_t> starts{0};  // [n + 1]
  };
  Strings labels, attributes;
  std::vector<std::int32_t> slots;  // of the attributes, as build_slots gives them
  // Attribute a has weights[s] for labels[s], s from starts[a] to starts[a + 1]; labels ascend.
  struct {
    std::vector<std::uint32_t> starts;  // [n_attributes + 1]
    std::vector<std::uint16_t> labels;
    std::vector<float> weights;
  } rows;
  // Pairs of labels, as they come; the same of the two attributes that stand for the first and the last token, which have no
  // rows: n_labels and n_labels + 1 in place of the label before.
  std::vector<std::int32_t> previous, next;
  std::vector<float> pair_weights;
};

// Whatever the file says is checked before it is followed; std::invalid_argument with what is wrong. `first` and `last` are
// the names of the two attributes; rows are read for up to 65,535 labels.
CrfsuiteModel read_crfsuite(std::string_view file, std::string_view first, std::string_view last);

}  // namespace trellis
