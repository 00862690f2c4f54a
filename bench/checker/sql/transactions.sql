-- Transactions: all or nothing, and nothing before its commit was asked for
-- (analysis.checks.transactions.atomicity).
create temp table in_transactions as
select fates.*, ends_of.asked_ns
from fates join (
    select process as client, "transaction" as transaction_number,
        min(time_ns) filter (name = 'commit-asked') as asked_ns
    from transaction_events group by all
) as ends_of using (client, transaction_number)
where (sent in (2, 4) and delivered_ns < asked_ns)
    or (sent = 2 and asked_ns is null and (delivered_ns is not null or first_place is not null))
    or (sent in (2, 4) and first_place is null and asked_ns is not null and complete
        and coalesce((acked_place & 281474976710655) >= log_start, log_start = 0));

create temp table torn as
select * from in_transactions
where first_place is null and (client, transaction_number) in (
    select (client, transaction_number) from fates
    where first_place is not null
        and (client, transaction_number) in (
            select (client, transaction_number) from in_transactions where first_place is null)
);
