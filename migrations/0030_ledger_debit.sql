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
