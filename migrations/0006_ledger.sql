-- The double-entry ledger: transactions and entries, debits that are under way, and the epoch of the spending gate.
-- A transaction's id is a ULID (for a call, its request id), so a range of ids is a range of time. The large tables are
-- partitioned by it, by UTC month (0009_months.sql).

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

-- The unique key of a transaction that is not a call: deposit:…, grant:{ticket}, payout:{id}. It is what makes such a
-- transaction happen once.
create table ledger_key (
  key text collate "C" primary key check (length(key) between 3 and 200),
  tx text collate "C" not null unique
);

-- One entry an account and transaction. All entries of a transaction come in one statement and sum to zero.
create table ledger_entry (
  tx text collate "C" not null,
  account text collate "C" not null,
  amount bigint not null check (amount <> 0),
  primary key (tx, account)
) partition by range (tx);
-- The lines of an account. The balance after an old line is the present one less all that is newer, so amounts stand in
-- the index.
create index ledger_entry_by_account on ledger_entry (account, tx) include (amount);

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
create trigger ledger_entry_checked after insert on ledger_entry
  referencing new table as entries for each statement execute function check_entries();

-- What was booked is never changed.
create trigger ledger_tx_kept before update or delete on ledger_tx for each row execute function refuse_change();
create trigger ledger_tx_not_truncated before truncate on ledger_tx
  for each statement execute function refuse_change();
create trigger ledger_entry_kept before update or delete on ledger_entry for each row execute function refuse_change();
create trigger ledger_entry_not_truncated before truncate on ledger_entry
  for each statement execute function refuse_change();
create trigger ledger_key_kept before update or delete on ledger_key for each row execute function refuse_change();
create trigger ledger_key_not_truncated before truncate on ledger_key
  for each statement execute function refuse_change();

-- Debits that no call made (refunds, withdrawals, adjustments), written down before the gate sets their money aside, so
-- that one whose process died between two steps is finished by the next.
create table ledger_debit (
  -- The ledger key of the transaction.
  key text collate "C" primary key check (length(key) between 3 and 180),
  -- The buyer account that pays, and what is set aside for it in the gate.
  account text collate "C" not null references account (id),
  amount bigint not null check (amount > 0),
  -- The transaction as it is to be booked.
  tx text collate "C" not null unique,
  kind text not null,
  note text,
  entries jsonb not null,
  state text not null default 'intended' check (state in ('intended', 'posted', 'refused')),
  -- A hold that ended cannot be taken again: the next one has the next number.
  hold_number integer not null default 1 check (hold_number > 0),
  -- The hold of a finished debit is given back.
  is_freed boolean not null default false,
  intended_at timestamptz not null default now(),
  changed_at timestamptz not null default now()
);
-- What was left between two steps.
create index ledger_debit_unfinished on ledger_debit (changed_at) where state = 'intended' or not is_freed;
create trigger ledger_debit_kept before delete on ledger_debit for each row execute function refuse_change();

-- What was finished stays so, and what it is never changes.
create function keep_debit() returns trigger language plpgsql as $$
begin
  if (new.key, new.account, new.amount, new.tx, new.kind, new.entries) is distinct from
     (old.key, old.account, old.amount, old.tx, old.kind, old.entries)
     or (old.state = 'posted' and new.state <> 'posted') then
    raise exception 'a debit keeps what it is' using errcode = 'restrict_violation';
  end if;
  return new;
end $$;
create trigger ledger_debit_keeps before update on ledger_debit for each row execute function keep_debit();

-- The epoch of the spending gate: every loss of the gate begins a new one.
create table money_epoch (
  is_only boolean primary key default true check (is_only),
  epoch bigint not null check (epoch >= 0),
  -- Unposted captures that older epochs left in Redis were taken over up to this one.
  harvested bigint not null default 0 check (harvested <= epoch),
  raised_at timestamptz not null default now()
);
insert into money_epoch (epoch) values (0);

-- An epoch only rises: Redis may hold records of every one that was ever given out.
create function keep_epoch_rising() returns trigger language plpgsql as $$
begin
  if new.epoch < old.epoch or new.harvested < old.harvested then
    raise exception 'the money epoch only rises' using errcode = 'restrict_violation';
  end if;
  return new;
end $$;
create trigger money_epoch_rises before update on money_epoch for each row execute function keep_epoch_rising();

-- The data-plane processes that must bring their calls into a new epoch.
create table node (
  id text primary key check (length(id) between 1 and 200),
  first_seen_at timestamptz not null default now(),
  last_seen_at timestamptz not null default now(),
  -- Set when the process ended with nothing left to settle, or by hand.
  retired_at timestamptz
);
