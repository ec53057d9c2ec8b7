-- Payments by wallets: the authorizations that were taken for calls, and the transactions that carry them to the chain.
-- Amounts are micro-USD, which are the token's own units.

create table chain_payment (
  -- The request id of the call.
  rid text collate "C" primary key check (rid ~ '^[0-7][0-9A-HJKMNP-TV-Z]{25}$'),
  rail text not null check (rail in ('x402-upto', 'x402-exact', 'mpp')),
  network text collate "C" not null,
  asset text collate "C" not null check (asset ~ '^0x[0-9a-f]{40}$'),
  payer text collate "C" not null check (payer ~ '^0x[0-9a-f]{40}$'),
  nonce text collate "C" not null check (length(nonce) between 1 and 100),
  -- The payer's buyer account, which has what was paid and not used.
  account text collate "C" not null references account (id),
  -- The most that may be taken.
  amount bigint not null check (amount > 0),
  -- What is to be transferred, once that is known.
  due bigint,
  charge bigint,
  -- The usage event of the call, byte for byte, once it is known.
  event text,
  state text not null default 'claimed'
    check (state in ('claimed', 'due', 'mined', 'confirmed', 'released', 'written_off')),
  payload jsonb not null,
  requirement jsonb not null,
  body_digest text not null check (body_digest ~ '^[0-9a-f]{64}$'),
  -- The end of the authorization on the chain, and the end of the call that it was claimed for.
  valid_until timestamptz not null,
  serve_until timestamptz not null,
  tx_hash text collate "C",
  block bigint,
  -- Why it was written off or is late.
  reason text check (length(reason) <= 200),
  claimed_at timestamptz not null default now(),
  changed_at timestamptz not null default now(),
  -- When the ledger had it.
  booked_at timestamptz,
  -- When an operator forgave a debt.
  cleared_at timestamptz,
  constraint chain_payment_due_within check (due between 1 and amount),
  constraint chain_payment_charge_within check (charge between 0 and due),
  constraint chain_payment_charge_told check ((charge is null) = (event is null)),
  constraint chain_payment_due_known check (state in ('claimed', 'released') or due is not null),
  constraint chain_payment_mined_named check (state not in ('mined', 'confirmed') or tx_hash is not null),
  -- One authorization pays for one call.
  constraint chain_payment_once unique (network, asset, payer, nonce)
);
-- What is not at its end, for the worker.
create index chain_payment_open on chain_payment (changed_at)
  where state in ('claimed', 'due', 'mined') or (booked_at is null and state in ('confirmed', 'written_off'));
-- What a payer owes or may come to owe.
create index chain_payment_exposed on chain_payment (payer) where state in ('claimed', 'due', 'mined', 'written_off');
create index chain_payment_by_account on chain_payment (account, rid);

create function keep_chain_payment() returns trigger language plpgsql as $$
begin
  if (new.rid, new.rail, new.network, new.asset, new.payer, new.nonce, new.account, new.amount, new.payload) is distinct from
     (old.rid, old.rail, old.network, old.asset, old.payer, old.nonce, old.account, old.amount, old.payload)
     or (old.due is not null and new.due is distinct from old.due)
     or (old.event is not null and new.event is distinct from old.event)
     or (old.booked_at is not null and (new.state, new.booked_at) is distinct from (old.state, old.booked_at)) then
    raise exception 'a payment keeps what it is' using errcode = 'restrict_violation';
  end if;
  return new;
end $$;
create trigger chain_payment_keeps before update on chain_payment for each row execute function keep_chain_payment();
create trigger chain_payment_kept before delete on chain_payment for each row execute function refuse_change();

-- The next nonce of each key that sends transactions. Every process that uses the key takes its nonces here.
create table chain_sender (
  address text collate "C" primary key check (address ~ '^0x[0-9a-f]{40}$'),
  next_nonce bigint not null check (next_nonce >= 0)
);

-- Transactions as they were signed. They are stored before they are sent, and sent again until they are in a block.
create table chain_transaction (
  hash text collate "C" primary key check (hash ~ '^0x[0-9a-f]{64}$'),
  sender text collate "C" not null references chain_sender (address),
  nonce bigint not null,
  -- What it is for: the network, asset, payer and nonce of a payment.
  ref text collate "C" not null,
  raw text not null,
  is_reverted boolean,
  mined_at timestamptz,
  signed_at timestamptz not null default now(),
  sent_at timestamptz,
  -- A transaction that replaces another has its nonce, and a higher fee.
  unique (sender, nonce, hash)
);
create index chain_transaction_by_ref on chain_transaction (ref, signed_at);
create index chain_transaction_unmined on chain_transaction (sender, nonce) where mined_at is null;
create trigger chain_transaction_kept before delete on chain_transaction for each row execute function refuse_change();
