-- What the chain moved of a payment, once its block is deep enough. It may be more than was due, and then the rest is its
-- payer's credit. It may be less, and then the platform stands in for the rest, which the payer owes.
alter table chain_payment add column came bigint;
-- What was due has been set to what had come, where that was more.
update chain_payment set came = due where state = 'confirmed';
alter table chain_payment
  add constraint chain_payment_came_within check (came between 1 and amount),
  add constraint chain_payment_came_final check (came is null or state in ('confirmed', 'written_off')),
  add constraint chain_payment_came_known check (state <> 'confirmed' or came is not null);

create or replace function keep_chain_payment() returns trigger language plpgsql as $$
begin
  if (new.rid, new.rail, new.network, new.asset, new.payer, new.nonce, new.account, new.amount, new.payload) is distinct from
     (old.rid, old.rail, old.network, old.asset, old.payer, old.nonce, old.account, old.amount, old.payload)
     or (old.due is not null and new.due is distinct from old.due)
     or (old.came is not null and new.came is distinct from old.came)
     or (old.event is not null and new.event is distinct from old.event)
     or (old.booked_at is not null and (new.state, new.booked_at) is distinct from (old.state, old.booked_at)
         and not (old.state = 'written_off' and old.came is null and new.state = 'mined' and new.booked_at is null)) then
    raise exception 'a payment keeps what it is' using errcode = 'restrict_violation';
  end if;
  return new;
end $$;
