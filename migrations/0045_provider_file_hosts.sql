-- From which hosts beside its own the files of a provider's jobs may be fetched. None is dialled that nobody declared.

alter table provider
  add column file_hosts text[] not null default '{}' constraint provider_file_hosts check (cardinality(file_hosts) <= 16);
