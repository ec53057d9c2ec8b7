-- The playground: secrets of an hour at most, which a browser that is signed in pays its calls with.

alter table api_key add column is_playground boolean not null default false;
alter table api_key add constraint api_key_playground_is_capped
  check (not is_playground or (type = 'buyer' and cap_daily_micro is not null and expires_at is null));
comment on column api_key.is_playground is 'True for the key that the playground of its user pays with. It has a cap of the day, and nobody knows its own secret.';
-- A user has one such key in each workspace, and one outside of any.
create unique index api_key_one_playground on api_key (user_id, coalesce(workspace_id, '')) where is_playground and revoked_at is null;

create table key_session_secret (
  hash text collate "C" primary key check (hash ~ '^[0-9a-f]{64}$'),
  key_id text collate "C" not null references api_key (id),
  session_id text collate "C" references web_session (id) on delete set null,
  created_at timestamptz not null,
  expires_at timestamptz not null,
  constraint key_session_secret_window check (expires_at >= created_at and expires_at <= created_at + interval '1 hour')
);
-- The store of keys has every secret of a key.
create index key_session_secret_by_key on key_session_secret (key_id);
-- A session's oldest secrets end when it has too many, and all of them with the session.
create index key_session_secret_by_session on key_session_secret (session_id, created_at) where session_id is not null;
-- Those past their end are removed.
create index key_session_secret_by_end on key_session_secret (expires_at);
comment on table key_session_secret is 'Further secrets of a key, which sessions opened. They pay for calls and open no account path.';
comment on column key_session_secret.hash is 'HMAC-SHA-256 of the secret, in hex.';
comment on column key_session_secret.session_id is 'The session that opened it. Null once that has ended.';
comment on column key_session_secret.expires_at is 'When it ends. Equal to created_at once it was ended early.';

-- A session ends in many ways. Its secrets end with it in each of them.
create function end_session_secrets() returns trigger language plpgsql as $$
begin
  insert into key_change (key_id) select distinct key_id from key_session_secret
    where session_id = old.id and expires_at > created_at;
  update key_session_secret set expires_at = created_at where session_id = old.id;
  return old;
end $$;
create trigger web_session_ends_secrets before delete on web_session for each row execute function end_session_secrets();
