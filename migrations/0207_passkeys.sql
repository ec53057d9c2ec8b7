-- Accounts without a wallet: their users sign in with passkeys, and link a wallet when they need one.

alter table app_user alter column wallet drop not null;
alter table app_user add column wallet_since timestamptz;
comment on column app_user.wallet is 'The wallet, in lower case. Null until one is linked. It is linked once.';

comment on column app_user.wallet_since is 'When the wallet was linked. Payouts to it wait from then on. Null for a user that began with it.';

create function keep_wallet() returns trigger language plpgsql as $$
begin
  if old.wallet is not null and new.wallet is distinct from old.wallet then
    raise exception 'a user keeps its wallet' using errcode = 'restrict_violation';
  end if;
  return new;
end $$;
create trigger app_user_wallet_kept before update of wallet on app_user for each row execute function keep_wallet();

create table passkey (
  id text collate "C" primary key check (id ~ '^psk_[0-9A-Za-z_-]{1,64}$'),
  user_id text collate "C" not null references app_user (id),
  credential_id text collate "C" not null check (credential_id ~ '^[0-9A-Za-z_-]+$' and length(credential_id) <= 1400),
  public_key bytea not null check (length(public_key) between 1 and 2000),
  counter bigint not null check (counter between 0 and 4294967295),
  label text not null check (length(label) between 1 and 200),
  created_at timestamptz not null,
  last_used_at timestamptz,
  constraint passkey_one_credential unique (credential_id)
);
-- A user lists its passkeys.
create index passkey_by_user on passkey (user_id, id);
comment on table passkey is 'Passkeys (WebAuthn credentials) that users sign in with.';
comment on column passkey.credential_id is 'The id that the authenticator gave, in base64url.';
comment on column passkey.public_key is 'The public key, as COSE writes it.';
comment on column passkey.counter is 'The signature counter of the last use. It never goes back. 0 is an authenticator without one.';

create table recovery_code (
  user_id text collate "C" primary key references app_user (id),
  hash text collate "C" not null check (hash ~ '^[0-9a-f]{64}$'),
  created_at timestamptz not null,
  constraint recovery_code_one_hash unique (hash)
);
comment on table recovery_code is 'The code with which a user gets in without a passkey. It works once, and its use makes the next one.';
comment on column recovery_code.hash is 'HMAC-SHA-256 of the code, in hex.';
