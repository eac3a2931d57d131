"""`OrdinalEmbedding` as users and scikit-learn meet it."""

from __future__ import annotations

import pickle

import numpy as np
import pandas as pd
import pytest
from sklearn import config_context
from sklearn.base import clone
from sklearn.cluster import KMeans
from sklearn.model_selection import GridSearchCV, KFold, cross_val_score
from sklearn.pipeline import Pipeline, make_pipeline
from sklearn.preprocessing import FunctionTransformer

import oracles
from nearer import CKL, GNMDS, SOE, STE, TSTE, Layout, OrdinalEmbedding, read_comparisons
from nearer.datasets import make_comparisons, make_points
from nearer.io import FileFormatError
from nearer.losses import CKLLoss, TSTELoss
from nearer.metrics import principal_axes, worst_comparisons
from nearer.solvers import LBFGS, SBB, SGD, SVRG
from nearer.warning_types import UnplacedObjectsWarning, UnseenObjectsWarning

LOSSES = oracles.LOSSES


@pytest.fixture(scope="module")
def data():
    return make_comparisons(make_points(20, 2, random_state=0), 1200, 600, random_state=0)


@pytest.fixture(scope="module")
def T(data):
    return np.array(data.train.index)


# ---- the map -------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("loss", LOSSES)
def test_finds_the_map(data, loss):
    est = OrdinalEmbedding(2, loss=loss, n_init=3, random_state=0).fit(data.train)
    floor = 0.9 if loss in ("ckl", "tste") else 0.95  # heavy tails give up a few answers even without noise
    assert est.score(data.train) > floor
    assert est.score(data.test) > floor
    assert est.embedding_.shape == (20, 2)
    assert est.embedding_.dtype == np.float64
    assert est.objective_ == est.result_.objective
    assert est.n_iter_ == est.result_.n_iter == est.history_[-1].epoch
    np.testing.assert_array_equal(est.embedding_, principal_axes(est.result_.embedding))
    again = pickle.loads(pickle.dumps(est))
    np.testing.assert_array_equal(again.predict(data.test), est.predict(data.test))
    assert again.history_.to_dict() == est.history_.to_dict()


@pytest.mark.parametrize(
    ("short", "loss"),
    [
        (GNMDS(), "hinge"),
        (STE(), "ste"),
        (SOE(), "soe"),
        (CKL(), "ckl"),
        (CKL(delta=0.5), CKLLoss(0.5)),
        (TSTE(), "tste"),
        (TSTE(alpha=3.0), TSTELoss(3.0)),
    ],
    ids=str,
)
def test_shortcuts_are_the_general_estimator(T, short, loss):
    short = clone(short).set_params(random_state=3).fit(T)
    general = OrdinalEmbedding(2, loss=loss, random_state=3).fit(T)
    assert short.loss_ == general.loss_
    assert short.embedding_.tobytes() == general.embedding_.tobytes()


def test_predictions_follow_the_distances(data):
    est = STE(2, random_state=0).fit(data.train)
    Q = oracles.as_quadruplets(data.test.index)
    near, far = oracles.squared_distances(est.embedding_, Q)
    np.testing.assert_array_equal(est.predict(data.test), near < far)
    proba = est.predict_proba(data.test)
    np.testing.assert_allclose(proba[:, 1], 1 / (1 + np.exp(near - far)), rtol=1e-10)
    np.testing.assert_allclose(proba.sum(axis=1), 1.0)
    assert est.score(data.test) == pytest.approx(np.mean(near < far))


def test_no_probabilities_without_a_model(T):
    assert not hasattr(GNMDS(2), "predict_proba")
    assert hasattr(TSTE(2), "predict_proba")
    with pytest.raises(AttributeError):
        SOE(2, random_state=0).fit(T).predict_proba(T)


def test_answers_turn_questions_round(T):
    rng = np.random.default_rng(0)
    y = rng.choice([-1, 1], len(T))
    questions = np.where((y == 1)[:, None], T, T[:, [0, 2, 1]])
    straight = OrdinalEmbedding(2, random_state=0).fit(T)
    for answers in (y, y == 1):
        asked = OrdinalEmbedding(2, random_state=0).fit(questions, answers)
        assert asked.embedding_.tobytes() == straight.embedding_.tobytes()
        assert asked.score(questions, answers) == straight.score(T)
    assert straight.score(questions, -y) == pytest.approx(1 - straight.score(T))


