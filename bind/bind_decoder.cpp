// The tagger's runtime: converts Python sentences, registers word types, decodes batches.
#include "attributes.hpp"
#include "tagger_model.hpp"

using namespace trellis;

RECORD(TokenNgrams<float>, starts, numbers, scores)

namespace {

[[noreturn]] void refuse(nb::handle token, const std::string& wanted) {
  throw nb::type_error(("a token is " + kind_of(token) + "; this model reads " + wanted).c_str());
}

Items tokens_of(nb::handle sentence) {
  if (!is_list(sentence.ptr()) && !is_tuple(sentence.ptr()))
    throw nb::type_error(("a sentence must be a list, not " + kind_of(sentence)).c_str());
  return Items(sentence.ptr());
}

struct PyDecoder {
  Features features;
  std::shared_ptr<Weights> weights;
  std::optional<FilterArrays> filter;
  std::vector<nb::object> labels;  // Python strings, reused for all results
  std::string wanted;
  std::size_t cache_bytes;
  ARGUMENTS(features, weights, filter, labels, wanted, cache_bytes)
  std::optional<Decoder> core;
  RecentAttributes recent;  // under the GIL

  void begin() {
    core.emplace(features.model(*weights, filter), cache_bytes);
    require(labels.size() == weights->n_labels(), "there must be one name per label");
  }

  bool has_bag() const { return features.bag.has_value(); }

  // Waiting for the lock releases the GIL: the holder of the lock may need it.
  std::unique_lock<std::mutex> locked() {
    std::unique_lock<std::mutex> lock = core->try_lock();
    if (!lock.owns_lock()) {
      const WithoutGil released;
      lock.lock();
    }
    return lock;
  }

  void add_attribute(Batch& batch, std::int32_t string, float value) const {
    const auto [id, pair] = core->bag_attributes(string);
    if (id >= 0 && value != 0) batch.bag.add(id, value);
    if (pair >= 0 && value != 0) batch.pair_bag.add(pair, value);
  }

  // The fields of a token; with a single input column, the string itself.
  TRELLIS_INLINE Items fields_of(PyObject* token) const {
    if (!has_bag() && core->n_given() == 1 && is_string(token)) return Items::only(token);
    if (!is_list(token) && !is_tuple(token)) refuse(token, wanted);
    const Items fields(token);
    if (fields.size() != core->n_given() + has_bag())
      throw nb::value_error(
          ("a token has " + std::to_string(fields.size()) + " values; this model reads " + wanted).c_str());
    return fields;
  }

  // Sentences as a batch. Attributes are read before taking the lock, as reading them may run Python code; strings
  // under the lock, which runs none. A model with both copies sentences before Python code may run: they must
  // not change in between.
  Batch encode_all(std::span<nb::object> sentences, std::size_t n_threads) {
    Batch bags;
    TokenAttributes attributes(core->bag(), recent);
    bool is_copied = !has_bag();
    const auto copy = [&] {
      if (!std::exchange(is_copied, true))
        for (nb::object& sentence : sentences)
          if (PyList_Check(sentence.ptr())) sentence = nb::tuple(sentence);
    };
    if (core->n_given() > 0) copy();
    for (std::size_t s = 0; has_bag() && s < sentences.size(); ++s) {
      for (std::size_t t = 0; t < tokens_of(sentences[s]).size(); ++t) {
        PyObject* const item = tokens_of(sentences[s])[t];
        const nb::object token = nb::borrow(core->n_given() == 0 ? item : fields_of(item)[core->n_given()]);
        each_attribute(token, [&](const AttributeName& name, float value) { attributes.add(name, value); }, copy);
        attributes.end_token([&](std::int32_t id, float value) { add_attribute(bags, id, value); });
        bags.bag.end_token(), bags.pair_bag.end_token();
      }
      bags.starts.push_back(static_cast<std::int64_t>(bags.bag.starts.size()) - 1);
    }
    auto lock = locked();
    Batch batch = core->begin();
    batch.bag = std::move(bags.bag);
    batch.pair_bag = std::move(bags.pair_bag);
    if (has_bag() && core->n_given() == 0) batch.starts = std::move(bags.starts), sentences = {};
    for (const nb::object& sentence : sentences) {
      const Items tokens = tokens_of(sentence);
      for (std::size_t t = 0; t < tokens.size() && core->n_given() > 0; ++t) {
        PyObject* const token = tokens[t];
        const Items fields = fields_of(token);
        for (std::size_t c = 0; c < core->n_given(); ++c) {
          PyObject* const field = fields[c];
          if (!is_string(field)) refuse(field, wanted);
          batch.codes[c].push_back(core->type_of(batch, c, utf8(field)));
        }
      }
      batch.starts.push_back(batch.starts.back() + static_cast<std::int64_t>(tokens.size()));
    }
    finish(batch, n_threads);
    return batch;
  }

