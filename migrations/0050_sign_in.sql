-- Signing in with a wallet: nonces that were used, and the sessions of browsers.

-- A nonce proves its own origin; what has to be remembered is that it was used, until it would be too old anyway.
create table used_nonce (
  nonce text collate "C" primary key check (nonce ~ '^[0-9a-f]{64}$'),
  expires_at timestamptz not null
);
create index used_nonce_by_end on used_nonce (expires_at);

-- Sessions by the HMAC of their cookie; the cookie itself stands nowhere.
create table web_session (
  id text collate "C" primary key check (id ~ '^ses_[0-9A-Za-z_-]{1,64}$'),
  hash text collate "C" not null check (hash ~ '^[0-9a-f]{64}$'),
  user_id text collate "C" not null references app_user (id),
  created_at timestamptz not null,
  last_used_at timestamptz not null,
  expires_at timestamptz not null,
  constraint web_session_one_hash unique (hash)
);
create index web_session_by_user on web_session (user_id, id);
create index web_session_by_end on web_session (expires_at);
