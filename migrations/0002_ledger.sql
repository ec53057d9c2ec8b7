-- Transactions and entries. A transaction's id is a ULID (for a call, its request id), so a range of ids is a range of
-- time: that is how the tables are partitioned, by UTC month.

-- The smallest ULID of an instant (github.com/ulid/spec: 48 bits of milliseconds in Crockford's base 32).
create function ulid_floor(at timestamptz) returns text language plpgsql immutable strict as $$
declare
  rest bigint := floor(extract(epoch from at) * 1000);
  head text := '';
begin
  for digit in 1..10 loop
    head := substr('0123456789ABCDEFGHJKMNPQRSTVWXYZ', (rest % 32)::int + 1, 1) || head;
    rest := rest / 32;
  end loop;
  return head || repeat('0', 16);
end $$;

create table ledger_tx (
  id text collate "C" not null check (id ~ '^[0-7][0-9A-HJKMNP-TV-Z]{25}$'),
  kind text not null check (kind ~ '^[a-z][a-z_]{1,31}$'),
  note text check (length(note) <= 500),
  at timestamptz not null default now(),
  primary key (id)
) partition by range (id);

-- The unique key of a transaction that is not a call: deposit:…, grant:{ticket}, payout:{id}.
create table ledger_key (
  key text collate "C" primary key check (length(key) between 3 and 200),
  tx text collate "C" not null unique
);

-- One entry an account and transaction; all entries of a transaction come in one statement and sum to zero.
create table ledger_entry (
  tx text collate "C" not null,
  account text collate "C" not null,
  amount bigint not null check (amount <> 0),
  primary key (tx, account)
) partition by range (tx);
create index ledger_entry_by_account on ledger_entry (account, tx);

-- Look-ups are counts of one key each and never scans: a plan made while a table was small is kept by the session, and
-- would read all of it for every statement once it has grown.
create function check_entries() returns trigger language plpgsql
set enable_seqscan = off set enable_hashjoin = off set enable_mergejoin = off as $$
declare
  wrong text;
begin
  select min(tx) into wrong from (select tx from entries group by tx having sum(amount) <> 0) unbalanced;
  if wrong is not null then
    raise exception 'the entries of % do not sum to zero', wrong
      using errcode = 'check_violation', constraint = 'ledger_entry_sum_zero';
  end if;
  select min(e.account) into wrong from (select distinct account from entries) e
    where (select count(*) from account a where a.id = e.account) = 0;
  if wrong is not null then
    raise exception 'there is no account %', wrong
      using errcode = 'foreign_key_violation', constraint = 'ledger_entry_account';
  end if;
  -- An entry added later would change what the transaction was, even if the sum stayed zero.
  select min(n.tx) into wrong from (select tx, count(*) as lines from entries group by tx) n
    where (select count(*) from ledger_tx t where t.id = n.tx) = 0
      or (select count(*) from ledger_entry e where e.tx = n.tx) <> n.lines;
  if wrong is not null then
    raise exception 'the transaction % does not exist or was written before', wrong
      using errcode = 'foreign_key_violation', constraint = 'ledger_entry_once';
  end if;
  return null;
end $$;

create trigger ledger_tx_kept before update or delete on ledger_tx for each row execute function refuse_change();
create trigger ledger_entry_kept before update or delete on ledger_entry for each row execute function refuse_change();
create trigger ledger_key_kept before update or delete on ledger_key for each row execute function refuse_change();
create trigger ledger_key_not_truncated before truncate on ledger_key
  for each statement execute function refuse_change();
