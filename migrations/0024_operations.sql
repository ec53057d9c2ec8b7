-- What operations leave behind: answers to replay, and who did what.

create table idempotency (
  tenant text not null,
  operation text not null,
  key text not null check (length(key) between 1 and 255),
  -- HMAC of the request.
  request_hash text not null,
  -- Null while the first run goes on.
  answer jsonb,
  claimed_at timestamptz not null,
  lease_until timestamptz not null,
  expires_at timestamptz not null,
  primary key (tenant, operation, key)
);
create index idempotency_by_end on idempotency (expires_at);

create table audit_log (
  id text collate "C" primary key,
  at timestamptz not null,
  actor_kind text not null,
  actor text not null,
  key_id text,
  operation text not null,
  subject text,
  before jsonb,
  after jsonb
);
create index audit_log_by_actor on audit_log (actor, id);
create index audit_log_by_subject on audit_log (subject, id) where subject is not null;
create trigger audit_log_stays before update or delete on audit_log for each row execute function refuse_change();
