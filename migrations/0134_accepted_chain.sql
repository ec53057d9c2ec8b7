-- An operator accepts a chain that was begun anew in place of the one that was read. What came and left on the one before
-- stays in the books, and no transaction of it is sent again.

alter table treasury_cursor
  -- Which of the chains with this id it is: 0 is the first, and each that was accepted is one more.
  add column era integer not null default 0 check (era >= 0),
  -- When it was accepted; null for the first.
  add column era_at timestamptz,
  add constraint treasury_cursor_accepted check ((era = 0) = (era_at is null));

-- The same signed bytes are the same transaction on both chains, and bring tokens on each.
alter table treasury_move add column era integer not null default 0 check (era >= 0);
alter table treasury_move drop constraint treasury_move_pkey,
  add primary key (chain_id, asset, treasury, era, tx_hash, direction, place);

create or replace function keep_treasury_move() returns trigger language plpgsql as $$
begin
  if (new.chain_id, new.asset, new.treasury, new.era, new.direction, new.tx_hash, new.place, new.party, new.amount, new.nonce)
       is distinct from
     (old.chain_id, old.asset, old.treasury, old.era, old.direction, old.tx_hash, old.place, old.party, old.amount, old.nonce)
     or (old.kind not in ('new', 'unknown') and (new.kind, new.ref) is distinct from (old.kind, old.ref)) then
    raise exception 'a move of the treasury keeps what it is' using errcode = 'restrict_violation';
  end if;
  return new;
end $$;

-- When the chain of a transaction was given up. It is never sent again.
alter table chain_transaction add column dead_at timestamptz;