def test_labels(T):
    names = np.array([f"object {i:02d}" for i in range(20)])
    frame = pd.DataFrame(names[T], columns=["anchor", "near", "far"])
    est = OrdinalEmbedding(2, random_state=0).fit(frame)
    assert list(est.labels_) == sorted(names)
    assert est.score(frame) == est.score(T)
    # a shorter table of the same names, in another order, is understood by name
    assert est.score(frame[::-1][:100]) == est.score(T[::-1][:100])


def test_files_and_tables_are_read_as_read_comparisons_does(T, tmp_path):
    names = np.array([f"object {i:02d}" for i in range(20)])
    picked = np.random.default_rng(0).integers(2, size=len(T)).astype(bool)
    anchor, near, far = names[T].T
    frame = pd.DataFrame({"anchor": anchor, "a": np.where(picked, far, near), "b": np.where(picked, near, far)})
    straight = OrdinalEmbedding(2, random_state=0).fit(T)
    beside = OrdinalEmbedding(2, random_state=0).fit(frame, ~picked)
    frame["key"] = np.where(picked, "j", "f")
    frame.to_csv(tmp_path / "answers.csv", index=False)
    with pytest.raises(FileFormatError):
        OrdinalEmbedding(2).fit(tmp_path / "answers.csv")
    layout = Layout(answer="key", answers={"f": "a", "j": "b"})
    layout.save(tmp_path / "answers.layout.toml")
    from_file = OrdinalEmbedding(2, random_state=0).fit(tmp_path / "answers.csv")
    declared = OrdinalEmbedding(2, random_state=0).fit(read_comparisons(frame, layout).comparisons)
    for model in (beside, from_file, declared):
        assert model.embedding_.tobytes() == straight.embedding_.tobytes()
        assert model.labels_.tolist() == names.tolist()
    assert from_file.score(tmp_path / "answers.csv") == straight.score(T)
    for method in (from_file.fit, from_file.score):
        for more in ({"y": picked}, {"sample_weight": picked}):
            with pytest.raises(ValueError, match="got a file with y or sample_weight"):
                method(tmp_path / "answers.csv", **more)


def test_sample_weight(T):
    plain = OrdinalEmbedding(2, loss="ste", solver=LBFGS(), random_state=0).fit(T)
    even = OrdinalEmbedding(2, loss="ste", solver=LBFGS(), random_state=0).fit(T, sample_weight=np.full(len(T), 3.0))
    assert even.embedding_.tobytes() == plain.embedding_.tobytes()
    # all the weight on contradicted answers turns the map against the rest
    both = np.vstack([T, T[:, [0, 2, 1]]])
    weight = np.r_[np.full(len(T), 1.0), np.full(len(T), 9.0)]
    est = OrdinalEmbedding(2, loss="ste", random_state=0).fit(both, sample_weight=weight)
    assert est.score(T) < 0.4
    assert est.score(both, sample_weight=weight) == pytest.approx(0.1 * est.score(T) + 0.9 * (1 - est.score(T)))


def test_objects_without_comparisons_are_reported_and_have_no_place(T):
    kept = T[~(T == 7).any(axis=1)]
    with pytest.warns(UnseenObjectsWarning, match=r"3 of 22 .*\(first: 7\)"):
        est = OrdinalEmbedding(2, n_objects=22, random_state=0).fit(kept)
    lost = np.isnan(est.embedding_).all(axis=1)
    assert np.flatnonzero(lost).tolist() == [7, 20, 21]
    assert np.isfinite(est.embedding_[~lost]).all()
    np.testing.assert_allclose(np.nanmean(est.embedding_, axis=0), 0, atol=1e-12)
    with pytest.warns(UnplacedObjectsWarning, match="1 of 2"):
        assert est.score([kept[0], [7, 0, 1]]) in (0.0, 0.5)
    assert not est.predict([[7, 0, 1]])[0]
    assert est.predict_proba([[7, 0, 1]]).tolist() == [[0.5, 0.5]]
    # objects beyond the map are unknown, not an error
    assert not est.predict([[0, 1, 500]])[0]


