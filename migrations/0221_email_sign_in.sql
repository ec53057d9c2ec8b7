-- Addresses that sign in, and the links that are sent to them.

create table email_address (
  id text collate "C" primary key check (id ~ '^eml_[0-9A-Za-z_-]{1,64}$'),
  user_id text collate "C" not null references app_user (id),
  address text collate "C" not null check (
    length(address) <= 254 and address = lower(address) and address ~ '^[!-?A-~]+@[0-9a-z.-]+$'
  ),
  created_at timestamptz not null,
  last_used_at timestamptz,
  constraint email_address_one_account unique (address)
);
-- A user lists its addresses.
create index email_address_by_user on email_address (user_id, id);
comment on table email_address is 'E-mail addresses that a link has verified. Each signs its user in.';
comment on column email_address.address is 'In lower case; an international domain in its ASCII form.';

create table email_link (
  hash text collate "C" primary key check (hash ~ '^[0-9a-f]{64}$'),
  address text collate "C" not null check (length(address) <= 254),
  purpose text not null check (purpose in ('sign_in', 'add')),
  user_id text collate "C" references app_user (id),
  browser_hash text collate "C" not null check (browser_hash ~ '^[0-9a-f]{64}$'),
  created_at timestamptz not null,
  expires_at timestamptz not null,
  constraint email_link_user check ((purpose = 'add') = (user_id is not null))
);
-- The open links of an address are counted.
create index email_link_by_address on email_link (address, expires_at);
-- Old links are removed.
create index email_link_by_age on email_link (expires_at);
comment on table email_link is 'Links that were sent to an address. A link works once, and its row goes with its use.';
comment on column email_link.hash is 'HMAC-SHA-256 of the secret of the link, in hex.';
comment on column email_link.user_id is 'The user who adds the address. Null for a link that signs in.';
comment on column email_link.browser_hash is 'HMAC-SHA-256 of the cookie of the browser that asked, in hex.';
