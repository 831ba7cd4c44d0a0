#include "learn/objective.hpp"

#include <algorithm>
#include <atomic>

#include "weights/attribute_sums.hpp"
#include "parallel.hpp"

namespace trellis {
namespace {

#define TRELLIS_INSTANCES(Real)                                                                                             \
  TRELLIS_CLONES void step_on(AdaGradPass<Real>& steps, std::size_t s, const Real* residual, std::size_t part,              \
                              std::size_t n_parts) {                                                                        \
    steps.step(s, residual, part, n_parts);                                                                                 \
  }                                                                                                                         \
  TRELLIS_CLONES void step_edges_on(AdaGradPass<Real>& steps, const std::int64_t* sentences, std::size_t n, Piece& piece) { \
    steps.step_edges(sentences, n, piece);                                                                                  \
  }                                                                                                                         \
  TRELLIS_CLONES void sum_piece(const AttributeSums<Real>& sums, std::size_t block, std::size_t piece,                      \
                                const Real* residual, double* row, const FixedPoint& fixed, std::int64_t* gradient) {      \
    sums.sum(block, piece, residual, row, fixed, gradient);                                                                 \
  }
TRELLIS_FOR_REALS(TRELLIS_INSTANCES)
#undef TRELLIS_INSTANCES

// The features of a token: at most all its attributes, its edge attributes, and those of the segments that begin there.
std::vector<double> masses_of(const Examples& examples) {
  const ChainData& data = examples.data;
  std::vector<double> masses;
  const auto add = [&](const Sites& at, std::size_t per_token) {
    for (std::size_t i = 0; i < examples.n_sentences && at.starts; ++i)
      for (std::int64_t k = at.starts[examples.starts[i] * per_token]; k < at.starts[examples.starts[i + 1] * per_token]; ++k)
        masses[i] += std::abs(at.value(k));
  };
  for (std::size_t i = 0; i < examples.n_sentences; ++i) masses.push_back(examples.starts[i + 1] - examples.starts[i]);
  add(data.attributes, 1);
  add(data.edge_attributes, 1);
  if (data.segments) add(data.segments->attributes, data.segments->rules->longest);
  return masses;
}

template <class Real>
class ChainObjective final : public Objective {
 public:
  ChainObjective(const Layout& layout, const Examples& examples, bool local, std::size_t first_token, std::size_t block)
      : Objective(masses_of(examples)), layout_(layout), data_(examples.data), starts_(examples.starts),
        n_sentences_(examples.n_sentences), first_token_(first_token), block_(block), stride_(padded(layout.n_columns())),
        sentences_(layout, examples, local) {}

  void evaluate(const double* parameters, const double* weights, std::size_t n_threads, double* losses,
                const FixedPoint& fixed, std::int64_t* gradient) override {
    sentences_.set(parameters);
    if (!gradient)
      return parallel_blocks(n_sentences_, 16, n_threads, [] { return Scratch{}; },
                             [&](Scratch& scratch, std::size_t first, std::size_t last) {
        for (std::size_t s = first; s < last; ++s) losses[s] = sentences_.run(s, 1.0, scratch, nullptr);
      });
    if (!sums_) index();
    make_buffers(n_threads);
    std::fill_n(gradient, layout_.n_parameters(), 0);
    struct State {
      Scratch scratch;
      std::vector<double> row;
    };
    const std::size_t ahead = n_threads > 1 ? buffers_.size() : 1;
    parallel_steps(
        sums_->n_blocks(), ahead, n_threads, [&] { return State{{}, std::vector<double>(stride_)}; }, n_pieces_,
        [&](std::size_t b) { return sums_->n_pieces(b) + 1; },
        [&](State& state, std::size_t b, std::size_t k) {
          run_piece(b, k, weights, state.scratch, buffers_[b % ahead], losses);
        },
        [&](State& state, std::size_t b, std::size_t k) {
          const Buffer& buffer = buffers_[b % ahead];
          if (k == 0) add_pieces(buffer, fixed, gradient);
          else sum_piece(*sums_, b, k - 1, buffer.residual.data(), state.row.data(), fixed, gradient);
        });
  }

