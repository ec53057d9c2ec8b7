-- Providers whose accounts sellers lend, and families of calls that are forwarded.

create table resource (
  id text collate "C" primary key check (id ~ '^[a-z0-9][a-z0-9-]{0,39}$'),
  kind text not null check (kind in ('resource', 'family')),
  -- The version that counts. Documents and prices of calls name it.
  version integer not null check (version > 0),
  updated_at timestamptz not null
);

-- Every version of every record. A charge names the version it was computed with, so a version stays as it was.
create table resource_version (
  resource text collate "C" not null references resource (id),
  version integer not null check (version > 0),
  record jsonb not null,
  source text not null check (length(source) between 1 and 500),
  actor text not null,
  created_at timestamptz not null,
  primary key (resource, version),
  constraint resource_version_of_its_record check (record ->> 'id' = resource)
);
create trigger resource_version_stays before update or delete on resource_version
  for each row execute function refuse_change();
