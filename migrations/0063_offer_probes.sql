-- When a saved key is next tried at its address: one question covers every offer that stands on it.

create table offer_probe (
  credential_id text collate "C" not null references credential (id) on delete cascade,
  base_url text not null,
  next_at timestamptz not null,
  -- Failures in a row of the probe itself.
  failures int not null default 0 check (failures >= 0),
  last_at timestamptz,
  primary key (credential_id, base_url)
);
create index offer_probe_due on offer_probe (next_at);
insert into offer_probe (credential_id, base_url, next_at)
  select credential_id, base_url, now() + random() * interval '30 minutes'
  from offer where status = 'active' group by credential_id, base_url;
