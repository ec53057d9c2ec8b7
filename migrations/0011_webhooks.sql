-- Where buyers want to be told of caps and balances, what they were told, and how each delivery went.

create table webhook (
  id text collate "C" primary key check (id ~ '^whk_[0-9A-Za-z_-]{1,64}$'),
  account text collate "C" not null references account (id),
  url text not null check (length(url) <= 2048),
  label text check (length(label) <= 200),
  events text[] not null check (cardinality(events) > 0),
  -- Below this balance in micro-USD the buyer is told; null for never.
  low_balance_micro bigint check (low_balance_micro > 0),
  is_enabled boolean not null,
  -- Sealed signing secrets: the present one, and the one before it for as long as it signs, too.
  secret jsonb not null,
  former_secret jsonb,
  former_until timestamptz,
  created_at timestamptz not null,
  updated_at timestamptz not null,
  constraint webhook_former check ((former_secret is null) = (former_until is null))
);
-- A buyer lists its webhooks.
create index webhook_by_account on webhook (account, id);

-- What a webhook was told already, so that it is told once: of a key in a day or month, or of the balance until it has
-- risen again.
create table webhook_alert (
  webhook_id text collate "C" not null references webhook (id) on delete cascade,
  subject text collate "C" not null,
  mark text collate "C" not null,
  at timestamptz not null,
  primary key (webhook_id, subject, mark)
);
-- Old ones are removed.
create index webhook_alert_by_age on webhook_alert (at);

create table webhook_delivery (
  id text collate "C" primary key check (id ~ '^whd_[0-9A-Za-z_-]{1,64}$'),
  webhook_id text collate "C" not null references webhook (id) on delete cascade,
  event text not null,
  -- The bytes that are signed and sent.
  body text not null check (length(body) <= 65536),
  status text not null check (status in ('pending', 'delivered', 'failed')),
  attempts int not null default 0 check (attempts >= 0),
  -- Of the last attempt: HTTP status, null where there was none, and what went wrong.
  status_code int,
  error text check (length(error) <= 500),
  created_at timestamptz not null,
  attempted_at timestamptz,
  delivered_at timestamptz
);
-- The deliveries of a webhook, newest first.
create index webhook_delivery_by_webhook on webhook_delivery (webhook_id, id);
-- Those that are still to be sent.
create index webhook_delivery_waiting on webhook_delivery (id) where status = 'pending';
