-- What was sent later and lies before (analysis.checks.order). Running maxima, then a look at the few
-- that were overtaken.
create temp table in_order as
with found as (
    select value, home, sent_ns, first_place, value >> 40 as producer,
        case when instance is not null or not (select transactional from run)
            then coalesce(instance, 0) end as of_client,
        (fates.complete or (first_place & 281474976710655) < ends.position)
            and (fates.log_start = 0 or (select one_copy from run)) as is_first,
        case when first_place = acked_place then acked_ns end as since_ns
    from fates left join ends on ends."partition" = fates.home
    where sent = 4 and (first_place >> 48) = home
)
select *,
    max(value) over (
        partition by home, producer, of_client order by first_place
        range between unbounded preceding and 1 preceding) as overtaken_by,
    max(case when since_ns is not null then sent_ns end) over (
        partition by home order by first_place
        range between unbounded preceding and 1 preceding) as passed_ns
from found
qualify (is_first and of_client is not null and overtaken_by > value) or passed_ns > since_ns;

create temp table passed as
select in_order.value, arg_max(fates.value, fates.sent_ns) as other_value,
    arg_max(fates.first_place, fates.sent_ns) as other_place
from in_order join fates on fates.home = in_order.home
    and fates.sent_ns = in_order.passed_ns and fates.first_place < in_order.first_place
where in_order.passed_ns > in_order.since_ns
group by in_order.value;
