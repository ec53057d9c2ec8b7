-- Of a payment by Permit2 only the call to x402's proxy tells which authorization moved it, and for whom that was signed.
-- Both are kept, so that a claim which is made again finds what came by it.
alter table treasury_move
  -- Digits.
  add column permit_nonce text check (permit_nonce ~ '^[0-9]{1,78}$'),
  -- The only sender that the authorization lets use it, in lower case.
  add column permit_by text,
  add constraint treasury_move_permit_whole check ((permit_nonce is null) = (permit_by is null));
create index treasury_move_by_permit on treasury_move (party, permit_nonce) where permit_nonce is not null;
create index treasury_move_credited on treasury_move (tx_hash) where kind = 'deposit';

create or replace function keep_treasury_move() returns trigger language plpgsql as $$
begin
  if (new.chain_id, new.asset, new.treasury, new.era, new.direction, new.tx_hash, new.place, new.party, new.amount, new.nonce)
       is distinct from
     (old.chain_id, old.asset, old.treasury, old.era, old.direction, old.tx_hash, old.place, old.party, old.amount, old.nonce)
     or (old.permit_nonce is not null
         and (new.permit_nonce, new.permit_by) is distinct from (old.permit_nonce, old.permit_by))
     or (old.kind not in ('new', 'unknown') and (old.kind <> 'payment' or old.ref is not null)
         and (new.kind, new.ref) is distinct from (old.kind, old.ref)) then
    raise exception 'a move of the treasury keeps what it is' using errcode = 'restrict_violation';
  end if;
  return new;
end $$;