# ---- starts --------------------------------------------------------------------------------------------------------


def test_init_array_is_the_start(T):
    X0 = np.random.default_rng(0).normal(size=(20, 2))
    seen = []
    est = OrdinalEmbedding(
        2, init=X0, solver=LBFGS(max_epochs=1), callbacks=[lambda row, state: seen.append(state.X.copy())]
    )
    est.fit(T)
    np.testing.assert_array_equal(seen[0], X0)
    assert est.init is X0


def test_warm_start_continues(T):
    est = OrdinalEmbedding(2, solver=LBFGS(max_epochs=30), warm_start=True, random_state=0).fit(T)
    first = est.objective_
    est.fit(T)
    assert est.history_[0].objective == pytest.approx(first, rel=1e-9)
    assert est.objective_ <= first
    cold = OrdinalEmbedding(2, solver=LBFGS(max_epochs=30), random_state=0).fit(T).fit(T)
    assert cold.history_[0].objective > 1.5 * first


def test_warm_start_takes_new_objects(T):
    early = T[(T < 18).all(axis=1)]
    est = OrdinalEmbedding(2, warm_start=True, random_state=0).fit(early)
    assert est.embedding_.shape == (18, 2)
    est.fit(T)
    assert est.embedding_.shape == (20, 2)
    assert np.isfinite(est.embedding_).all()


# ---- same seed, same bits ------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "solver",
    ["auto", SVRG(step=SBB(), max_epochs=8), SGD(max_epochs=8), LBFGS(max_epochs=30)],
    ids=["auto", "svrg-sbb", "sgd", "lbfgs"],
)
@pytest.mark.parametrize("n_init", [1, 3])
def test_same_seed_same_bits_for_any_number_of_threads(solver, n_init):
    rng = np.random.default_rng(0)
    index = rng.permuted(np.tile(np.arange(25), (12_000, 1)), axis=1)[:, :3]  # more than one block
    points = rng.normal(size=(25, 2))
    near, far = oracles.squared_distances(points, oracles.as_quadruplets(index))
    index[near > far] = index[near > far][:, [0, 2, 1]]
    bits = set()
    for n_jobs in (1, 2, 3, None, 1):
        est = OrdinalEmbedding(2, solver=solver, n_init=n_init, n_jobs=n_jobs, random_state=11, max_seconds=None)
        bits.add(est.fit(index).embedding_.tobytes())
    assert len(bits) == 1


def test_seeds_of_every_kind(T):
    def bits(state):
        return OrdinalEmbedding(2, random_state=state, solver=LBFGS(max_epochs=2)).fit(T).embedding_.tobytes()

    assert bits(3) == bits(3) == bits(np.int64(3)) == bits(np.random.default_rng(3))
    assert bits(np.random.RandomState(3)) == bits(np.random.RandomState(3))
    assert bits(3) != bits(4)
    assert bits(None) != bits(None)


# ---- scikit-learn --------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("form", ["array", "Comparisons", "questions and answers"])
def test_cross_val_score(data, T, form):
    X, y = (data.train if form == "Comparisons" else T), None
    if form == "questions and answers":
        y = np.random.default_rng(0).choice([-1, 1], len(T))
        X = np.where((y == 1)[:, None], T, T[:, [0, 2, 1]])
    scores = cross_val_score(OrdinalEmbedding(2, n_objects=20, random_state=0), X, y, cv=KFold(3))
    assert scores.shape == (3,)
    assert (scores > 0.85).all()


@pytest.mark.filterwarnings("ignore::nearer.warning_types.ConvergenceWarning")  # after one epoch
def test_grid_search_over_the_parameters_of_loss_and_solver(T):
    search = GridSearchCV(
        TSTE(n_objects=20, random_state=0), {"alpha": [0.5, 4.0], "n_components": [1, 2]}, cv=KFold(2)
    )
    assert search.fit(T).best_estimator_.loss_.alpha in (0.5, 4.0)
    assert search.best_estimator_.embedding_.shape == (20, 2)
    solver = SVRG(step=SBB(), max_epochs=2)
    grid = {"solver__max_epochs": [1, 6], "solver__step__epsilon": [None, 0.5]}
    search = GridSearchCV(STE(n_objects=20, solver=solver, random_state=0), grid, cv=KFold(2)).fit(T)
    assert search.best_estimator_.n_iter_ == search.best_params_["solver__max_epochs"] == 6
    assert solver == SVRG(step=SBB(), max_epochs=2), "the search works on copies"


