-- Monthly budgets of members and workspaces of organisations.

create table budget (
  id text collate "C" primary key check (id ~ '^bdg_[0-9A-Za-z_-]{1,64}$'),
  organization_id text collate "C" not null,
  workspace_id text collate "C" references workspace (id),
  user_id text collate "C",
  limit_micro bigint not null check (limit_micro > 0),
  created_at timestamptz not null,
  constraint budget_of_workspace unique (workspace_id),
  constraint budget_of_member unique (organization_id, user_id),
  -- A budget ends with the membership. The keys of a former member are revoked.
  constraint budget_member foreign key (organization_id, user_id)
    references organization_member (organization_id, user_id) on delete cascade,
  constraint budget_of_one check (num_nonnulls(workspace_id, user_id) = 1)
);

comment on table budget is 'Monthly budgets of members and workspaces. The gate counts the calls of the UTC month for each.';
comment on column budget.id is 'Names the counter in the gate. A budget that was removed and set again has a new counter.';
comment on column budget.workspace_id is 'The workspace whose calls count. Null for the budget of a member.';
comment on column budget.user_id is 'The member whose calls in all workspaces of the organisation count. Null for the budget of a workspace.';
comment on column budget.limit_micro is 'The most that the calls of a UTC month may cost, in micro-USD.';
