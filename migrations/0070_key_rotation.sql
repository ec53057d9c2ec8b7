-- Secrets that a key had before its last rotation: each works beside the new one until its window is over. All of them
-- are one key, with one id, one set of limits and one count of what is spent.

create table key_former_secret (
  hash text collate "C" primary key check (hash ~ '^[0-9a-f]{64}$'),
  key_id text collate "C" not null references api_key (id),
  key_prefix text not null,
  replaced_at timestamptz not null,
  expires_at timestamptz not null,
  constraint key_former_secret_window check (expires_at between replaced_at and replaced_at + interval '7 days')
);
create index key_former_secret_by_key on key_former_secret (key_id, expires_at);
