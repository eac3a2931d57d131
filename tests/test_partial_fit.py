"""Further comparisons, new objects among them, on a map that exists."""

from __future__ import annotations

import numpy as np
import pytest

from nearer import Comparisons, OrdinalEmbedding
from nearer.datasets import make_comparisons, make_points
from nearer.warning_types import InputWarning


def _table(names):
    return dict(zip(("anchor", "near", "far"), names.T))


def test_ends_within_a_hundredth_of_a_fit_from_scratch():
    data = make_comparisons(make_points(40, 2, random_state=0), 4000, 4000, noise=0.1, random_state=0)
    online = OrdinalEmbedding(2, random_state=0)
    for part in range(4):
        online.partial_fit(data.train[1000 * part : 1000 * (part + 1)])
    scratch = OrdinalEmbedding(2, random_state=0).fit(data.train)
    assert online.score(data.test) >= scratch.score(data.test) - 0.01
    assert online.comparisons_.weights.sum() == 4000


def test_new_objects_join_the_map():
    P = make_points(40, 2, random_state=1)
    data = make_comparisons(P, 4000, 2000, noise=0.1, random_state=1)
    old = (data.train.index < 30).all(axis=1)
    est = OrdinalEmbedding(2, random_state=0).fit(data.train.index[old])
    assert est.n_objects_ == 30
    est.partial_fit(data.train.index[~old])
    assert est.embedding_.shape == (40, 2)
    assert np.isfinite(est.embedding_).all()
    scratch = OrdinalEmbedding(2, random_state=0).fit(data.train)
    assert est.score(data.test) >= scratch.score(data.test) - 0.01


def test_the_map_starts_where_it_was():
    data = make_comparisons(make_points(20, 2, random_state=0), 1500, 10, noise=0.1, random_state=0).train
    est = OrdinalEmbedding(2, loss="ste", random_state=0).fit(data)
    work, map_before = est.result_.n_gradients, est.embedding_
    est.partial_fit(data[:5])
    assert est.result_.n_gradients < work
    assert np.abs(est.embedding_ - map_before).max() < 0.2 * np.std(map_before)


def test_random_starts_compete_once_the_answers_have_doubled():
    data = make_comparisons(make_points(20, 2, random_state=0), 1000, 10, random_state=0).train
    est = OrdinalEmbedding(2, random_state=0).partial_fit(data[:400])  # the same as fit
    assert est.partial_fit(data[400:700]).n_comparisons_at_start_ == 400
    assert est.partial_fit(data[700:]).n_comparisons_at_start_ == 1000


def test_labels_are_matched_and_new_ones_appended():
    labels = [f"o{k:02}" for k in range(20)]
    data = Comparisons.from_points(make_points(20, 2, random_state=0), 800, random_state=0, labels=labels)
    named = data.labels[data.index]
    late = (named == "o05").any(axis=1)
    est = OrdinalEmbedding(2, random_state=0).fit(_table(named[~late]))
    assert "o05" not in est.labels_
    est.partial_fit(_table(named[late]))
    assert est.labels_.tolist() == [*[name for name in labels if name != "o05"], "o05"]
    assert est.score(_table(named)) > 0.9


def test_triplets_may_be_followed_by_quadruplets():
    P = make_points(15, 2, random_state=0)
    est = OrdinalEmbedding(2, random_state=0).fit(Comparisons.from_points(P, 400, random_state=0))
    est.partial_fit(Comparisons.from_points(P, 400, kind="quadruplets", random_state=1))
    assert est.comparisons_.kind == "quadruplets"
    assert est.n_features_in_ == 4
    assert est.comparisons_.weights.sum() == 800
    assert len(est.comparisons_) < 800, "equal ones are merged"


def test_what_does_not_fit_the_map_is_refused():
    data = make_comparisons(make_points(10, 2, random_state=0), 200, 10, random_state=0).train
    est = OrdinalEmbedding(2, random_state=0, n_objects=10).fit(data)
    with pytest.raises(ValueError, match="n_objects: got comparisons over 11, expected 10"):
        est.partial_fit([[10, 1, 2]])
    with pytest.raises(ValueError, match="n_components: got 3, expected 2"):
        est.set_params(n_components=3).partial_fit(data)
    del est.comparisons_
    with pytest.raises(ValueError, match="without its comparisons"):
        est.set_params(n_components=2).partial_fit(data)


def test_objects_tied_to_nothing_still_get_a_start():
    data = make_comparisons(make_points(10, 2, random_state=0), 200, 10, random_state=0).train
    est = OrdinalEmbedding(2, random_state=0).fit(data)
    with pytest.warns(InputWarning, match="none of the objects compared, 3 in all, is on the map"):
        est.partial_fit([[10, 11, 12], [11, 10, 12]])
    assert np.isfinite(est.embedding_).all()
