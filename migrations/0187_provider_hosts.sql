-- Hosts of a provider beside that of its base URL: names, and patterns with a star in one label. Keys are sent to none
-- that nobody declared.

alter table provider
  add column hosts text[] not null default '{}' constraint provider_hosts check (cardinality(hosts) <= 16);
