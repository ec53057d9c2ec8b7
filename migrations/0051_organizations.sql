-- Organisations: wallets that work together, and workspaces with accounts of their own.

create table organization (
  id text collate "C" primary key check (id ~ '^org_[0-9A-Za-z_-]{1,64}$'),
  name text not null check (length(name) between 1 and 200),
  created_at timestamptz not null
);

create table organization_member (
  organization_id text collate "C" not null references organization (id),
  user_id text collate "C" not null references app_user (id),
  role text not null check (role in ('owner', 'admin', 'developer', 'billing', 'viewer')),
  created_at timestamptz not null,
  primary key (organization_id, user_id)
);
create index organization_member_by_user on organization_member (user_id, organization_id);

-- For a wallet, which need not have been here before.
create table organization_invitation (
  id text collate "C" primary key check (id ~ '^inv_[0-9A-Za-z_-]{1,64}$'),
  organization_id text collate "C" not null references organization (id),
  wallet text collate "C" not null check (wallet ~ '^0x[0-9a-f]{40}$'),
  role text not null check (role in ('owner', 'admin', 'developer', 'billing', 'viewer')),
  invited_by text collate "C" not null,
  created_at timestamptz not null,
  expires_at timestamptz not null,
  answered_at timestamptz,
  answer text check (answer in ('accepted', 'declined', 'withdrawn')),
  constraint organization_invitation_answer check ((answered_at is null) = (answer is null))
);
create unique index organization_invitation_one_open on organization_invitation (organization_id, wallet)
  where answered_at is null;
create index organization_invitation_by_wallet on organization_invitation (wallet, id) where answered_at is null;

create table workspace (
  id text collate "C" primary key check (id ~ '^wsp_[0-9A-Za-z_-]{1,64}$'),
  organization_id text collate "C" not null references organization (id),
  name text not null check (length(name) between 1 and 200),
  buyer_account text collate "C" not null references account (id),
  seller_account text collate "C" not null references account (id),
  created_at timestamptz not null,
  constraint workspace_one_name unique (organization_id, name),
  constraint workspace_one_buyer_account unique (buyer_account),
  constraint workspace_one_seller_account unique (seller_account)
);

alter table api_key
  -- Of a management key: whose it is, what it may do there, and which member made it.
  add column organization_id text collate "C" references organization (id),
  add column organization_role text check (organization_role in ('admin', 'developer', 'billing', 'viewer')),
  add column made_by text collate "C" references app_user (id),
  -- Of a member's key: the workspace whose accounts it uses in place of the wallet's own.
  add column workspace_id text collate "C" references workspace (id);

-- Keys from before there were organisations reach none.
update api_key set revoked_at = now() where scope = 'org' and revoked_at is null;
alter table api_key
  add constraint api_key_organization check (
    scope is distinct from 'org' or revoked_at is not null or organization_id is not null),
  add constraint api_key_organization_role check ((organization_id is null) = (organization_role is null)),
  add constraint api_key_workspace check (workspace_id is null or user_id is not null);
create index api_key_by_organization on api_key (organization_id, id) where organization_id is not null;
create index api_key_by_workspace on api_key (workspace_id, id) where workspace_id is not null;

alter table audit_log add column organization text collate "C";
create index audit_log_by_organization on audit_log (organization, id) where organization is not null;