def test_parameters_of_a_solver_by_name_make_it_an_instance(T):
    est = STE(solver="svrg-sbb", random_state=0).set_params(solver__max_epochs=2)
    assert est.solver == SVRG(step=SBB(), max_epochs=2)
    assert est.fit(T).n_iter_ == 2
    assert STE().set_params(solver="lbfgs", solver__memory=3).solver == LBFGS(memory=3)
    with pytest.raises(ValueError, match=r"'steps'.*LBFGS.*max_epochs"):
        STE(solver="lbfgs").set_params(solver__steps=3)
    copy = clone(est)
    assert copy.solver == est.solver
    assert copy.solver is not est.solver
    assert copy.fit(T).embedding_.tobytes() == est.embedding_.tobytes()


@pytest.mark.parametrize("labelled", [False, True])
def test_frames(T, labelled):
    names = np.array([f"object {i:02d}" for i in range(20)])
    X = pd.DataFrame(names[T] if labelled else T, columns=["anchor", "near", "far"])
    est = OrdinalEmbedding(2, random_state=0).fit(X)
    frame = est.to_frame()
    assert frame.columns.tolist() == ["x1", "x2"]
    assert frame.index.tolist() == (names.tolist() if labelled else list(range(20)))
    np.testing.assert_array_equal(frame.to_numpy(), est.embedding_)
    assert isinstance(est.transform(X), np.ndarray)
    for made in (est.set_output(transform="pandas").transform(X), clone(est).fit_transform(X), est.transform()):
        pd.testing.assert_frame_equal(made, frame)
    with config_context(transform_output="pandas"):
        pd.testing.assert_frame_equal(OrdinalEmbedding(2, random_state=0).fit_transform(X), frame)
    assert isinstance(est.set_output(transform="default").transform(), np.ndarray)
    pipe = make_pipeline(OrdinalEmbedding(2, random_state=0)).set_output(transform="pandas")
    pd.testing.assert_frame_equal(pipe.fit_transform(X), frame)


def test_worst_comparisons_are_of_the_fit_or_others(data, T):
    est = STE(2, random_state=0).fit(data.train)
    flipped = data.test.flipped(np.arange(len(data.test)) < 30)
    assert (
        est.worst_comparisons(5, flipped).rows.tolist() == worst_comparisons(est.embedding_, flipped, 5).rows.tolist()
    )
    assert est.worst_comparisons().n_comparisons == len(T)
    del est.comparisons_
    with pytest.raises(ValueError, match="worst_comparisons: the map comes without its comparisons"):
        est.worst_comparisons()


def test_pipelines(T):
    as_integers = FunctionTransformer(lambda rows: np.asarray(rows, dtype=int))
    pipe = make_pipeline(as_integers, OrdinalEmbedding(2, random_state=0)).fit(T.astype(float))
    assert pipe.score(T) > 0.9
    assert pipe.predict(T).shape == (len(T),)
    named = Pipeline([("map", OrdinalEmbedding(2, random_state=0))]).set_params(map__n_components=3).fit(T)
    assert named.named_steps["map"].embedding_.shape == (20, 3)
    clusters = KMeans(3, n_init=1, random_state=0)
    found = make_pipeline(OrdinalEmbedding(2, random_state=0), clusters).fit_predict(T)
    embedding = OrdinalEmbedding(2, random_state=0).fit_transform(T)
    np.testing.assert_array_equal(found, clone(clusters).fit_predict(embedding))


