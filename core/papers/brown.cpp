#include "papers/brown.hpp"

#include <algorithm>
#include <limits>
#include <utility>

#include "engine/elementary.hpp"
#include "groups.hpp"
#include "parallel.hpp"

namespace trellis {

namespace {

using Count = std::uint32_t;

// x log x of counts, small ones from a table.
class Entropy {
 public:
  explicit Entropy(std::size_t most) : table_(std::min<std::size_t>(most + 1, std::size_t{1} << 20)) {
    for (std::size_t x = 2; x < table_.size(); ++x) table_[x] = exact(x);
  }
  double operator()(std::uint64_t x) const { return x < table_.size() ? table_[x] : exact(x); }

 private:
  static double exact(std::uint64_t x) { return static_cast<double>(x) * log(static_cast<double>(x)); }
  std::vector<double> table_;
};

class Window {
 public:
  Window(std::size_t n_classes, std::uint64_t n_pairs, std::size_t n_threads)
      : size_(n_classes + 1), h_(n_pairs), counts_(2 * size_ * size_), s_(size_ * size_), loss_(size_ * size_, kFar),
        left_(size_), right_(size_), best_(size_, 0), active_(size_, 0), n_threads_(n_threads) {}

  static constexpr double kFar = std::numeric_limits<double>::infinity();
  static constexpr std::size_t kWorthThreads = 200'000;  // sums, about a tenth of a millisecond

  // Adds a class in a free slot; `after` and `before` are its counts with the existing classes [size], including itself.
  void add(std::size_t s, const std::vector<Count>& after, const std::vector<Count>& before) {
    left_[s] = right_[s] = after[s];
    for_others(s, [&](std::size_t a) {
      left_[s] += after[a], right_[a] += after[a];
      right_[s] += before[a], left_[a] += before[a];
    });
    add_to_others(s, before);
    add_to_others(s, after);
    active_[s] = 1;
    for (std::size_t c = 0; c < size_; ++c) {
      row(s)[c] = row(c)[size_ + s] = after[c];
      row(s)[size_ + c] = row(c)[s] = before[c];
    }
    row(s)[s] = row(s)[size_ + s] = after[s];
    find_places(row(s));
    each_other(s, places_.size(), [&](std::size_t a) {
      double sum = 0;
      for (std::size_t c : places_) sum += term(row(s)[c], row(a)[c]);
      s_[s * size_ + a] = s_[a * size_ + s] = sum;
    });
    for_others(s, [&](std::size_t a) {  // row and column sums have changed
      if (after[a] || before[a]) renew_losses(a);
    });
    renew(s);
  }

  // The pair with the smallest loss; ties: the first.
  std::pair<std::size_t, std::size_t> cheapest() const {
    std::size_t a = size_;
    for (std::size_t i = 0; i < size_; ++i)
      if (active_[i] && (a == size_ || at(i, best_[i]) < at(a, best_[a]))) a = i;
    const std::size_t b = best_[a];
    return {std::min(a, b), std::max(a, b)};
  }

  // Merges class j into class i.
  void merge(std::size_t i, std::size_t j) {
    for (const std::size_t half : {std::size_t{0}, size_}) {
      join_columns(i, j, half);
      for (std::size_t a = 0; a < size_; ++a) row(a)[half + i] += std::exchange(row(a)[half + j], 0);
    }
    join_rows(i, j);
    left_[i] += left_[j], right_[i] += right_[j];
    active_[j] = 0;
    for (std::size_t a = 0; a < size_; ++a) {
      loss_[a * size_ + j] = loss_[j * size_ + a] = kFar;
      if (active_[a] && best_[a] == j) mark(a);
    }
    renew(i);
  }

 private:
  double at(std::size_t a, std::size_t b) const { return loss_[a * size_ + b]; }
  Count* row(std::size_t a) { return counts_.data() + 2 * a * size_; }
  template <class Visit>
  void for_others(std::size_t s, Visit visit) {
    for (std::size_t a = 0; a < size_; ++a)
      if (a != s && active_[a]) visit(a);
  }
  double term(std::uint64_t x, std::uint64_t y) const { return x && y ? h_(x) + h_(y) - h_(x + y) : 0; }

