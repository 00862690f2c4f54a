-- What is known around each finding (analysis.frames.evidence, analysis.frames.permission), and the
-- tables that a check leaves.
create temp view causes_of as
select unnest(anomalies) as anomaly, * exclude (anomalies) from causes;

create temp table evidence as
with known as (
    select found.*,
        coalesce((place >> 48)::integer, home) as at_partition,
        coalesce(known_ns, acked_ns, delivered_ns) as was_known_ns
    from found
),
told as (
    select known.*, states.leader, states.epoch as led_epoch, states.to_ns as led_until_ns,
        later.fault as next_fault
    from known
    asof left join states
        on known.at_partition = states."partition" and known.time_ns >= states.from_ns
    asof left join faults as later on known.time_ns < later.invoke_ns
),
judged as (
    select told.*, (
        select min(number) from causes_of as c
        where c.anomaly = told.anomaly and (c."partition" is null or c."partition" = told.at_partition)
            and (c.shown_from_ns is null or coalesce(told.shown_ns > c.shown_from_ns, true))
            and (len(c.outcomes) = 0 or list_contains(c.outcomes, told.outcome))
            and c.process is null
            and (c.from_offset is null or coalesce((place & 281474976710655) >= c.from_offset, false))
            and (c.to_offset is null or coalesce((place & 281474976710655) < c.to_offset, false))
            and (c.begun_before_ns is null or coalesce(told.sent_ns < c.begun_before_ns, true))
            and (c.known_from_ns is null or coalesce(told.was_known_ns >= c.known_from_ns, true))
            and (c.known_until_ns is null or coalesce(told.was_known_ns <= c.known_until_ns, true))
    ) as cause
    from told
)
select run_id, judged.anomaly, value, (value >> 40)::integer as producer,
    value & 1099511627775 as sequence,
    case sent when 1 then 'fail' when 2 then 'info' when 3 then 'no-ack' when 4 then 'acked' end as sent,
    at_partition as "partition", place & 281474976710655 as "offset",
    (other_place >> 48)::integer as other_partition, other_place & 281474976710655 as other_offset,
    other_value, copies::integer as copies, outcome, time_ns, sent_ns, acked_ns, delivered_ns,
    (time_ns - load_start_ns) / 1e9 as time_s, (sent_ns - load_start_ns) / 1e9 as sent_s,
    (acked_ns - load_start_ns) / 1e9 as acked_s, (delivered_ns - load_start_ns) / 1e9 as delivered_s,
    lasted_ns / 1e9 as lasted_s,
    case when coalesce(led_until_ns > time_ns, true) then leader end as leader,
    case when coalesce(led_until_ns > time_ns, true) then led_epoch end as epoch,
    list_transform(
        list_filter((select list(faults order by invoke_ns) from faults), lambda f:
            f.invoke_ns <= time_ns
            and (f.end_ns is null or coalesce(least(sent_ns, time_ns) < f.end_ns, false))),
        lambda f: f.fault) as faults,
    next_fault,
    case when cause is null then 'forbidden' when causes.sure then 'permitted' else 'in-doubt' end
        as judged,
    cause, case when causes.sure then causes.words end as permitted_by, reader
from judged cross join run left join causes on causes.number = judged.cause;
