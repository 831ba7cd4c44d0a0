#include "learn/online.hpp"

#include <cmath>

namespace trellis {

Online::Online(std::size_t n_attributes, std::size_t n_edge_attributes, std::size_t n_labels_, int order_,
               const Rule& rule_, bool log_)
    : GrowingChain(n_attributes, n_edge_attributes, n_labels_, order_, rule_.has_variances()), rule(rule_), logs(log_) {}

// Phi(x, right) - Phi(x, wrong), part by part: only where the two paths differ.
void Online::collect(const ChainData& data, std::size_t begin, std::size_t n, const std::int32_t* right,
                     const std::int32_t* wrong, Changes& out) {
  const auto null = static_cast<std::int32_t>(n_labels);
  const auto first_edge = static_cast<std::uint32_t>(rows.n_attributes());
  auto label = [&](std::size_t t, std::int32_t z, float sign) {
    const TokenAttributes& at = data.attributes;
    for (std::int64_t i = at.starts[t]; i < at.starts[t + 1]; ++i)
      if (rows.may_have(at.ids[i], z))
        out.push_back({static_cast<std::uint32_t>(at.ids[i]), static_cast<std::uint32_t>(z),
                       at.values ? sign * at.values[i] : sign});
  };
  auto pair = [&](std::size_t t, std::int32_t y, std::int32_t z, float sign) {
    const auto s = static_cast<std::uint32_t>(y * stride + z);
    out.push_back({pair_row(), s, sign});
    const TokenAttributes& at = data.edge_attributes;
    if (!at.starts) return;
    for (std::int64_t i = at.starts[t]; i < at.starts[t + 1]; ++i)
      out.push_back({first_edge + static_cast<std::uint32_t>(at.ids[i]), s, at.values ? sign * at.values[i] : sign});
  };
  auto triple = [&](std::int32_t x, std::int32_t y, std::int32_t z, float sign) {
    out.push_back({pair_row() + 1, static_cast<std::uint32_t>((x * (n_labels + 1) + y) * stride + z), sign});
  };
  out.clear();
  for (std::size_t t = 0; t < n; ++t) {
    const bool here = right[t] != wrong[t];
    const bool one_back = t >= 1 && right[t - 1] != wrong[t - 1];
    const bool two_back = t >= 2 && right[t - 2] != wrong[t - 2];
    if (here) {
      label(begin + t, right[t], 1);
      label(begin + t, wrong[t], -1);
    }
    if (order >= 1 && (here || one_back)) {
      pair(begin + t, t ? right[t - 1] : null, right[t], 1);
      pair(begin + t, t ? wrong[t - 1] : null, wrong[t], -1);
    }
    if (order == 2 && (here || one_back || two_back)) {
      triple(t > 1 ? right[t - 2] : null, t ? right[t - 1] : null, right[t], 1);
      triple(t > 1 ? wrong[t - 2] : null, t ? wrong[t - 1] : null, wrong[t], -1);
    }
  }
}

namespace {

bool before(const Change& a, const Change& b) { return a.row != b.row ? a.row < b.row : a.place < b.place; }

// Each weight once, in order; without those that do not change.
void merge(Changes& changes) {
  std::stable_sort(changes.begin(), changes.end(), before);
  std::size_t n = 0;
  for (std::size_t i = 0; i < changes.size();) {
    Change total = changes[i++];
    for (; i < changes.size() && !before(total, changes[i]); ++i) total.by += changes[i].by;
    if (total.by != 0) changes[n++] = total;
  }
  changes.resize(n);
}

double dot(const Changes& a, const Changes& b) {
  double total = 0;
  for (std::size_t i = 0, j = 0; i < a.size() && j < b.size();) {
    if (before(a[i], b[j])) ++i;
    else if (before(b[j], a[i])) ++j;
    else total += a[i++].by * b[j++].by;
  }
  return total;
}

TRELLIS_CLONES ChainView<float> chain_one(const Online& self, const LabelWeights& labels, const ChainData& data,
                                          std::size_t begin, std::size_t end, ChainScratch& scratch, LabelSets& sets) {
  return chain_of(self.rows, self.edge_rows, labels, data, begin, end, scratch, sets);
}

}  // namespace

// w · d
double Online::score(const Changes& changes) {
  double total = 0;
  for (const Change& change : changes)
    if (const float* weight = find(change).weight) total += change.by * *weight;
  return total;
}

// d · V d
double Online::norm(const Changes& changes) {
  double total = 0;
  for (const Change& change : changes) {
    const float* variance = find(change).variance;
    total += change.by * change.by * (variance ? *variance : 1);
  }
  return total;
}

// w += scale · V d. The sums take what the float changed by, so that averages are those of the floats.
void Online::apply(const Changes& changes, double scale) {
  const auto now = static_cast<double>(clock);
  for (const Change& change : changes) {
    const auto [weight, sum, variance] = make(change);
    const float old = *weight;
    *weight += static_cast<float>(scale * change.by * (variance ? *variance : 1));
    *sum += now * (static_cast<double>(*weight) - old);
  }
}

// One sentence as a step sees it.
struct Online::Sentence {
  const Online& self;
  const Examples& examples;
  std::size_t begin, n;
  const std::int32_t* right;  // [n] the gold path