  // The nonzero columns of a row.
  void find_places(const Count* row) {
    places_.clear();
    for (std::size_t c = 0; c < 2 * size_; ++c)
      if (row[c]) places_.push_back(c);
  }

  // Runs visit for all other classes independently, on several threads if it pays off.
  template <class Visit>
  void each_other(std::size_t s, std::size_t cost, Visit visit) {
    const std::size_t n_threads = cost * size_ > kWorthThreads ? n_threads_ : 1;
    parallel_blocks(
        size_, 64, n_threads, [] { return 0; },
        [&](int, std::size_t first, std::size_t last) {
          for (std::size_t a = first; a < last; ++a)
            if (a != s && active_[a]) visit(a);
        });
  }

  // A new column: updates pairs of rows that both have it.
  void add_to_others(std::size_t s, const std::vector<Count>& column) {
    some_.clear();
    for (std::size_t a = 0; a < size_; ++a)
      if (a != s && active_[a] && column[a]) some_.push_back(a);
    for (std::size_t x = 0; x < some_.size(); ++x)
      for (std::size_t y = x + 1; y < some_.size(); ++y) change(some_[x], some_[y], term(column[some_[x]], column[some_[y]]));
  }

  // Merges columns i and j of a half: pairs of a row with j and a row with i or j change.
  void join_columns(std::size_t i, std::size_t j, std::size_t half) {
    some_.clear(), others_.clear();
    for (std::size_t a = 0; a < size_; ++a) {
      if (!active_[a] || a == i || a == j) continue;
      if (row(a)[half + j]) some_.push_back(a);
      else if (row(a)[half + i]) others_.push_back(a);
    }
    const auto difference = [&](std::size_t a, std::size_t b) {
      const Count ai = row(a)[half + i], aj = row(a)[half + j], bi = row(b)[half + i], bj = row(b)[half + j];
      return term(ai + aj, bi + bj) - term(ai, bi) - term(aj, bj);
    };
    for (std::size_t x = 0; x < some_.size(); ++x) {
      for (std::size_t y = x + 1; y < some_.size(); ++y) change(some_[x], some_[y], difference(some_[x], some_[y]));
      for (std::size_t b : others_) change(some_[x], b, difference(some_[x], b));
    }
    for_others(i, [&](std::size_t b) {  // row i itself; row j is no longer needed
      if (b != j) s_[i * size_ + b] = s_[b * size_ + i] += difference(i, b);
    });
  }

  // Merges rows i and j into row i: updates S(i, a) by the nonzero columns of row j.
  void join_rows(std::size_t i, std::size_t j) {
    Count *x = row(i), *y = row(j);
    find_places(y);
    each_other(i, places_.size(), [&](std::size_t a) {
      if (a == j) return;
      const Count* z = row(a);
      double sum = 0;
      for (std::size_t c : places_) sum += term(x[c] + y[c], z[c]) - term(x[c], z[c]);
      s_[i * size_ + a] = s_[a * size_ + i] += sum;
    });
    for (std::size_t c : places_) x[c] += std::exchange(y[c], 0);
  }

  // Updates S of a pair.
  void change(std::size_t a, std::size_t b, double by) {
    if (by == 0) return;
    s_[a * size_ + b] = s_[b * size_ + a] += by;
    renew_loss(a, b);
  }
  // Recomputes the loss of a pair, and the cheapest partner of both.
  void renew_loss(std::size_t a, std::size_t b) {
    const double now = loss_[a * size_ + b] = loss_[b * size_ + a] = loss_of(a, b);
    for (auto [one, other] : {std::pair{a, b}, std::pair{b, a}}) {
      if (best_[one] == other) mark(one);
      else if (now < at(one, best_[one]) || (now == at(one, best_[one]) && other < best_[one])) best_[one] = other;
    }
  }
  void mark(std::size_t a) {
    if (changed_.size() != size_) changed_.assign(size_, 0);
    changed_[a] = 1;
  }

  double loss_of(std::size_t a, std::size_t b) {
    const std::uint64_t aa = row(a)[a], ab = row(a)[b], ba = row(b)[a], bb = row(b)[b];
    const double four = h_(aa) + h_(ab) + h_(ba) + h_(bb);
    const double corner = h_(aa + ba) + h_(ab + bb) + h_(aa + ab) + h_(ba + bb) - four - h_(aa + ab + ba + bb);
    const double ends = h_(left_[a]) + h_(left_[b]) - h_(left_[a] + left_[b]) + h_(right_[a]) + h_(right_[b]) -
                        h_(right_[a] + right_[b]);
    return s_[a * size_ + b] + corner - ends;
  }

