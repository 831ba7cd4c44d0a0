// The structure of chains: sentences, whose outputs are label paths (structure.hpp). Weights are a GrowingChain, or a
// LinearChain if only scores are needed.
#pragma once
#include <cmath>

#include "engine/viterbi.hpp"
#include "learn/examples.hpp"
#include "learn/margin.hpp"
#include "learn/structure.hpp"
#include "weights/growing_chain.hpp"

namespace trellis {

// A part of a path: labels x, y, z at t-2, t-1, t, t the site within its sentence; labels beyond the order
// are 0. With sparse label n-grams, x is the longest n-gram at the end of the labels up to z.
struct ChainPart {
  std::uint32_t site, x;
  std::uint16_t y, z;

  bool operator==(const ChainPart&) const = default;
  trellis::Part labels() const { return {site, x, y, z}; }
};

template <class Weights>
class Chains {
 public:
  using Part = ChainPart;

  // `labels` are those of the weights. At order 0 only single labels have weights.
  Chains(Weights& weights, const LabelWeights& labels, int order, const Examples& examples, bool zero_one = false)
      : weights_(weights), examples_(examples), order_(order), null_(labels.n_labels), stride_(labels.stride),
        zero_one_(zero_one), forbids_(forbids(labels)) {}

  void enter(std::size_t sentence) {
    begin_ = static_cast<std::size_t>(examples_.starts[sentence]);
    n_ = length_ = static_cast<std::size_t>(examples_.starts[sentence + 1]) - begin_;
  }
  bool load(std::size_t sentence) {
    enter(sentence);
    if (n_ == 0) return false;
    get_ready();
    chain_ = weights_.chain(examples_.data, begin_, begin_ + n_, potentials_);
    margin_ = {zero_one_, examples_.costs};
    right_.assign(examples_.gold + begin_, examples_.gold + begin_ + n_);
    if (std::find(right_.begin(), right_.end(), -1) != right_.end()) {
      margin_.known = examples_.gold + begin_;
      margin_.partial = examples_.partial;
      margin_.partial.set_of_token += begin_;
      find_right();
    }
    possible_ = !forbids_ || path_score(chain_, right_.data()) != kForbidden<float>;
    return true;
  }
  bool possible() const { return possible_; }
  void get_ready() {
    if constexpr (requires { weights_.bound_ngrams(); })
      if (weights_.ngrams) weights_.bound_ngrams();
  }
  bool grows() const { return weights_.ngrams.has_value(); }

  std::size_t best(std::size_t k, bool augmented) {
    const ChainView<float> chain = searched(k, augmented);
    if (scores_.size() < k) scores_.resize(k);
    return k_best(chain, k, viterbi_, paths_.data(), scores_.data());
  }
  const std::int32_t* output(std::size_t i) const { return paths_.data() + i * n_; }
  std::size_t n_wrong(const std::int32_t* path) const {
    std::size_t n = 0;
    for (std::size_t t = 0; t < length_; ++t) n += path[t] != right_[t];
    return n;
  }
  double cost(const std::int32_t* path) const { return margin_.cost(right_.data(), path, length_, null_); }

  // Flat, and with registers of its own.
  [[gnu::flatten, gnu::noinline]] void collect(const std::int32_t* path, Changes& out) {
    each_changed(path, [&](const trellis::Part& right, const trellis::Part& wrong) TRELLIS_INLINE_LAMBDA {
      const auto add = [&](const trellis::Part& part, const trellis::Part& other, int reach, float sign) TRELLIS_INLINE_LAMBDA {
        weights_.each_feature(examples_.data, begin_, part, reach, other.z,
                              [&, sign](std::uint32_t row, std::uint32_t place, float value) TRELLIS_INLINE_LAMBDA {
                                out.push_back({row, place, sign * value});
                              });
      };
      const auto reach_back = [&](int reach) TRELLIS_INLINE_LAMBDA {
        if (reach <= order_ && right.differs(wrong, reach)) add(right, wrong, reach, 1), add(wrong, right, reach, -1);
      };
      reach_back(0), reach_back(1);
      if (!weights_.ngrams) reach_back(2);
    });
    if (weights_.ngrams) collect_ngrams(path, out);
  }

