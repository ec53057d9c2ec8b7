-- A transfer that was given up may come all the same, until its authorization is over. Its payment is then mined like
-- others and booked again, although its write-off was booked before.
create or replace function keep_chain_payment() returns trigger language plpgsql as $$
begin
  if (new.rid, new.rail, new.network, new.asset, new.payer, new.nonce, new.account, new.amount, new.payload) is distinct from
     (old.rid, old.rail, old.network, old.asset, old.payer, old.nonce, old.account, old.amount, old.payload)
     or (old.due is not null and new.due is distinct from old.due
         and not (old.state = 'mined' and new.state = 'confirmed' and new.due > old.due))
     or (old.event is not null and new.event is distinct from old.event)
     or (old.booked_at is not null and (new.state, new.booked_at) is distinct from (old.state, old.booked_at)
         and not (old.state = 'written_off' and new.state = 'mined' and new.booked_at is null)) then
    raise exception 'a payment keeps what it is' using errcode = 'restrict_violation';
  end if;
  return new;
end $$;
-- Those that are looked for.
create index chain_payment_given_up on chain_payment (valid_until) where state = 'written_off';
