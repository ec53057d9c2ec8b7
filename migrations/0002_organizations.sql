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
-- The organisations of a user.
create index organization_member_by_user on organization_member (user_id, organization_id);

-- An invitation is for a wallet, which need not have been here before.
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
-- A wallet has one open invitation of an organisation.
create unique index organization_invitation_one_open on organization_invitation (organization_id, wallet)
  where answered_at is null;
-- What waits for the answer of a wallet.
create index organization_invitation_by_wallet on organization_invitation (wallet, id) where answered_at is null;

-- A closed workspace stays to be read, and nothing begins in it again.
create table workspace (
  id text collate "C" primary key check (id ~ '^wsp_[0-9A-Za-z_-]{1,64}$'),
  organization_id text collate "C" not null references organization (id),
  name text not null check (length(name) between 1 and 200),
  buyer_account text collate "C" not null references account (id),
  seller_account text collate "C" not null references account (id),
  created_at timestamptz not null,
  closed_at timestamptz,
  constraint workspace_one_buyer_account unique (buyer_account),
  constraint workspace_one_seller_account unique (seller_account)
);
-- A closed workspace gives its name free.
create unique index workspace_one_name on workspace (organization_id, name) where closed_at is null;

create function keep_closed() returns trigger language plpgsql as $$
begin
  if old.closed_at is not null then
    raise exception 'a closed workspace stays as it is' using errcode = 'restrict_violation';
  end if;
  return new;
end $$;
create trigger workspace_stays_closed before update on workspace for each row execute function keep_closed();

-- The row lock makes whoever closes wait for what has just begun, and what begins wait for who closes. A transaction
-- that read the workspace before it was closed is told to try again, and then sees that it is.
create function refuse_closed_workspace(workspace text) returns void language plpgsql as $$
begin
  perform 1 from workspace w where w.id = workspace and w.closed_at is null for share;
  if not found then
    raise exception 'the workspace was closed in the meantime' using errcode = 'serialization_failure';
  end if;
end $$;