  // The score of a part in a path.
  double score(const ChainPart& part) const {
    double score = chain_.emit_at(part.site)[part.z];
    if (order_ >= 1) score += chain_.edge_at(part.site, part.y)[part.z];
    if (chain_.ngrams) return score + ngram_total(*chain_.ngrams, part.site, part.x);
    if (order_ == 2) score += chain_.tri_at(part.x, part.y)[part.z];
    return score;
  }
  void grow(const std::int32_t* path) {
    if (!weights_.ngrams) return;
    each_changed(path, [&](const trellis::Part& right, const trellis::Part&) {
      for (const std::int32_t* labels : {static_cast<const std::int32_t*>(right_.data()), path})
        weights_.each_ngram_feature(examples_.data, begin_, labels, right.token, 0, [](std::uint32_t, std::uint32_t, float) {});
    });
    if (!examples_.data.histories) return;
    chain_.ngrams = &weights_.ngram_scores;  // the weights may have been reallocated
    potentials_.add_runs(chain_);
  }
  template <class Visit>
  void each_difference(const std::int32_t* path, Visit visit) const {
    const Ngrams* const ngrams = chain_.ngrams ? chain_.ngrams->ngrams : nullptr;
    std::uint32_t right = ngrams ? ngrams->null() : 0, wrong = right;  // the n-gram state of the labels up to t
    for (std::size_t t = 0, end = 0; t < length_; ++t) {
      if (ngrams) right = ngrams->longest(ngrams->state(right), static_cast<std::size_t>(right_[t]));
      if (ngrams) wrong = ngrams->longest(ngrams->state(wrong), static_cast<std::size_t>(path[t]));
      if (right_[t] != path[t]) end = t + static_cast<std::size_t>(order_) + 1;
      if (t < end) visit(reached(right_.data(), t, right), 1.0), visit(reached(path, t, wrong), -1.0);
    }
  }
  template <class Visit>
  void each_feature(std::span<const Amount<ChainPart>> parts, Visit visit) {
    constexpr double kNothing = 1e-12;  // amounts that should cancel leave a smaller share
    // Features of a single label do not depend on the previous labels.
    labels_.clear();
    double most = 0;
    for (const Amount<ChainPart>& one : parts) {
      most = std::max(most, std::fabs(one.amount));
      auto at = labels_.begin();
      while (at != labels_.end() && at->part.z != one.part.z) ++at;
      if (at == labels_.end()) labels_.push_back(one);
      else at->amount += one.amount;
    }
    const auto add = [&](const Amount<ChainPart>& one, int reach) {
      weights_.each_feature(examples_.data, begin_, one.part.labels(), reach, null_,
                            [&](std::uint32_t row, std::uint32_t place, float value) {
                              visit(Change{row, place, one.amount * value});
                            });
    };
    for (const Amount<ChainPart>& label : labels_)
      if (std::fabs(label.amount) > kNothing * most) add(label, 0);
    const int dense = weights_.ngrams ? 1 : order_;
    for (const Amount<ChainPart>& one : parts) {
      for (int reach = 1; reach <= dense; ++reach) add(one, reach);
      if (weights_.ngrams)
        weights_.each_run(examples_.data, begin_, one.part.site, one.part.x, 0,
                          [&](std::uint32_t row, std::uint32_t place, float value) {
                            visit(Change{row, place, one.amount * value});
                          });
    }
  }

