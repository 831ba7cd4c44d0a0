// Reads a CRFsuite model file: weights of attributes with labels, of label pairs, and two tables of strings.
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
  std::vector<std::int32_t> slots;  // hash slots of the attributes, from build_slots
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

// All offsets in the file are checked before use; throws std::invalid_argument with the reason. `first` and `last` are
// the names of the two attributes; rows are read for up to 65,535 labels.
CrfsuiteModel read_crfsuite(std::string_view file, std::string_view first, std::string_view last);

}  // namespace trellis
