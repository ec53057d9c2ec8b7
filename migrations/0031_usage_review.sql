-- What a person decided about events that could not be posted, or that contradict a settlement.

alter table usage_poison
  -- Null while it waits for a person.
  add column resolution text check (resolution in ('retried', 'discarded')),
  add column resolution_reason text check (length(resolution_reason) <= 500),
  add column resolved_by text,
  add column resolved_at timestamptz,
  add constraint usage_poison_resolved_whole check ((resolution is null) = (resolved_at is null)
    and (resolution is null) = (resolved_by is null));
create index usage_poison_waiting on usage_poison (first_seen_at) where resolution is null;

alter table usage_conflict
  add column resolution_reason text check (length(resolution_reason) <= 500),
  add column resolved_by text,
  add column resolved_at timestamptz,
  add constraint usage_conflict_resolved_whole check ((resolution_reason is null) = (resolved_at is null)
    and (resolution_reason is null) = (resolved_by is null));
create index usage_conflict_waiting on usage_conflict (seen_at) where resolved_at is null;

-- Postings that took from the shortfall and were traced to a fault that has a name.
create table shortfall_note (
  tx text collate "C" primary key,
  reason text not null check (length(reason) between 1 and 500),
  noted_by text not null,
  noted_at timestamptz not null default now()
);
