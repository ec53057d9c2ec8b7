-- Links that make whoever is signed in and opens one a member, with or without a wallet.

create table invite_link (
  id text collate "C" primary key check (id ~ '^ivl_[0-9A-Za-z_-]{1,64}$'),
  organization_id text collate "C" not null references organization (id),
  hash text collate "C" not null check (hash ~ '^[0-9a-f]{64}$'),
  role text not null check (role in ('admin', 'developer', 'billing', 'viewer')),
  created_by text collate "C" not null,
  created_at timestamptz not null,
  expires_at timestamptz not null,
  max_uses integer not null check (max_uses between 1 and 100),
  uses integer not null,
  revoked_at timestamptz,
  constraint invite_link_one_hash unique (hash),
  constraint invite_link_uses check (uses between 0 and max_uses),
  constraint invite_link_window check (expires_at > created_at and expires_at <= created_at + interval '30 days')
);
-- An organisation lists its open links, newest first.
create index invite_link_by_organization on invite_link (organization_id, id) where revoked_at is null;

comment on table invite_link is 'Links that make a signed-in user a member of an organisation. A link works while its maker may change people.';
comment on column invite_link.hash is 'HMAC-SHA-256 of the secret in the link, in hex. The secret itself is not stored.';
comment on column invite_link.role is 'The role of new members. A link makes no owner.';
comment on column invite_link.created_by is 'The user or management key that made the link.';
comment on column invite_link.uses is 'The members who joined by the link.';