  // A batch has two phases: its sentences are run in blocks of a few, then parts of the attributes are updated, and
  // in parallel the label pairs and triples by the sums of all blocks.
  void pass(const AdaGrad& rule, std::size_t head, const std::int64_t* order, std::size_t n, const double* weights,
            std::size_t n_threads, double* parameters, double* squares, double* losses) override {
    constexpr std::size_t kBlock = 4;         // sentences
    constexpr std::size_t kMostThreads = 16;  // each scans all attributes of a batch for those of its part
    sentences_.set(parameters);
    if (!shares_ || head_ != head) shares_ = std::make_unique<Shares>(layout_, data_, starts_[head]), head_ = head;
    const std::size_t n_batches = (head + rule.batch - 1) / rule.batch;
    AdaGradPass<Real> steps(rule, layout_, data_, starts_, n_batches, *shares_, sentences_, parameters, squares);
    struct Block {
      Scratch scratch;
      Piece piece;
      std::vector<Real> residual;  // [tokens, stride]
    };
    std::vector<Block> blocks((std::min(rule.batch, std::max<std::size_t>(n, 1)) + kBlock - 1) / kBlock);
    for (Block& block : blocks) block.piece.slots.assign(sentences_.n_slots(), 0);
    const std::int64_t* batch = order;
    n_threads = std::clamp<std::size_t>(n_threads, 1, kMostThreads);
    std::size_t size = 0;
    const std::size_t n_parts = rule.batch > 1 ? n_threads : 1;
    // Calls visit(s, first) for the sentences of block b, whose residuals begin at `first`.
    const auto each_sentence = [&](std::size_t b, auto visit) {
      std::size_t first = 0;
      for (std::size_t i = b * kBlock; i < std::min(size, (b + 1) * kBlock); ++i) {
        visit(static_cast<std::size_t>(batch[i]), first);
        first += (starts_[batch[i] + 1] - starts_[batch[i]]) * stride_;
      }
    };
    const auto run_block = [&](std::size_t b) {
      Block& block = blocks[b];
      std::size_t last = 0;
      each_sentence(b, [&](std::size_t s, std::size_t first) { last = first + (starts_[s + 1] - starts_[s]) * stride_; });
      block.residual.resize(std::max(block.residual.size(), last));
      sentences_.begin_piece(block.scratch, block.piece);
      each_sentence(b, [&](std::size_t s, std::size_t first) {
        losses[s] = sentences_.run(s, weights ? weights[s] : 1.0, block.scratch, block.residual.data() + first);
      });
      sentences_.end_piece(block.scratch);
    };
    const auto step_part = [&](std::size_t part) {
      if (part < n_parts) {
        for (std::size_t b = 0; b * kBlock < size; ++b)
          each_sentence(b, [&](std::size_t s, std::size_t first) {
            step_on(steps, s, blocks[b].residual.data() + first, part, n_parts);
          });
        return;
      }
      for (std::size_t b = 1; b * kBlock < size; ++b) add_piece(blocks[b].piece, blocks[0].piece);
      step_edges_on(steps, batch, size, blocks[0].piece);
    };
    bool stepping = false;
    Rounds::run(rule.batch > 1 ? n_threads : 1, [&](std::size_t i) { stepping ? step_part(i) : run_block(i); }, [&](auto each) {
      for (std::size_t first = 0; first < n; first += rule.batch) {
        batch = order + first, size = std::min(rule.batch, n - first);
        stepping = false;
        each((size + kBlock - 1) / kBlock);
        stepping = true;
        each(n_parts + 1);
      }
    });
    steps.finish();
  }

 private:
  using Scratch = typename SentenceSums<Real>::Scratch;

  // The results of a block of sentences for the second phase.
  struct Buffer {
    std::vector<Real> residual;  // [tokens of a block, stride]
    std::vector<Piece> pieces;   // [n_pieces]
  };

