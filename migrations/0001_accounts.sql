-- Accounts of the double-entry ledger, and the wallets that own them.
-- Amounts are micro-USD everywhere. Constraints keep what must hold, whoever calls.

-- Guards rows that are written once.
create function refuse_change() returns trigger language plpgsql as $$
begin
  raise exception '% rows are never changed or deleted', tg_table_name using errcode = 'restrict_violation';
end $$;

-- What each kind is for stands in shared/ledger/account-kinds.ts; a test compares that table with the checks below.
create table account (
  id text collate "C" primary key check (id ~ '^acc_[0-9A-Za-z_-]{1,64}$'),
  kind text not null check (kind in (
    'buyer_credit', 'job_escrow', 'seller_pending', 'seller_available', 'payout_in_flight',
    'platform_fee', 'platform_shortfall', 'external_usdc', 'external_fiat', 'promo')),
  -- The wallet user or organisation; null for the platform's own accounts.
  owner text,
  currency text not null default 'USD' check (currency = 'USD'),
  balance bigint not null default 0,
  -- The number of entries that changed the balance. The spending gate never goes back to an older one.
  version bigint not null default 0 check (version >= 0),
  -- Every call touches these accounts, so a row of theirs would be fought over. Their balance is the sum of their entries.
  is_summed boolean not null
    generated always as (kind in ('platform_fee', 'external_usdc', 'external_fiat', 'promo')) stored,
  created_at timestamptz not null default now(),
  -- Nobody spends what is not there. The platform alone may owe, and the world outside has no floor.
  constraint account_not_overdrawn check (
    balance >= 0 or kind not in (
      'buyer_credit', 'job_escrow', 'seller_pending', 'seller_available', 'payout_in_flight')),
  -- The gate compares balances as doubles, which are exact below this (100 million USD).
  constraint account_within_limit check (kind <> 'buyer_credit' or balance < 100000000000000),
  constraint account_shortfall_owed check (balance <= 0 or kind <> 'platform_shortfall'),
  constraint account_summed_is_bare check ((balance = 0 and version = 0)
    or kind not in ('platform_fee', 'external_usdc', 'external_fiat', 'promo')),
  constraint account_owner_known check ((owner is null) = (kind in (
    'platform_fee', 'platform_shortfall', 'external_usdc', 'external_fiat', 'promo')))
);
-- The platform has one account of each of its kinds.
create unique index account_platform_once on account (kind) where owner is null;
-- The accounts of an owner.
create index account_by_owner on account (owner, kind) where owner is not null;
-- The gate is seeded with buyers that have money, in the order of their ids.
create index account_funded on account (id) where kind = 'buyer_credit' and balance > 0;

create function keep_account_identity() returns trigger language plpgsql as $$
begin
  if new.id <> old.id or new.kind <> old.kind or new.owner is distinct from old.owner then
    raise exception 'an account keeps its id, kind and owner' using errcode = 'restrict_violation';
  end if;
  if new.version < old.version or (new.version = old.version and new.balance <> old.balance) then
    raise exception 'a balance moves only with its version' using errcode = 'restrict_violation';
  end if;
  return new;
end $$;
create trigger account_identity before update on account for each row execute function keep_account_identity();
create trigger account_kept before delete on account for each row execute function refuse_change();
create trigger account_not_truncated before truncate on account for each statement execute function refuse_change();

insert into account (id, kind) values
  ('acc_platform_fee', 'platform_fee'),
  ('acc_platform_shortfall', 'platform_shortfall'),
  ('acc_external_usdc', 'external_usdc'),
  ('acc_external_fiat', 'external_fiat'),
  ('acc_promo', 'promo');

-- The outbox to the spending gate: the newest balance of each buyer account that the gate has not confirmed.
create table account_change (
  account text collate "C" primary key references account (id),
  balance bigint not null,
  version bigint not null,
  changed_at timestamptz not null default now()
);
-- The gate is told in the order of change.
create index account_change_by_age on account_change (changed_at);

-- Owners of wallets. One wallet is one user, with an account on each side of the market.
create table app_user (
  id text collate "C" primary key check (id ~ '^usr_[0-9A-Za-z_-]{1,64}$'),
  wallet text collate "C" not null check (wallet ~ '^0x[0-9a-f]{40}$'),
  buyer_account text collate "C" not null references account (id),
  seller_account text collate "C" not null references account (id),
  created_at timestamptz not null,
  constraint app_user_one_wallet unique (wallet),
  constraint app_user_one_buyer_account unique (buyer_account),
  constraint app_user_one_seller_account unique (seller_account)
);
