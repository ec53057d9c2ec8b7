-- Access tokens that are made for credentials that are accounts. The snapshot carries the token in the account's place.

create table credential_token (
  credential_id text collate "C" primary key references credential (id) on delete cascade,
  sealed jsonb,
  expires_at timestamptz,
  -- The time of the next making. A worker that makes a token puts it off first.
  next_at timestamptz not null,
  failures integer not null default 0 check (failures >= 0),
  failure text check (length(failure) between 1 and 200),
  -- The last time when a refusal by the provider brought the next making forward.
  forwarded_at timestamptz,
  check ((sealed is null) = (expires_at is null))
);
create index credential_token_due on credential_token (next_at);
comment on table credential_token is 'Access tokens of credentials that are accounts. An account without a good token is not called with.';
comment on column credential_token.sealed is 'The token, sealed for the tenant and the host of its credential. Null before the first one.';
comment on column credential_token.next_at is 'The time of the next making. A worker that makes a token puts it off first.';
comment on column credential_token.failures is 'Makings in a row that have failed.';
comment on column credential_token.failure is 'Why the last making failed. Null where it did not.';
comment on column credential_token.forwarded_at is 'The last time when a refusal by the provider brought the next making forward.';