 protected:
  // The chain to search for the k best paths, and room for them.
  TRELLIS_INLINE ChainView<float> searched(std::size_t k, bool augmented) {
    if (paths_.size() < k * n_) paths_.resize(k * n_);
    ChainView<float> chain = chain_;
    if (augmented) {
      changed_.assign(chain_.emit, chain_.emit + n_ * stride_);
      margin_.add_to(right_.data(), n_, null_, stride_, changed_.data());
      chain.emit = changed_.data();
    }
    return chain;
  }

  // The parts in which the gold path and another differ: parts cover `order` previous labels.
  template <class Visit>
  TRELLIS_INLINE void each_changed(const std::int32_t* path, Visit visit) const {
    for (std::size_t t = 0, end = 0; t < length_; ++t) {
      if (right_[t] != path[t]) end = t + static_cast<std::size_t>(order_) + 1;
      if (t < end) visit(part_at(right_.data(), t, null_), part_at(path, t, null_));
    }
  }
  void collect_ngrams(const std::int32_t* path, Changes& out) {
    const auto order = static_cast<std::size_t>(order_);
    for (std::size_t t = 0, same = order + 1; t < length_; ++t) {  // the number of equal labels up to t in both
      same = right_[t] == path[t] ? same + 1 : 0;
      if (same > order) continue;
      for (const auto& [labels, sign] : {std::pair{static_cast<const std::int32_t*>(right_.data()), 1.0}, {path, -1.0}})
        weights_.each_ngram_feature(examples_.data, begin_, labels, t, same + 1,
                                    [&, sign = sign](std::uint32_t row, std::uint32_t place, float value) {
                                      out.push_back({row, place, sign * value});
                                    });
    }
  }
  ChainPart reached(const std::int32_t* path, std::size_t t, std::uint32_t longest) const {
    const trellis::Part part = part_at(path, t, null_);
    return {static_cast<std::uint32_t>(t), chain_.ngrams ? longest : static_cast<std::uint32_t>(order_ < 2 ? 0 : part.x),
            static_cast<std::uint16_t>(order_ < 1 ? 0 : part.y), static_cast<std::uint16_t>(part.z)};
  }

  // The best path consistent with the known labels (and with the tag dictionary, if any such path is).
  void find_right() {
    changed_.assign(chain_.emit, chain_.emit + n_ * stride_);
    for (std::size_t t = 0; t < n_; ++t)
      for (std::size_t z = 0; z < null_; ++z)
        if (right_[t] >= 0 ? z != static_cast<std::size_t>(right_[t]) : !allows(margin_.partial, t, z))
          changed_[t * stride_ + z] = kForbidden<float>;
    ChainView<float> known = chain_;
    known.emit = changed_.data();
    if (best_path(known, viterbi_, right_.data()) != kForbidden<float>) return;
    ChainData open = examples_.data;  // labels outside the lists have no scores yet
    open.sets = {};
    const LabelSets sets = potentials_.allowed;
    weights_.chain(open, begin_, begin_ + n_, potentials_);
    potentials_.allowed = sets;
    for (std::size_t i = 0; i < changed_.size(); ++i)
      if (changed_[i] != kForbidden<float>) changed_[i] = chain_.emit[i];
    known.allowed = nullptr;
    best_path(known, viterbi_, right_.data());
  }

  Weights& weights_;
  const Examples& examples_;
  const int order_;
  const std::size_t null_, stride_;
  const bool zero_one_;
  const bool forbids_;  // whether some gold path may be forbidden
  bool possible_ = true;
  std::size_t begin_ = 0, n_ = 0;  // the tokens of the sentence
  std::size_t length_ = 0;         // length of the prefixes to compare
  ChainView<float> chain_{};
  Margin margin_;
  Potentials<float> potentials_;
  Workspace<float> viterbi_;
  std::vector<float> changed_, scores_;      // [n, stride] emissions with costs, or of known labels alone; [k]
  std::vector<std::int32_t> right_, paths_;  // [n] the gold path, [k, n]
  std::vector<Amount<ChainPart>> labels_;
};

}  // namespace trellis
