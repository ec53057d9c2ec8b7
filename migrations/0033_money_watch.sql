-- What the scheduled checks of money found, and what follows from it.

-- One row a run of the checker.
create table invariant_run (
  id text collate "C" primary key,
  started_at timestamptz not null,
  took_ms integer not null check (took_ms >= 0),
  findings jsonb not null,
  breaches text[] not null,
  -- Why there are no findings: one of the records could not be read.
  failure text
);
create trigger invariant_run_kept before update on invariant_run for each row execute function refuse_change();

-- What a sweep found to differ; one row as long as it lasts.
create table money_finding (
  kind text not null,
  subject text collate "C" not null,
  detail text not null,
  first_seen_at timestamptz not null default now(),
  last_seen_at timestamptz not null default now(),
  times_seen integer not null default 1,
  -- Null as long as the latest comparison shows it.
  gone_at timestamptz,
  primary key (kind, subject)
);

-- Payouts wait while a row here is not cleared. Only a person clears one.
create table payout_hold (
  id text collate "C" primary key,
  reason text not null,
  set_at timestamptz not null default now(),
  cleared_at timestamptz,
  cleared_by text,
  clear_reason text check (length(clear_reason) between 1 and 500),
  constraint payout_hold_cleared_whole check ((cleared_at is null) = (cleared_by is null)
    and (cleared_at is null) = (clear_reason is null))
);
create unique index payout_hold_in_force on payout_hold (reason) where cleared_at is null;
create trigger payout_hold_kept before delete on payout_hold for each row execute function refuse_change();

-- The caps that an offer had: what was taken under a higher one earlier today is no breach of a lower one.
create table offer_cap_change (
  id bigint generated always as identity primary key,
  offer text collate "C" not null,
  -- What it was until then; null for none.
  cap_daily_micro bigint,
  at timestamptz not null default now()
);
create index offer_cap_change_by_offer on offer_cap_change (offer, at);

create function note_cap_change() returns trigger language plpgsql as $$
begin
  insert into offer_cap_change (offer, cap_daily_micro) values (old.id, old.cap_daily_micro);
  return null;
end $$;
create trigger offer_cap_noted after update of cap_daily_micro on offer for each row
  when (old.cap_daily_micro is distinct from new.cap_daily_micro) execute function note_cap_change();