def test_a_known_map_makes_an_estimator(data):
    names = [f"o{k:02}" for k in range(20)]
    est = OrdinalEmbedding.from_embedding(data.points, names, "ste")
    table = dict(zip(("anchor", "near", "far"), np.array(names)[data.test.index].T))
    assert est.score(table) == est.score(data.test) == 1.0
    np.testing.assert_array_equal(est.predict_proba(data.test)[:, 1] > 0.5, True)
    assert est.place({"anchor": ["new"], "near": ["o01"], "far": ["o02"]}).labels.tolist() == ["new"]
    found = est.comparisons_on_map({"anchor": ["o01", "new"], "near": ["o02", "o00"], "far": ["o00", "o01"]})
    assert found.index.tolist() == [[1, 2, 0], [20, 0, 1]]
    assert found.labels.tolist() == [*names, "new"]
    assert clone(est).get_params() == OrdinalEmbedding(2, loss="ste").get_params()
    unknown = OrdinalEmbedding.from_embedding(data.points)
    assert unknown.score(data.test) == 1.0
    for call in (unknown.predict_proba, unknown.place):
        with pytest.raises(ValueError, match="the loss of the map is not known"):
            call([[20, 0, 1]])
    for wrong in ({"X": np.zeros(3)}, {"X": [[np.inf, 0.0]]}, {"X": np.zeros((3, 2)), "labels": ["a"]}):
        with pytest.raises(ValueError, match=r"(X|labels): "):
            OrdinalEmbedding.from_embedding(**wrong)


def test_fitting_leaves_the_data_alone(T, tmp_path):
    before = T.copy()
    OrdinalEmbedding(2, random_state=0).fit(T)
    np.testing.assert_array_equal(T, before)
    np.save(tmp_path / "T.npy", T.astype(np.int32))
    mapped = np.load(tmp_path / "T.npy", mmap_mode="r")
    fortran = np.asfortranarray(T)
    bits = {OrdinalEmbedding(2, random_state=0).fit(X).embedding_.tobytes() for X in (T, mapped, fortran, T.tolist())}
    assert len(bits) == 1


# ---- running -------------------------------------------------------------------------------------------------------


def test_callbacks_and_time_limits_stop_the_fit(T):
    est = OrdinalEmbedding(2, solver=LBFGS(tol=0.0), callbacks=[lambda row, state: row.epoch == 3], random_state=0)
    assert est.fit(T).n_iter_ == 3
    assert est.result_.message == "stopped by a callback"
    assert est.set_params(callbacks=None, max_seconds=1e-9).fit(T).n_iter_ == 0
    assert est.result_.message == "stopped: reached max_seconds = 1e-09"


@pytest.mark.parametrize("n_init", [1, 2])
def test_verbose_shows_objective_and_error(T, capsys, n_init):
    OrdinalEmbedding(2, random_state=0).fit(T)
    assert capsys.readouterr() == ("", "")
    OrdinalEmbedding(2, solver=LBFGS(max_epochs=3), n_init=n_init, verbose=2, random_state=0).fit(T)
    lines = capsys.readouterr().err.splitlines()
    assert len(lines) == 4 * n_init
    assert all("objective" in line and "error" in line for line in lines)
    assert any(line.startswith("nearer: start 2 of 2: epoch") for line in lines) == (n_init == 2)


@pytest.mark.parametrize(
    ("params", "message"),
    [
        ({"n_components": 0}, "n_components: got 0, expected at least 1"),
        ({"init": "pca"}, "init: got 'pca', expected 'random' or an array"),
        ({"init": np.zeros((3, 2))}, r"init: got shape \(3, 2\), expected \(20, 2\)"),
        ({"init": np.full((20, 2), np.nan)}, "the starting point is not finite"),
        ({"n_init": 0}, "n_init: got 0, expected at least 1"),
        ({"loss": "tsne"}, "unknown loss 'tsne'"),
        ({"loss": "ste", "loss_params": {"alpha": 1}}, "loss 'ste' has no parameter alpha"),
        ({"solver": "adam"}, "solver: got 'adam', expected one of: auto, "),
        ({"solver": "convex", "loss": "soe"}, "convex: loss 'soe' is not a convex function"),
        ({"n_jobs": 0}, "n_jobs: got 0, expected a positive integer"),
    ],
)
def test_bad_parameters_are_refused(T, params, message):
    with pytest.raises(ValueError, match=message):
        OrdinalEmbedding(**params).fit(T)
