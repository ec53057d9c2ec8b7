-- Changes in the health of offers, as the data plane told them. Losing some is acceptable.

create table health_log (
  id text collate "C" primary key check (id ~ '^hlt_[0-9A-Za-z_-]{1,64}$'),
  at timestamptz not null,
  node text not null,
  offer text collate "C" not null,
  model text not null,
  rid text,
  error_class text,
  status_code int,
  detail text not null check (length(detail) <= 300),
  action text not null check (action in ('counted', 'backed_off', 'recovered')),
  backed_off_until timestamptz
);
create index health_log_by_offer on health_log (offer, at, id);
