-- Workspaces that are closed: their records stay to be read, and nothing begins in them again.

alter table workspace add column closed_at timestamptz;

-- A closed workspace gives its name free.
alter table workspace drop constraint workspace_one_name;
create unique index workspace_one_name on workspace (organization_id, name) where closed_at is null;

create function keep_closed() returns trigger language plpgsql as $$
begin
  if old.closed_at is not null then
    raise exception 'a closed workspace stays as it is' using errcode = 'restrict_violation';
  end if;
  return new;
end $$;
create trigger workspace_stays_closed before update on workspace for each row execute function keep_closed();

-- The row lock makes whoever closes wait for what has just begun, and what begins wait for who closes. What read the
-- workspace before it was closed is told to try again, and then sees that it is.
create function refuse_closed_workspace(workspace text) returns void language plpgsql as $$
begin
  perform 1 from workspace w where w.id = workspace and w.closed_at is null for share;
  if not found then
    raise exception 'the workspace was closed in the meantime' using errcode = 'serialization_failure';
  end if;
end $$;

create function refuse_key_of_closed() returns trigger language plpgsql as $$
begin
  perform refuse_closed_workspace(new.workspace_id);
  return new;
end $$;
create trigger api_key_of_open_workspace before insert on api_key for each row
  when (new.workspace_id is not null) execute function refuse_key_of_closed();

create function refuse_offer_of_closed() returns trigger language plpgsql as $$
declare
  home text;
begin
  select w.id into home from workspace w where w.seller_account = new.seller_account;
  if found then perform refuse_closed_workspace(home); end if;
  return new;
end $$;
create trigger offer_of_open_workspace before insert on offer for each row
  when (new.status <> 'inactive') execute function refuse_offer_of_closed();
create trigger offer_back_in_open_workspace before update of status on offer for each row
  when (old.status = 'inactive' and new.status <> 'inactive') execute function refuse_offer_of_closed();
