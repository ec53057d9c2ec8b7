-- The operator's ledger is in the order of booking: by time, then by id.

create index ledger_tx_by_time on ledger_tx (at, id);

-- The kinds that are no calls, in the same order.
drop index ledger_tx_by_kind;
create index ledger_tx_by_kind on ledger_tx (kind, at, id) where kind <> 'settle';

-- The tables of archived months left the parent, so each has its own index.
do $$
declare
  part text;
begin
  for part in
    select 'ledger_tx_' || to_char(month, 'YYYY_MM') from archived_month
    where to_regclass('ledger_tx_' || to_char(month, 'YYYY_MM')) is not null
  loop
    execute format('create index on %I (at, id)', part);
  end loop;
end $$;