  bool agrees(std::size_t t, std::int32_t z) const {
    const ListedLabels known = labels_of(examples.partial, begin + t);
    return std::binary_search(known.labels, known.labels + known.n, z);
  }
  // What label z costs at token t. Of a label not fully known only those cost that disagree with what is known.
  float cost(std::size_t t, std::int32_t z) const {
    if (z == right[t] || (examples.gold[begin + t] < 0 && agrees(t, z))) return 0;
    return examples.costs ? examples.costs[right[t] * self.n_labels + z] : 1;
  }
  double cost(const std::int32_t* path) const {
    double total = 0;
    for (std::size_t t = 0; t < n; ++t) total += cost(t, path[t]);
    return total;
  }
};

// The step away from paths_[0 .. n_paths); false if there is none to make.
bool Online::step(const Sentence& sentence, std::size_t n_paths, double scale) {
  const std::size_t n = sentence.n;
  if (changes_.size() < n_paths) changes_.resize(n_paths);
  std::size_t n_wrong = 0;
  losses_.clear();
  for (std::size_t i = 0; i < n_paths; ++i) {
    const std::int32_t* path = paths_.data() + i * n;
    if (std::equal(path, path + n, sentence.right)) continue;
    Changes& d = changes_[n_wrong++];
    collect(sentence.examples.data, sentence.begin, n, sentence.right, path, d);
    if (rule.kind == Rule::kPerceptron && !logs) {
      apply(d, scale);
      return true;
    }
    merge(d);
    if (rule.kind == Rule::kPerceptron) continue;
    const double cost = sentence.cost(path);
    losses_.push_back((rule.augmented() ? cost : std::sqrt(cost)) - score(d));
  }
  if (n_wrong == 0) return false;
  if (rule.kind == Rule::kMira) {
    gram_.resize(n_wrong * n_wrong);
    for (std::size_t i = 0; i < n_wrong; ++i)
      for (std::size_t j = 0; j <= i; ++j)
        gram_[i * n_wrong + j] = gram_[j * n_wrong + i] = dot(changes_[i], changes_[j]);
    const std::vector<double>& sizes = qp_.solve(losses_, gram_, rule.c);
    for (std::size_t i = 0; i < n_wrong; ++i)
      if (sizes[i] > 0) apply(changes_[i], scale * sizes[i]);
    return std::any_of(sizes.begin(), sizes.end(), [](double size) { return size > 0; });
  }

  const Changes& d = changes_[0];
  double size = 1;
  if (rule.kind != Rule::kPerceptron) {
    const double loss = losses_[0], length = norm(d);
    if (!(loss > 0) || length == 0) return false;
    switch (rule.kind) {
      case Rule::kPa1: size = std::min(rule.c, loss / length); break;
      case Rule::kPa2: size = loss / (length + 1 / (2 * rule.c)); break;
      case Rule::kArow: size = loss / (length + rule.c); break;
      default: size = loss / length; break;
    }
  }
  apply(d, scale * size);
  if (rule.kind == Rule::kArow)  // 1 / V += d² / r
    for (const Change& change : d) {
      float& variance = *find(change).variance;
      variance = static_cast<float>(1 / (1 / static_cast<double>(variance) + change.by * change.by / rule.c));
    }
  if (logs) {
    log.clocks.push_back(clock);
    for (const Change& change : d) {
      log.rows.push_back(change.row);
      log.places.push_back(change.place);
      log.changes.push_back(static_cast<float>(scale * change.by));
    }
    log.starts.push_back(static_cast<std::int64_t>(log.rows.size()));
  }
  return true;
}

EpochResult Online::epoch(const Examples& examples, const std::int64_t* sentences, std::size_t n_sentences,
                          const Patience::GoOn& go_on) {
  Patience patience(go_on);
  EpochResult result;
  const LabelWeights labels{n_labels, stride, edge.data(), tri.empty() ? nullptr : tri.data(),
                            end.empty() ? nullptr : end.data()};
  const bool forbids = !end.empty() || std::any_of(edge.begin(), edge.end(), [](float w) { return std::isinf(w); });
  for (std::size_t i = 0; i < n_sentences; ++i, ++clock) {
    const std::size_t begin = examples.starts[sentences[i]], n = examples.starts[sentences[i] + 1] - begin;
    const double scale = examples.weights ? examples.weights[sentences[i]] : 1;
    if (patience.ended()) break;
    if (n == 0 || scale == 0) continue;
    LabelSets sets{};
    const ChainView<float> chain = chain_one(*this, labels, examples.data, begin, begin + n, chain_, sets);

    // The gold path; where it is not fully known, the best path that agrees with what is known (and with the tag
    // dictionary, if any path does).
    right_.assign(examples.gold + begin, examples.gold + begin + n);
    const Sentence sentence{*this, examples, begin, n, right_.data()};
    if (std::find(right_.begin(), right_.end(), -1) != right_.end()) {
      constrained_.assign(chain_.emit.begin(), chain_.emit.begin() + static_cast<std::ptrdiff_t>(n * stride));
      for (std::size_t t = 0; t < n; ++t)
        for (std::size_t z = 0; z < n_labels; ++z) {
          const auto label = static_cast<std::int32_t>(z);
          if (right_[t] >= 0 ? label != right_[t] : !sentence.agrees(t, label))
            constrained_[t * stride + z] = kForbidden<float>;
        }
      ChainView<float> known = chain;
      known.emit = constrained_.data();
      if (best_path(known, chain_.viterbi, right_.data()) == kForbidden<float>) {
        known.allowed = nullptr;
        best_path(known, chain_.viterbi, right_.data());
      }
    }
    const bool possible = !forbids || path_score(chain, right_.data()) != kForbidden<float>;

    // The best paths; of learners that ask for a margin, with the cost of wrong labels added to their scores.
    if (rule.augmented())
      for (std::size_t t = 0; t < n; ++t)
        for (std::size_t z = 0; z < n_labels; ++z)
          chain_.emit[t * stride + z] += sentence.cost(t, static_cast<std::int32_t>(z));
    std::size_t n_paths = 1;
    if (paths_.size() < rule.k * n) paths_.resize(rule.k * n), scores_.resize(rule.k);
    if (rule.k == 1) best_path(chain, chain_.viterbi, paths_.data());
    else n_paths = k_best(chain, rule.k, kbest_, paths_.data(), scores_.data());
    for (std::size_t t = 0; t < n; ++t) result.mistakes += paths_[t] != right_[t];
    if (possible) result.updates += step(sentence, n_paths, scale);
  }
  return result;
}

}  // namespace trellis
