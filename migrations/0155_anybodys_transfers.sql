-- Anybody can bring an exact authorization to the chain. A payment that owed nothing has then come all the same, and is
-- mined and booked like one that was written off.
create or replace function keep_chain_payment() returns trigger language plpgsql as $$
begin
  if (new.rid, new.rail, new.network, new.asset, new.payer, new.nonce, new.account, new.amount, new.payload) is distinct from
     (old.rid, old.rail, old.network, old.asset, old.payer, old.nonce, old.account, old.amount, old.payload)
     or (old.due is not null and new.due is distinct from old.due
         and not (old.state = 'mined' and new.state = 'confirmed' and new.due > old.due))
     or (old.event is not null and new.event is distinct from old.event)
     or (old.booked_at is not null and (new.state, new.booked_at) is distinct from (old.state, old.booked_at)
         and not (old.state in ('written_off', 'released') and new.state = 'mined' and new.booked_at is null)) then
    raise exception 'a payment keeps what it is' using errcode = 'restrict_violation';
  end if;
  return new;
end $$;

-- A transfer that was taken for a payment which nobody knows is looked at again.
create or replace function keep_treasury_move() returns trigger language plpgsql as $$
begin
  if (new.chain_id, new.asset, new.treasury, new.era, new.direction, new.tx_hash, new.place, new.party, new.amount, new.nonce)
       is distinct from
     (old.chain_id, old.asset, old.treasury, old.era, old.direction, old.tx_hash, old.place, old.party, old.amount, old.nonce)
     or (old.kind not in ('new', 'unknown') and (old.kind <> 'payment' or old.ref is not null)
         and (new.kind, new.ref) is distinct from (old.kind, old.ref)) then
    raise exception 'a move of the treasury keeps what it is' using errcode = 'restrict_violation';
  end if;
  return new;
end $$;
create index treasury_move_unnamed on treasury_move (tx_hash) where kind = 'payment' and ref is null;

alter table treasury_cursor
  -- Since when the transfers do not leave the balance that the chain says, and when the blocks were last read again.
  add column missing_since timestamptz,
  add column reread_at timestamptz;

-- One number can be signed for two amounts, and anybody brings either to the chain. What is more than was asked is the
-- payer's credit. Permit2 authorizations (digits) are used by our facilitator alone.
alter table chain_payment drop constraint chain_payment_came_within,
  add constraint chain_payment_came_within check (came >= 1 and (came <= amount or nonce like '0x%'));
