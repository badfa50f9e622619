-- What requests amount to, by what they have in common: counts, sums and histograms, which add up. So a fleet's traces
-- are summarised where they lie, and what was summarised apart is put together by SUM, MIN and MAX. They stand on
-- views.sql. Storms, and the areas that a trace's footer tells, are not here: `lbolt response` has them.

-- How wide the slices of a device's places and of a run's time are: 32 of 1 MiB, or of 1.953125 ms, doubled until the
-- last place, or time, is in one of them.
CREATE OR REPLACE TEMPORARY VIEW region_widths AS
SELECT ends.run, ends.device, MIN(CAST(1048576 * POWER(2, number) AS BIGINT)) AS width_bytes
FROM (
    SELECT run, device, MAX(offset_bytes) AS last_bytes
    FROM timed
    WHERE offset_bytes IS NOT NULL
    GROUP BY run, device
) AS ends
CROSS JOIN numbers
WHERE CAST(1048576 * 32 * POWER(2, number) AS BIGINT) > ends.last_bytes
GROUP BY ends.run, ends.device;

CREATE OR REPLACE TEMPORARY VIEW start_widths AS
SELECT ends.run, MIN(CAST(1953125 * POWER(2, number) AS BIGINT)) AS width_ns
FROM (
    SELECT run, MAX(arrival_ns) AS last_ns
    FROM timed
    WHERE arrival_ns IS NOT NULL
    GROUP BY run
) AS ends
CROSS JOIN numbers
WHERE CAST(CAST(1953125 AS BIGINT) * 32 * POWER(2, number) AS BIGINT) > ends.last_ns
GROUP BY ends.run;

-- How many cgroups requested anything: a process is known with its own where there are several.
CREATE OR REPLACE TEMPORARY VIEW cgroup_counts AS
SELECT run, COUNT(DISTINCT cgroup) AS cgroup_count
FROM timed
GROUP BY run;

-- Every row once for each class that it is in. Sizes end with the class's number of bytes; regions and starts begin
-- with the class's number of bytes or ns. `device` is null where a class is of all devices of a run.
CREATE OR REPLACE TEMPORARY VIEW classed AS
SELECT
    timed.run, dimensions.classed_by,
    CASE WHEN dimensions.classed_by IN ('device', 'device and direction', 'region') THEN timed.device END AS device,
    CASE dimensions.classed_by
        WHEN 'whole' THEN 'all'
        WHEN 'direction' THEN timed.op
        WHEN 'device' THEN CAST(timed.device AS STRING)
        WHEN 'device and direction' THEN timed.op
        WHEN 'origin' THEN timed.origin
        WHEN 'size' THEN CAST(timed.size_bytes AS STRING)
        WHEN 'process' THEN CONCAT(
            CASE
                WHEN timed.command IS NOT NULL AND timed.pid IS NOT NULL
                    THEN CONCAT(timed.command, ' (', CAST(timed.pid AS STRING), ')')
                WHEN timed.command IS NOT NULL THEN timed.command
                WHEN timed.pid IS NOT NULL THEN CONCAT('pid ', CAST(timed.pid AS STRING))
                ELSE 'others' END,
            CASE
                WHEN timed.cgroup IS NOT NULL AND cgroup_counts.cgroup_count > 1
                    THEN CONCAT(' in ', CAST(timed.cgroup AS STRING))
                ELSE '' END)
        WHEN 'cgroup' THEN CAST(timed.cgroup AS STRING)
        WHEN 'region' THEN CAST(timed.offset_bytes - timed.offset_bytes % region_widths.width_bytes AS STRING)
        WHEN 'start' THEN CAST(GREATEST(timed.arrival_ns, 0) - GREATEST(timed.arrival_ns, 0) % start_widths.width_ns
            AS STRING)
    END AS class,
    timed.is_requested, timed.completed_ns, timed.length_bytes, timed.error,
    timed.response_ns, timed.wait_ns, timed.admission_ns, timed.scheduler_ns, timed.device_ns, timed.done_ns
FROM timed
CROSS JOIN (
    VALUES
        ('whole'), ('direction'), ('device'), ('device and direction'), ('origin'), ('size'), ('process'), ('cgroup'),
        ('region'), ('start')
) AS dimensions (classed_by)
LEFT JOIN region_widths ON region_widths.run = timed.run AND region_widths.device = timed.device
LEFT JOIN start_widths ON start_widths.run = timed.run
LEFT JOIN cgroup_counts ON cgroup_counts.run = timed.run
WHERE NOT (dimensions.classed_by = 'cgroup' AND timed.cgroup IS NULL)
    AND NOT (dimensions.classed_by = 'region' AND timed.offset_bytes IS NULL)
    AND NOT (dimensions.classed_by = 'start' AND timed.arrival_ns IS NULL)
    -- Where devices lie on others, a request counts once of all devices together: at the top.
    AND (timed.above_id IS NULL OR dimensions.classed_by IN ('device', 'device and direction', 'region'))
