-- A browser may also be signed in with a key. Such a session has the rights of that key, and ends with it.
alter table web_session alter column user_id drop not null;
alter table web_session add column key_id text collate "C" references api_key (id);
alter table web_session add constraint web_session_of_one check (num_nonnulls(user_id, key_id) = 1);
-- A key's oldest sessions end when it has too many.
create index web_session_by_key on web_session (key_id, id) where key_id is not null;

-- Codes that sign a browser in with the key that made them. A row goes when its code is redeemed, so it works once.
create table sign_in_code (
  hash text collate "C" primary key check (hash ~ '^[0-9a-f]{64}$'),
  key_id text collate "C" not null references api_key (id),
  created_at timestamptz not null,
  expires_at timestamptz not null,
  constraint sign_in_code_window check (expires_at > created_at and expires_at <= created_at + interval '1 day')
);
-- A key's oldest codes go when it has too many.
create index sign_in_code_by_key on sign_in_code (key_id, created_at);
-- Those past their end are removed.
create index sign_in_code_by_end on sign_in_code (expires_at);
