-- A ledger that went back in time lacks what left since. Nothing leaves until the journals and the chain have told it.

alter table money_epoch
  -- Since when nothing leaves, set by the statement that records the step back; null while money may leave.
  add column held_at timestamptz,
  -- When the nodes had registered their captures again.
  add column joined_at timestamptz,
  add constraint money_epoch_joined check (joined_at is null or held_at is not null);

-- A transfer is named by its recipient, its seller and a running number, so one that the ledger lost can be told from the
-- chain alone, and one that is planned again has the same nonce. Older transfers have none.
alter table treasury_transfer
  add column number bigint check (number > 0),
  -- When it was found on the chain without a row, or with a row that nobody had signed.
  add column found_at timestamptz,
  drop constraint treasury_transfer_nonce_key,
  drop constraint treasury_transfer_signed_whole,
  drop constraint treasury_transfer_signed,
  add constraint treasury_transfer_signed_whole check (
    (signature is null) = (valid_until is null) and (signature is null) = (signed_at_block is null)
    and (treasury is null) = (asset is null) and (treasury is null) = (chain_id is null)
    and (treasury is null) = (signature is null and found_at is null)),
  add constraint treasury_transfer_signed check (
    state not in ('signed', 'mined') and (state <> 'paid' or found_at is not null) or signature is not null);
-- What was returned can move nothing any more, and its name may be that of another that did.
create unique index treasury_transfer_by_nonce on treasury_transfer (nonce) where state <> 'returned';
create index treasury_transfer_by_recipient on treasury_transfer (recipient, seller);

-- A transfer keeps what it is, ends once, and never goes back from its end.
create or replace function keep_treasury_transfer() returns trigger language plpgsql as $$
begin
  if (new.id, new.purpose, new.seller, new.in_flight, new.recipient, new.amount, new.mode, new.nonce, new.number)
       is distinct from
     (old.id, old.purpose, old.seller, old.in_flight, old.recipient, old.amount, old.mode, old.nonce, old.number)
     or (old.ended_at is not null and new is distinct from old)
     or (old.found_at is not null and new.found_at is distinct from old.found_at)
     or (old.signature is not null and (new.signature is null
       or (new.chain_id, new.asset, new.treasury) is distinct from (old.chain_id, old.asset, old.treasury)
       or new.valid_until < old.valid_until)) then
    raise exception 'a transfer keeps what it is' using errcode = 'restrict_violation';
  end if;
  return new;
end $$;
