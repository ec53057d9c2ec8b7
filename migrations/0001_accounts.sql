-- Accounts of the double-entry ledger. Amounts are micro-USD everywhere. Constraints, not callers, keep what must hold.

create function refuse_change() returns trigger language plpgsql as $$
begin
  raise exception '% rows are never changed or deleted', tg_table_name using errcode = 'restrict_violation';
end $$;

create table account (
  id text collate "C" primary key check (id ~ '^acc_[0-9A-Za-z_-]{1,64}$'),
  kind text not null check (kind in (
    'buyer_credit', 'job_escrow', 'seller_pending', 'seller_available', 'payout_in_flight',
    'platform_fee', 'platform_shortfall', 'external_usdc', 'external_fiat', 'promo')),
  -- The wallet user or organisation; null for the platform's own accounts.
  owner text,
  currency text not null default 'USD' check (currency = 'USD'),
  balance bigint not null default 0,
  -- The number of entries that changed the balance: the spending gate never goes back to an older one.
  version bigint not null default 0 check (version >= 0),
  -- Accounts that every call touches have no row to fight over: their balance is the sum of their entries.
  is_summed boolean not null
    generated always as (kind in ('platform_fee', 'external_usdc', 'external_fiat', 'promo')) stored,
  created_at timestamptz not null default now(),
  constraint account_not_overdrawn check (
    balance >= 0 or kind not in (
      'buyer_credit', 'job_escrow', 'seller_pending', 'seller_available', 'payout_in_flight')),
  -- The gate compares balances as doubles, exact below this (100 million USD).
  constraint account_within_limit check (kind <> 'buyer_credit' or balance < 100000000000000),
  constraint account_shortfall_owed check (balance <= 0 or kind <> 'platform_shortfall'),
  constraint account_summed_is_bare check ((balance = 0 and version = 0)
    or kind not in ('platform_fee', 'external_usdc', 'external_fiat', 'promo')),
  constraint account_owner_known check ((owner is null) = (kind in (
    'platform_fee', 'platform_shortfall', 'external_usdc', 'external_fiat', 'promo')))
);

create unique index account_platform_once on account (kind) where owner is null;
create index account_by_owner on account (owner, kind) where owner is not null;
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
create index account_change_by_age on account_change (changed_at);
