-- Evidence is a group-by-sum over attempts, so any engine can fit. Runs as it stands on DuckDB and on Spark, over a
-- table or view `attempts` with the columns that `btm fit --emit` writes. Its rows are what the evidence table of a
-- btm database holds: add them to one with SqlStore.add_learned.
SELECT
    tool,
    kind,
    action,
    target,
    ordinal,
    SUM(CASE WHEN success THEN weight ELSE 0.0 END) AS successes,
    SUM(CASE WHEN success THEN 0.0 ELSE weight END) AS failures
FROM attempts
GROUP BY tool, kind, action, target, ordinal
