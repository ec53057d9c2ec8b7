-- Buyers whose account pays from their wallet. The wallet lets the treasury take tokens (an allowance); the market advances
-- credit for it, and takes what was spent from the wallet afterwards, as a deposit. Amounts are micro-USD.

-- What was advanced to an account and not taken back. Below zero is what the wallet is to pay, or the account to give back.
alter table account drop constraint account_kind_check, add constraint account_kind_check check (kind in (
    'buyer_credit', 'job_escrow', 'seller_pending', 'seller_available', 'payout_in_flight', 'wallet_advance',
    'platform_fee', 'platform_shortfall', 'platform_capital', 'external_usdc', 'external_fiat', 'promo'));
alter table account drop constraint account_shortfall_owed, add constraint account_shortfall_owed check (
    balance <= 0 or kind not in ('platform_shortfall', 'wallet_advance'));
create index account_advanced on account (id) where kind = 'wallet_advance' and balance < 0;

alter table deposit drop constraint deposit_method_check, add constraint deposit_method_check check (
    method in ('transfer', 'authorization', 'allowance'));

-- An account that pays from its wallet.
create table allowance_line (
  account text collate "C" primary key references account (id),
  wallet text collate "C" not null check (wallet ~ '^0x[0-9a-f]{40}$'),
  -- The account of what was advanced.
  advance text collate "C" not null unique references account (id),
  -- The token, and the treasury that the wallet lets take it.
  chain_id bigint not null,
  asset text collate "C" not null check (asset ~ '^0x[0-9a-f]{40}$'),
  treasury text collate "C" not null check (treasury ~ '^0x[0-9a-f]{40}$'),
  -- Open: credit is advanced. Stopped: the wallet cannot pay what is owed. Closed: its owner ended it.
  state text not null default 'open' check (state in ('open', 'stopped', 'closed')),
  reason text check (length(reason) <= 200),
  -- What the chain said last. An allowance may be any number of 256 bits.
  balance numeric check (balance >= 0),
  allowance numeric check (allowance >= 0),
  read_at timestamptz,
  -- Since when the account has spent more than its own credit.
  owed_since timestamptz,
  -- Draws that failed since the last one that came, and when the next is tried.
  failures integer not null default 0 check (failures >= 0),
  retry_at timestamptz,
  opened_at timestamptz not null default now(),
  changed_at timestamptz not null default now(),
  constraint allowance_line_stopped check ((state = 'stopped') <= (reason is not null)),
  constraint allowance_line_read check ((balance is null) = (allowance is null))
);
create index allowance_line_by_reading on allowance_line (read_at nulls first);
create trigger allowance_line_kept before delete on allowance_line for each row execute function refuse_change();

-- A line keeps its account and wallet.
create function keep_allowance_line() returns trigger language plpgsql as $$
begin
  if (new.account, new.wallet, new.advance) is distinct from (old.account, old.wallet, old.advance) then
    raise exception 'a line keeps its account' using errcode = 'restrict_violation';
  end if;
  return new;
end $$;
create trigger allowance_line_keeps before update on allowance_line
  for each row execute function keep_allowance_line();

-- What the treasury takes from wallets: one transaction each.
create table allowance_draw (
  id text collate "C" primary key check (id ~ '^drw_[0-9A-Za-z_-]{1,64}$'),
  account text collate "C" not null references allowance_line (account),
  wallet text collate "C" not null check (wallet ~ '^0x[0-9a-f]{40}$'),
  amount bigint not null check (amount > 0),
  chain_id bigint not null,
  asset text collate "C" not null check (asset ~ '^0x[0-9a-f]{40}$'),
  treasury text collate "C" not null check (treasury ~ '^0x[0-9a-f]{40}$'),
  -- Planned: it waits for its review. Approved: it may be signed and sent. Settled: its tokens came and are a deposit.
  state text not null default 'planned' check (state in ('planned', 'approved', 'settled', 'failed')),
  reason text check (length(reason) <= 200),
  deposit text collate "C" unique references deposit (id),
  tx_hash text collate "C" check (tx_hash ~ '^0x[0-9a-f]{64}$'),
  block bigint,
  planned_at timestamptz not null default now(),
  changed_at timestamptz not null default now(),
  constraint allowance_draw_settled check (
    (state = 'settled') = (deposit is not null) and (state = 'settled') = (tx_hash is not null)
    and (state = 'settled') = (block is not null)),
  constraint allowance_draw_failed check ((state = 'failed') <= (reason is not null))
);
-- One at a time, so that nothing is taken twice.
create unique index allowance_draw_one_open on allowance_draw (account) where state in ('planned', 'approved');
create index allowance_draw_by_account on allowance_draw (account, id);
create trigger allowance_draw_kept before delete on allowance_draw for each row execute function refuse_change();

-- A draw keeps what it is. What had failed may still come, and what came stays.
create function keep_allowance_draw() returns trigger language plpgsql as $$
begin
  if (new.id, new.account, new.wallet, new.amount, new.chain_id, new.asset, new.treasury) is distinct from
     (old.id, old.account, old.wallet, old.amount, old.chain_id, old.asset, old.treasury)
     or (old.state = 'settled' and (new.state, new.deposit) is distinct from (old.state, old.deposit))
     or (old.state = 'failed' and new.state not in ('failed', 'settled'))
     or (old.state = 'approved' and new.state = 'planned') then
    raise exception 'a draw keeps what it is' using errcode = 'restrict_violation';
  end if;
  return new;
end $$;
create trigger allowance_draw_keeps before update on allowance_draw
  for each row execute function keep_allowance_draw();

-- Permits (EIP-2612) that wallets signed for the treasury. The treasury brings them to the chain.
create table allowance_permit (
  id text collate "C" primary key check (id ~ '^prm_[0-9A-Za-z_-]{1,64}$'),
  account text collate "C" not null references allowance_line (account),
  value numeric not null check (value >= 0),
  nonce numeric not null check (nonce >= 0),
  deadline timestamptz not null,
  signature text not null check (signature ~ '^0x[0-9a-f]{130}$'),
  state text not null default 'signed' check (state in ('signed', 'used', 'refused')),
  signed_at timestamptz not null default now(),
  changed_at timestamptz not null default now()
);
create unique index allowance_permit_one_open on allowance_permit (account) where state = 'signed';
create index allowance_permit_by_account on allowance_permit (account, id);
create trigger allowance_permit_kept before delete on allowance_permit for each row execute function refuse_change();