  // Under the lock. With many new words, other Python threads may run meanwhile.
  void finish(Batch& batch, std::size_t n_threads) {
    constexpr std::size_t kMany = 256;
    if (core->n_new(batch) < kMany) return core->finish(batch, 1);
    const WithoutGil released;
    core->finish(batch, n_threads);
  }

  Batch encode(std::vector<nb::object> sentences, std::size_t n_threads) { return encode_all(sentences, n_threads); }

  // Labels of one sentence; its batch if views of a word must be computed first, or if it has no path.
  std::variant<nb::list, Batch> tag_one(nb::handle sentence) {
    nb::object one = nb::borrow(sentence);
    Batch batch = encode_all({&one, 1}, 1);
    if (!batch.undefined.empty()) return batch;
    const std::size_t n = batch.starts.back();
    std::vector<std::int32_t> path(n);
    if (!core->decode(batch, 1, path.data())) return batch;
    return strings_of(path.data(), n);
  }

  nb::list strings_of(const std::int32_t* path, std::size_t n) const {
    PyObject* out = PyList_New(static_cast<Py_ssize_t>(n));
    if (!out) throw nb::python_error();
    for (std::size_t t = 0; t < n; ++t) PyList_SET_ITEM(out, static_cast<Py_ssize_t>(t), Py_NewRef(labels[path[t]].ptr()));
    return nb::steal<nb::list>(out);
  }

  struct CorpusBag : ListArrays {  // numbers of names
    PackedStrings names;
    FIELDS(starts, ids, values, names)

    void begin() const {
      require(ids.size() == values.size(), "there must be one value per attribute");
      lists_from(*this, names.size(), n_tokens_of(*this));
    }
  };
  Batch encode_corpus(const std::vector<ColumnOfStrings>& columns, const std::optional<CorpusBag>& bag, const Longs& starts,
                      std::size_t n_threads) {
    require(columns.size() == core->n_given() && bag.has_value() == has_bag(), "the columns differ from those of the model");
    const std::size_t n_tokens = check_sentences(starts);
    auto lock = locked();
    Batch batch = core->begin();
    batch.starts.assign(starts.begin(), starts.end());
    for (std::size_t c = 0; c < columns.size(); ++c) {
      const auto& [codes, values] = columns[c];
      require(codes.size() == n_tokens, "a column and the corpus have different lengths");
      std::vector<std::int32_t> type_of(values.size(), -1);  // looks up each distinct value once
      for (std::int32_t code : codes) {
        std::int32_t& type = type_of[static_cast<std::size_t>(code)];
        if (type < 0) type = core->type_of(batch, c, values[static_cast<std::size_t>(code)]);
        batch.codes[c].push_back(type);
      }
    }
    if (bag) {
      require(n_tokens_of(*bag) == n_tokens, "attributes do not match the corpus");
      std::vector<std::int32_t> id_of;  // looks up each distinct name once
      for (std::size_t i = 0; i < bag->names.size(); ++i) id_of.push_back(core->bag().lookup(bag->names[i]));
      for (std::size_t t = 0; t < n_tokens; ++t) {
        for (std::int64_t i = bag->starts(t); i < bag->starts(t + 1); ++i)
          add_attribute(batch, id_of[static_cast<std::size_t>(bag->ids(i))], bag->values(i));
        batch.bag.end_token(), batch.pair_bag.end_token();
      }
    }
    finish(batch, n_threads);
    return batch;
  }

  // The views of the undefined words of a batch, in order: strings, or None.
  void define(Batch& batch, const std::vector<std::vector<std::optional<std::string>>>& said) {
    check_batch(batch);
    require(said.size() == batch.undefined.size(), "there must be one list of strings per undefined word");
    for (std::size_t i = 0; i < said.size(); ++i)
      require(said[i].size() == (*batch.lexicons)[batch.undefined[i].first]->n_views(), "there must be one string or None per view");
    auto lock = locked();
    for (std::size_t i = 0; i < said.size(); ++i) {
      std::vector<std::string_view> views;
      for (const auto& text : said[i]) views.push_back(text ? std::string_view(*text) : std::string_view());
      core->define(batch, batch.undefined[i].first, batch.undefined[i].second, views);
    }
  }

  void check_batch(const Batch& batch) const { require(batch.decoder == core->number(), "the batch belongs to another decoder"); }
  void check_defined(const Batch& batch) const {
    check_batch(batch);
    for (auto [column, type] : batch.undefined)
      require((*batch.lexicons)[column]->defined(type), "the views of a word type are not defined");
  }

  std::optional<std::vector<std::int32_t>> paths(const Batch& batch, std::size_t n_threads) const {
    check_defined(batch);
    std::vector<std::int32_t> out(batch.starts.back());
    const WithoutGil released;
    if (!core->decode(batch, n_threads, out.data())) return std::nullopt;
    return out;
  }

