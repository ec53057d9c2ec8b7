-- Money that goes out of the treasury: payouts to sellers, and sweeps to the operator's cold address. Amounts are
-- micro-USD, which are the token's own units.

-- Every settlement tells its offer.
create or replace view every_settlement as select rid, account, key_id, seller_account, hold_amount, charge, seller_net,
  fee, fee_bps, outcome, endpoint, output_tokens, reasoning_tokens, audio_output_tokens, payload_hash, posted_at, offer
  from settlement;
select write_archive_views();

-- What each offer has earned, and what of it went into payouts that were not returned. It is written with the entries of
-- the seller's account, while that account is locked, so it needs no locks of its own.
create table offer_earning (
  offer text collate "C" primary key,
  -- The seller's account.
  seller text collate "C" not null,
  earned bigint not null check (earned >= 0),
  allocated bigint not null default 0 check (allocated between 0 and earned)
);
create index offer_earning_by_seller on offer_earning (seller, offer);

insert into offer_earning (offer, seller, earned)
  select offer, max(seller_account), sum(seller_net) from every_settlement
  where offer is not null and seller_net > 0 group by offer;

-- Since when the payout address of an offer is what it is; null for one that it was listed with. A new one is not paid
-- for some time, so that a thief of a key cannot lead money away before its owner hears of it.
alter table offer add column payout_address_since timestamptz;

create table treasury_transfer (
  id text collate "C" primary key check (id ~ '^(pay|swp)_[0-9A-Za-z_-]{1,64}$'),
  purpose text not null check (purpose in ('payout', 'sweep')),
  -- Of a payout: the account that it pays out, and the one that has the money on its way.
  seller text collate "C" references account (id),
  in_flight text collate "C" references account (id),
  recipient text collate "C" not null check (recipient ~ '^0x[0-9a-f]{40}$'),
  amount bigint not null check (amount > 0),
  -- Who brings the authorization to the chain: the treasury, with those of others, or the seller.
  mode text not null check (mode in ('batched', 'self_submit')),
  state text not null default 'scheduled'
    check (state in ('scheduled', 'held', 'signed', 'mined', 'paid', 'returned')),
  -- Why it is held, late or was returned.
  reason text check (length(reason) <= 200),
  -- EIP-3009's nonce is made of the id alone, so the token itself lets a transfer happen once.
  nonce text collate "C" not null unique check (nonce ~ '^0x[0-9a-f]{64}$'),
  -- What was signed last, with the chain, token and treasury that it is for, and the end of the latest signature.
  chain_id bigint,
  asset text collate "C" check (asset ~ '^0x[0-9a-f]{40}$'),
  treasury text collate "C" check (treasury ~ '^0x[0-9a-f]{40}$'),
  signature text,
  valid_until timestamptz,
  -- The newest block when it was signed first. Its transfer is in none before.
  signed_at_block bigint,
  -- The transaction that is to carry it, with others.
  batch text collate "C",
  tx_hash text collate "C" check (tx_hash ~ '^0x[0-9a-f]{64}$'),
  block bigint,
  planned_at timestamptz not null default now(),
  changed_at timestamptz not null default now(),
  -- When it was paid or returned for good.
  ended_at timestamptz,
  constraint treasury_transfer_of_seller check (
    (purpose = 'payout') = (seller is not null) and (seller is null) = (in_flight is null)),
  constraint treasury_transfer_signed_whole check (
    (signature is null) = (valid_until is null) and (signature is null) = (treasury is null)
    and (signature is null) = (asset is null) and (signature is null) = (chain_id is null)
    and (signature is null) = (signed_at_block is null)),
  constraint treasury_transfer_signed check (state not in ('signed', 'mined', 'paid') or signature is not null),
  constraint treasury_transfer_mined check ((state in ('mined', 'paid')) = (tx_hash is not null)),
  constraint treasury_transfer_ended check ((state in ('paid', 'returned')) = (ended_at is not null))
);
-- What is not at its end, for the worker, and the money that it binds.
create index treasury_transfer_open on treasury_transfer (state, id) where state not in ('paid', 'returned');
create index treasury_transfer_by_batch on treasury_transfer (batch) where state = 'signed';
create index treasury_transfer_by_seller on treasury_transfer (seller, id) where seller is not null;

-- A transfer keeps what it is, ends once, and never goes back from its end.
create function keep_treasury_transfer() returns trigger language plpgsql as $$
begin
  if (new.id, new.purpose, new.seller, new.in_flight, new.recipient, new.amount, new.mode, new.nonce) is distinct from
     (old.id, old.purpose, old.seller, old.in_flight, old.recipient, old.amount, old.mode, old.nonce)
     or (old.ended_at is not null and new is distinct from old)
     or (old.signature is not null and (new.signature is null
       or (new.chain_id, new.asset, new.treasury) is distinct from (old.chain_id, old.asset, old.treasury)
       or new.valid_until < old.valid_until)) then
    raise exception 'a transfer keeps what it is' using errcode = 'restrict_violation';
  end if;
  return new;
end $$;
create trigger treasury_transfer_keeps before update on treasury_transfer
  for each row execute function keep_treasury_transfer();
create trigger treasury_transfer_kept before delete on treasury_transfer for each row execute function refuse_change();

-- Which offers' earnings a payout is made of. The empty offer stands for money that no offer earned.
create table payout_item (
  payout text collate "C" not null references treasury_transfer (id),
  offer text collate "C" not null,
  amount bigint not null check (amount > 0),
  primary key (payout, offer)
);
create trigger payout_item_kept before update or delete on payout_item for each row execute function refuse_change();

-- Sellers whom an operator does not pay.
create table seller_stop (
  id text collate "C" primary key,
  seller text collate "C" not null references account (id),
  reason text not null check (length(reason) between 1 and 500),
  set_at timestamptz not null default now(),
  set_by text not null,
  cleared_at timestamptz,
  cleared_by text,
  constraint seller_stop_cleared_whole check ((cleared_at is null) = (cleared_by is null))
);
create unique index seller_stop_in_force on seller_stop (seller) where cleared_at is null;
create trigger seller_stop_kept before delete on seller_stop for each row execute function refuse_change();

-- When balances were last turned into payouts.
create table payout_drain (
  is_only boolean primary key default true check (is_only),
  drained_at timestamptz not null
);