UNION ALL
-- The reads, by how many writes they found outstanding on their device.
SELECT
    run, classed_by, CAST(NULL AS BIGINT),
    CASE WHEN writes = 0 THEN '0' WHEN writes < 5 THEN '1 to 4' WHEN writes < 20 THEN '5 to 19' ELSE '20 and more' END,
    is_requested, completed_ns, length_bytes, error,
    response_ns, wait_ns, admission_ns, scheduler_ns, device_ns, done_ns
FROM (
    SELECT
        arrivals.*, kinds.classed_by,
        CASE kinds.classed_by WHEN 'writes outstanding' THEN found_writes ELSE found_background_writes END AS writes
    FROM arrivals
    CROSS JOIN (VALUES ('writes outstanding'), ('background writes outstanding')) AS kinds (classed_by)
    WHERE op = 'read' AND above_id IS NULL
) AS reads;

-- How many, how much, how long. The mean of a response and of each of its parts is its sum over response_count: so the
-- means add up, response = admission + scheduler + device + rest (queue instead of the first two where the trace does not
-- tell them). The rest is of steps that the trace does not tell. What the device did is done_sum_ns over done_count.
CREATE OR REPLACE TEMPORARY VIEW summaries AS
SELECT
    run, classed_by, device, class,
    SUM(is_requested) AS requested_count,
    SUM(CASE WHEN is_requested = 1 AND completed_ns IS NOT NULL THEN 1 ELSE 0 END) AS completed_count,
    SUM(CASE WHEN is_requested = 1 THEN length_bytes ELSE 0 END) AS requested_bytes,
    SUM(CASE WHEN is_requested = 1 AND error <> 0 THEN 1 ELSE 0 END) AS failed_count,
    COUNT(response_ns) AS response_count,
    SUM(response_ns) AS response_sum_ns,
    MIN(response_ns) AS response_min_ns,
    MAX(response_ns) AS response_max_ns,
    COUNT(wait_ns) AS wait_count,
    SUM(wait_ns) AS wait_sum_ns,
    COUNT(admission_ns) AS admission_count,
    SUM(admission_ns) AS admission_sum_ns,
    COUNT(scheduler_ns) AS scheduler_count,
    SUM(scheduler_ns) AS scheduler_sum_ns,
    COUNT(device_ns) AS device_count,
    SUM(device_ns) AS device_sum_ns,
    CASE WHEN COUNT(wait_ns) + COUNT(admission_ns) > 0 THEN
        SUM(response_ns) - COALESCE(SUM(device_ns), 0)
            - CASE WHEN COUNT(admission_ns) + COUNT(scheduler_ns) > 0
                THEN COALESCE(SUM(admission_ns), 0) + COALESCE(SUM(scheduler_ns), 0)
                ELSE COALESCE(SUM(wait_ns), 0) END
        END AS rest_sum_ns,
    COUNT(done_ns) AS done_count,
    SUM(done_ns) AS done_sum_ns
FROM classed
GROUP BY run, classed_by, device, class;

-- Responses and seeks by buckets, 128 an octave: bucket b covers the values from (b - 128 s) 2^s up to but not including
-- the next bucket's, where s = max(0, floor(b/128) - 1) (docs/records.md). So s is the value's octave less 7. A
-- logarithm that is off by one at a power of two does no harm: the bucket comes out the same.
CREATE OR REPLACE TEMPORARY VIEW histograms AS
SELECT
    run, classed_by, device, class,
    CAST(128 * s + (value - value % CAST(POWER(2, s) AS BIGINT)) / POWER(2, s) AS BIGINT) AS bucket,
    COUNT(*) AS bucket_count
FROM (
    SELECT
        run, classed_by, device, class, value,
        CASE WHEN value < 128 THEN CAST(0 AS BIGINT) ELSE CAST(FLOOR(LN(value) / LN(2)) AS BIGINT) - 7 END AS s
    FROM (
        SELECT run, classed_by, device, class, response_ns AS value FROM classed WHERE response_ns IS NOT NULL
        UNION ALL
        SELECT run, 'seek', device, CAST(device AS STRING), seek_bytes FROM seeks WHERE seek_bytes IS NOT NULL
    ) AS counted
) AS scaled
GROUP BY
    run, classed_by, device, class,
    CAST(128 * s + (value - value % CAST(POWER(2, s) AS BIGINT)) / POWER(2, s) AS BIGINT);

