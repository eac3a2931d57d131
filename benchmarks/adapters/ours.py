"""nearer, as a plain user calls it."""

from __future__ import annotations

from serve import serve

import nearer


def fit(loss, triplets, n_objects, n_components, seed):
    model = nearer.OrdinalEmbedding(n_components, loss=loss, n_objects=n_objects, random_state=seed)
    return model.fit(triplets).embedding_


if __name__ == "__main__":
    serve(fit, {"name": "nearer", "version": nearer.__version__})