  std::optional<nb::list> label_lists(const Batch& batch, std::size_t n_threads) const {
    const auto all = paths(batch, n_threads);
    if (!all) return std::nullopt;
    nb::list out;
    for (std::size_t s = 0; s + 1 < batch.starts.size(); ++s)
      out.append(strings_of(all->data() + batch.starts[s], batch.starts[s + 1] - batch.starts[s]));
    return out;
  }

  std::tuple<Numpy<float>, Numpy<float>, std::optional<TokenNgrams<float>>> potentials(const Batch& batch, bool open,
                                                                                       std::size_t n_threads) const {
    check_defined(batch);
    const std::size_t n = batch.starts.back(), rows = core->labels().n_labels + 1, stride = core->labels().stride;
    std::vector<float> emit(n * stride), edges(core->edges_by_token() ? n * rows * stride : 0);
    TokenNgrams<float> ngrams;
    without_gil([&] {
      core->potentials(batch, open, n_threads, emit.data(), core->edges_by_token() ? edges.data() : nullptr, ngrams);
    });
    if (!are_scores(emit.data(), n, rows - 1, stride) || !are_scores(edges.data(), edges.size() / stride, rows - 1, stride) ||
        !are_scores(ngrams.scores.data(), 1, ngrams.scores.size(), 0))
      throw std::overflow_error("the weights of the model give scores that are not finite; train it again");
    const std::size_t n_edges = edges.size() / (rows * stride);
    return {to_numpy(std::move(emit), {n, stride}), to_numpy(std::move(edges), {n_edges, rows, stride}),
            core->ngrams_by_token() ? std::optional(std::move(ngrams)) : std::nullopt};
  }
};

}  // namespace

void bind_decoder(nb::module_& module) {
  nb::class_<Batch>(module, "Batch", "Sentences as codes of word types.")
      .def_prop_ro("starts", [](const Batch& batch) { return batch.starts; })
      .def_prop_ro("words", [](const Batch& batch) { return batch.codes.empty() ? std::vector<std::int32_t>() : batch.codes[0]; },
                   "The number of each token's string in the first column, if there is one.")
      .def_prop_ro("undefined", [](const Batch& batch) {
        std::vector<std::pair<std::int32_t, std::string>> out;
        for (auto [column, type] : batch.undefined)
          out.emplace_back(column, std::string((*batch.lexicons)[column]->name(type)));
        return out;
      }, "(column, string) of words whose views must be defined before decoding.");
  bind_class<PyDecoder>(module, "Decoder", "A model ready to tag.")
      .def("tag_one", &PyDecoder::tag_one, "sentence"_a.none(),
           nb::sig("def tag_one(self, sentence: object) -> list[str] | Batch"))
      .def("encode", &PyDecoder::encode, "sentences"_a, "n_threads"_a,
           nb::sig("def encode(self, sentences: list[object], n_threads: int) -> Batch"))
      .def("encode_corpus", &PyDecoder::encode_corpus, "columns"_a, "bag"_a.none(), "starts"_a, "n_threads"_a)
      .def("define", &PyDecoder::define, "batch"_a, "said"_a)
      .def("decode", &PyDecoder::paths, "batch"_a, "n_threads"_a,
           "The best path of every sentence, one label per token; None if a sentence has none.")
      .def("labels", &PyDecoder::label_lists, "batch"_a, "n_threads"_a,
           nb::sig("def labels(self, batch: Batch, n_threads: int) -> list[list[str]] | None"),
           "The best path of every sentence as lists of strings; None if a sentence has none.")
      .def("potentials", &PyDecoder::potentials, "batch"_a, "open"_a, "n_threads"_a,
           "(emit [n_tokens, stride], edge [n_tokens, n_labels + 1, stride] or empty, what n-grams have at single tokens\n"
           "or None). open: a local model normalises over all labels, not over those of the tag dictionary.")
      .def("attribute_lists", [](const PyDecoder& self, const Batch& batch, bool on_edge) {
        self.check_defined(batch);
        return self.core->attribute_lists(batch, on_edge);
      }, "batch"_a, "on_edge"_a, "What stands at each token, as Encoded takes it.")
      .def("set_of", [](const PyDecoder& self, const Batch& batch) {
        self.check_defined(batch);
        std::vector<std::int32_t> out(batch.starts.back());
        for (std::size_t t = 0; t < out.size(); ++t) out[t] = self.core->set_of(batch, t);
        return out;
      }, "batch"_a, "The label set of every token by the tag dictionary, -1 without one.")
      .def("candidates", [](const PyDecoder& self, const Batch& batch, std::size_t n_threads) {
        self.check_defined(batch);
        require(self.core->has_filter(), "the model has no filter");
        return without_gil([&] { return self.core->candidates(batch, n_threads); });
      }, "batch"_a, "n_threads"_a, "The labels that the filter leaves each token.");
}
