"""Music: how well every method predicts human judgements that it has not seen."""