  // Blocks, and the number of pieces in each that fits in memory. Neither depends on threads.
  void index() {
    constexpr std::size_t kRoom = 256 << 20;
    const std::size_t most_pieces = data_.segments ? 16 : 64;
    sums_ = std::make_unique<AttributeSums<Real>>(layout_, data_.attributes, starts_, n_sentences_, first_token_, block_,
                                                  SentenceSums<Real>::lists(layout_, data_), data_.spill);
    for (std::size_t b = 0; b < sums_->n_blocks(); ++b) {
      const std::int64_t tokens = starts_[sums_->first_example(b + 1)] - starts_[sums_->first_example(b)];
      block_tokens_ = std::max(block_tokens_, static_cast<std::size_t>(tokens));
    }
    n_pieces_ = std::clamp<std::size_t>(kRoom / (2 * sizeof(double) * (sentences_.cells() + 1)), 2, most_pieces);
  }

  // A second buffer for threads that run ahead, unless it would be large.
  void make_buffers(std::size_t n_threads) {
    constexpr std::size_t kRoom = 32 << 20;
    const bool two = n_threads > 1 && sums_->n_blocks() > 1 && n_pieces_ * sentences_.cells() * sizeof(double) < kRoom;
    while (buffers_.size() < (two ? 2 : 1))
      buffers_.push_back({std::vector<Real>(block_tokens_ * stride_), std::vector<Piece>(n_pieces_)});
  }

  // The sentences of piece k of a block.
  void run_piece(std::size_t block, std::size_t k, const double* weights, Scratch& w, Buffer& buffer, double* losses) {
    const std::size_t begin = sums_->first_example(block), n = sums_->first_example(block + 1) - begin;
    const std::size_t first = begin + n * k / n_pieces_, last = begin + n * (k + 1) / n_pieces_;
    Piece& piece = buffer.pieces[k];
    sentences_.begin_piece(w, piece);
    piece.slots.assign(sentences_.n_slots(), 0);
    for (std::size_t s = first; s < last; ++s)
      losses[s] = sentences_.run(s, weights ? weights[s] : 1.0, w,
                                 buffer.residual.data() + (starts_[s] - starts_[begin]) * stride_);
    sentences_.end_piece(w);
  }

  // Adds one piece to another, and resets its slots to zero.
  static void add_piece(Piece& from, Piece& to) {
    const auto add = [](const std::vector<double>& a, std::vector<double>& b) {
      for (std::size_t i = 0; i < a.size(); ++i) b[i] += a[i];
    };
    add(from.pairs, to.pairs), add(from.triples, to.triples), add(from.slots, to.slots);
    std::fill(from.slots.begin(), from.slots.end(), 0.0);
  }

  void add_pieces(const Buffer& buffer, const FixedPoint& fixed, std::int64_t* gradient) const {
    std::int64_t* pairs = gradient + layout_.row_labels.size() + sentences_.n_edge_slots();
    std::int64_t* triples = pairs + layout_.edge_places.size();
    for (const Piece& piece : buffer.pieces) {
      for (std::size_t s = 0; s < sentences_.n_slots(); ++s) fixed.add(gradient[sentences_.parameter_of(s)], piece.slots[s]);
      for (std::size_t i = 0; i < layout_.edge_places.size(); ++i) fixed.add(pairs[i], piece.pairs[sentences_.pair_place(i)]);
      for (std::size_t i = 0; i < layout_.tri_places.size(); ++i) fixed.add(triples[i], piece.triples[layout_.tri_places[i]]);
    }
  }

  const Layout layout_;
  const ChainData& data_;
  const std::int64_t* starts_;
  const std::size_t n_sentences_, first_token_, block_, stride_;
  SentenceSums<Real> sentences_;
  std::unique_ptr<AttributeSums<Real>> sums_;  // created by the first gradient
  std::unique_ptr<Shares> shares_;             // of the first head_ sentences, created by a pass over them
  std::size_t n_pieces_ = 0, block_tokens_ = 0, head_ = 0;  // of each block; of the longest
  std::vector<Buffer> buffers_;                // one, or two for block and next block
};

}  // namespace

std::unique_ptr<Objective> make_objective(const Layout& layout, const Examples& examples, bool local, bool single,
                                          std::size_t first_token, std::size_t block) {
  if (single) return std::make_unique<ChainObjective<float>>(layout, examples, local, first_token, block);
  return std::make_unique<ChainObjective<double>>(layout, examples, local, first_token, block);
}

}  // namespace trellis