  void renew_losses(std::size_t s) {
    mark(s);
    for_others(s, [&](std::size_t a) { renew_loss(s, a); });
  }
  void renew(std::size_t s) {
    renew_losses(s);
    for (std::size_t a = 0; a < changed_.size(); ++a) {
      if (!changed_[a] || !active_[a]) continue;
      best_[a] = a;
      for_others(a, [&](std::size_t c) {
        if (best_[a] == a || at(a, c) < at(a, best_[a])) best_[a] = c;
      });
    }
    changed_.assign(size_, 0);
  }

  const std::size_t size_;
  const Entropy h_;
  std::vector<Count> counts_;     // [size, 2, size] of each class before all others, and after them
  std::vector<double> s_, loss_;  // [size, size]
  std::vector<std::uint64_t> left_, right_;
  std::vector<std::size_t> best_;  // [size] the cheapest partner of each class
  std::vector<std::uint8_t> active_, changed_;
  std::vector<std::size_t> some_, others_, places_;
  std::size_t n_threads_;
};

}  // namespace

BrownClusters brown_clusters(std::span<const std::int32_t> tokens, std::span<const std::int64_t> starts, std::size_t n_words,
                             std::size_t n_classes, std::size_t n_threads, const std::function<void(std::size_t)>& told) {
  Groups<std::int32_t> after, before;  // [n_words] the next and the previous words of all tokens of a word
  const auto each_pair = [&](auto visit) {
    for (std::size_t s = 0; s + 1 < starts.size(); ++s)
      for (std::int64_t t = starts[s] + 1; t < starts[s + 1]; ++t) visit(tokens[t - 1], tokens[t]);
  };
  after.sort(n_words, each_pair);
  before.sort(n_words, [&](auto visit) { each_pair([&](std::int32_t first, std::int32_t second) { visit(second, first); }); });

  n_classes = std::min(n_classes, n_words);
  Window window(n_classes, 4 * after.items.size() + 4, n_threads);
  std::vector<std::int32_t> slot_of(n_words, -1);
  std::vector<std::vector<std::int32_t>> members(n_classes + 1);
  std::vector<std::size_t> free;
  for (std::size_t s = n_classes + 1; s-- > 0;) free.push_back(s);
  std::vector<Count> row(n_classes + 1), column(n_classes + 1);
  const auto merge = [&](std::size_t i, std::size_t j) {
    window.merge(i, j);
    for (std::int32_t w : members[j]) slot_of[w] = static_cast<std::int32_t>(i);
    members[i].insert(members[i].end(), members[j].begin(), members[j].end());
    members[j].clear();
    free.push_back(j);
  };
  for (std::size_t w = 0; w < n_words; ++w) {
    if (w % 256 == 0) told(w);
    const std::size_t s = free.back();
    free.pop_back();
    slot_of[w] = static_cast<std::int32_t>(s);
    members[s] = {static_cast<std::int32_t>(w)};
    std::fill(row.begin(), row.end(), 0), std::fill(column.begin(), column.end(), 0);
    for (const std::int32_t word : after[w])
      if (const std::int32_t c = slot_of[word]; c >= 0) ++row[c];
    for (const std::int32_t word : before[w])
      if (const std::int32_t c = slot_of[word]; c >= 0) ++column[c];
    window.add(s, row, column);
    if (free.empty()) {
      const auto [i, j] = window.cheapest();
      merge(i, j);
    }
  }

  // The classes, and the later merges.
  BrownClusters out;
  std::vector<std::int32_t> number(n_classes + 1, -1);
  std::int32_t n = 0;
  for (const std::int32_t slot : slot_of) {
    if (number[slot] < 0) number[slot] = n++;
    out.class_of.push_back(number[slot]);
  }
  for (std::int32_t left = n; left > 1; --left) {
    const auto [i, j] = window.cheapest();
    out.merges.emplace_back(number[i], number[j]);
    window.merge(i, j);
  }
  return out;
}

}  // namespace trellis