-- Quantiles by the nearest rank: the middle of the bucket, and never beyond the least and the greatest.
CREATE OR REPLACE TEMPORARY VIEW percentiles AS
SELECT
    ranked.run, ranked.classed_by, ranked.device, ranked.class, ranked.quantile,
    LEAST(GREATEST(ranked.middle_ns, summaries.response_min_ns), summaries.response_max_ns) AS response_ns
FROM (
    SELECT
        run, classed_by, device, class, quantile,
        MIN((bucket - 128 * s) * CAST(POWER(2, s) AS BIGINT) + CAST(FLOOR(POWER(2, s - 1)) AS BIGINT)) AS middle_ns
    FROM (
        SELECT
            run, classed_by, device, class, bucket,
            CASE WHEN bucket < 256 THEN CAST(0 AS BIGINT) ELSE CAST((bucket - bucket % 128) / 128 AS BIGINT) - 1 END AS s,
            SUM(bucket_count) OVER (
                PARTITION BY run, classed_by, device, class ORDER BY bucket ROWS UNBOUNDED PRECEDING) AS up_to,
            SUM(bucket_count) OVER (PARTITION BY run, classed_by, device, class) AS all_count
        FROM histograms
        WHERE classed_by <> 'seek'
    ) AS cumulated
    CROSS JOIN (
        SELECT CAST(quantile AS DOUBLE) AS quantile
        FROM (VALUES (0.25), (0.5), (0.75), (0.9), (0.99), (0.999), (0.9999)) AS wanted (quantile)
    ) AS quantiles
    WHERE up_to >= CEIL(quantile * all_count)
    GROUP BY run, classed_by, device, class, quantile
) AS ranked
JOIN summaries
    ON summaries.run = ranked.run AND summaries.classed_by = ranked.classed_by AND summaries.class = ranked.class
    AND COALESCE(summaries.device, -1) = COALESCE(ranked.device, -1);

-- Each run's span: from the first arrival to the last arrival or completion.
CREATE OR REPLACE TEMPORARY VIEW spans AS
SELECT run, MIN(arrival_ns) AS first_ns, MAX(GREATEST(arrival_ns, COALESCE(completed_ns, arrival_ns))) AS last_ns
FROM timed
WHERE arrival_ns IS NOT NULL
GROUP BY run;

-- Each device's depth and use: what arrivals found, the most at once with the one that arrives, the depth summed over
-- time, and the time in which it was not 0. Mean depth is depth_time_ns over the run's span.
CREATE OR REPLACE TEMPORARY VIEW depth_summaries AS
SELECT
    run, device,
    SUM(is_arrival) AS arrivals_count,
    SUM(CASE WHEN is_arrival = 1 THEN depth - step ELSE 0 END) AS found_sum,
    MAX(CASE WHEN is_arrival = 1 THEN depth - step + is_completed ELSE 0 END) AS depth_max,
    SUM(depth * lasts_ns) AS depth_time_ns,
    SUM(CASE WHEN depth > 0 THEN lasts_ns ELSE 0 END) AS busy_ns
FROM depths
GROUP BY run, device;

-- Each device's flow: gaps between arrivals, and seeks. The standard deviation of gaps follows from sum and squares.
CREATE OR REPLACE TEMPORARY VIEW flow_summaries AS
SELECT
    run, device,
    SUM(is_gap) AS gaps_count,
    SUM(gap_ns) AS gap_sum_ns,
    SUM(CAST(gap_ns AS DOUBLE) * CAST(gap_ns AS DOUBLE)) AS gap_squares,
    SUM(is_seek) AS seeks_count,
    SUM(CASE WHEN seek_bytes = 0 THEN 1 ELSE 0 END) AS sequential_count,
    SUM(seek_bytes) AS seek_sum_bytes,
    MIN(seek_bytes) AS seek_min_bytes,
    MAX(seek_bytes) AS seek_max_bytes
FROM (
    SELECT run, device, 1 AS is_gap, 0 AS is_seek, gap_ns, CAST(NULL AS BIGINT) AS seek_bytes
    FROM gaps
    WHERE gap_ns IS NOT NULL
    UNION ALL
    SELECT run, device, 0, 1, NULL, seek_bytes
    FROM seeks
    WHERE seek_bytes IS NOT NULL
) AS steps_of_both
GROUP BY run, device;
