#include "learn/online.hpp"

#include "learn/margin.hpp"

namespace trellis {
namespace {

// Sentences and their label paths.
class Chains {
 public:
  Chains(GrowingChain& weights, const Examples& examples)
      : weights_(weights), examples_(examples), null_(weights.n_labels),
        forbids_(!weights.end.empty() || std::any_of(weights.edge.weights.begin(), weights.edge.weights.end(),
                                                     [](float w) { return std::isinf(w); })) {}

  bool load(std::size_t sentence) {
    begin_ = static_cast<std::size_t>(examples_.starts[sentence]);
    n_ = static_cast<std::size_t>(examples_.starts[sentence + 1]) - begin_;
    if (n_ == 0) return false;
    get_ready();
    chain_ = weights_.chain(examples_.data, begin_, begin_ + n_, potentials_);
    margin_ = {false, examples_.costs};
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
    if (weights_.ngrams && !examples_.data.sets.starts) weights_.join_ngrams();
  }
  bool grows() const { return weights_.ngrams.has_value(); }

  std::size_t best(std::size_t k, bool augmented) {
    if (augmented) margin_.add_to(right_.data(), n_, null_, weights_.stride, potentials_.emit.data());
    if (paths_.size() < k * n_) paths_.resize(k * n_), scores_.resize(k);
    if (k > 1) return k_best(chain_, k, kbest_, paths_.data(), scores_.data());
    best_path(chain_, viterbi_, paths_.data());
    return 1;
  }
  const std::int32_t* output(std::size_t i) const { return paths_.data() + i * n_; }
  std::size_t n_wrong(const std::int32_t* path) const {
    std::size_t n = 0;
    for (std::size_t t = 0; t < n_; ++t) n += path[t] != right_[t];
    return n;
  }
  double cost(const std::int32_t* path) const { return margin_.cost(right_.data(), path, n_, null_); }

  // Only where the two paths differ: parts reach back over `order` labels.
  void collect(const std::int32_t* path, Changes& out) {
    for (std::size_t t = 0, end = 0; t < n_; ++t) {
      if (right_[t] != path[t]) end = t + static_cast<std::size_t>(weights_.order) + 1;
      if (t >= end) continue;
      const Part right = part_at(right_.data(), t, null_), wrong = part_at(path, t, null_);
      const auto add = [&](const Part& part, const Part& other, int reach, float sign) TRELLIS_INLINE_LAMBDA {
        weights_.each_feature(examples_.data, begin_, part, reach, other.z,
                              [&, sign](std::uint32_t row, std::uint32_t place, float value) TRELLIS_INLINE_LAMBDA {
                                out.push_back({row, place, sign * value});
                              });
      };
      const auto reach_back = [&](int reach) TRELLIS_INLINE_LAMBDA {
        if (reach <= weights_.order && right.differs(wrong, reach)) add(right, wrong, reach, 1), add(wrong, right, reach, -1);
      };
      reach_back(0), reach_back(1);
      if (!weights_.ngrams) reach_back(2);
    }
    if (weights_.ngrams) collect_ngrams(path, out);
  }

 private:
  void collect_ngrams(const std::int32_t* path, Changes& out) {
    const auto order = static_cast<std::size_t>(weights_.order);
    for (std::size_t t = 0, same = order + 1; t < n_; ++t) {  // as many labels up to t are the same in both
      same = right_[t] == path[t] ? same + 1 : 0;
      if (same > order) continue;
      for (const auto& [labels, sign] : {std::pair{static_cast<const std::int32_t*>(right_.data()), 1.0}, {path, -1.0}})
        weights_.each_ngram_feature(labels, t, same + 1, [&](std::uint32_t row, std::uint32_t place) {
          out.push_back({row, place, sign});
        });
    }
  }

  // The best path that agrees with what is known of the labels (and with the tag dictionary, if any path does).
  void find_right() {
    constrained_.assign(potentials_.emit.begin(), potentials_.emit.begin() + static_cast<std::ptrdiff_t>(n_ * chain_.stride));
    for (std::size_t t = 0; t < n_; ++t)
      for (std::size_t z = 0; z < null_; ++z)
        if (right_[t] >= 0 ? z != static_cast<std::size_t>(right_[t]) : !allows(margin_.partial, t, z))
          constrained_[t * chain_.stride + z] = kForbidden<float>;
    ChainView<float> known = chain_;
    known.emit = constrained_.data();
    if (best_path(known, viterbi_, right_.data()) != kForbidden<float>) return;
    known.allowed = nullptr;
    best_path(known, viterbi_, right_.data());
  }

  GrowingChain& weights_;
  const Examples& examples_;
  const std::size_t null_;
  const bool forbids_;  // whether some gold path may be forbidden
  bool possible_ = true;
  std::size_t begin_ = 0, n_ = 0;  // the tokens of the sentence
  ChainView<float> chain_{};
  Margin margin_;
  Potentials<float> potentials_;
  Workspace<float> viterbi_;
  KBestWorkspace<float> kbest_;
  std::vector<float> constrained_, scores_;   // [n, stride], [k]
  std::vector<std::int32_t> right_, paths_;  // [n] the gold path, [k, n]
};

}  // namespace

EpochResult Online::epoch(const Examples& examples, const std::int64_t* sentences, std::size_t n_sentences,
                          std::size_t batch, std::size_t n_threads, const Patience::GoOn& go_on) {
  if (batch > 1)
    return batched_pass([&] { return Chains(*this, examples); }, *this, steps, clock, sentences, n_sentences,
                        examples.weights, batch, n_threads, go_on);
  Chains chains(*this, examples);
  return online_pass(chains, *this, steps, clock, sentences, n_sentences, examples.weights, go_on);
}

}  // namespace trellis
