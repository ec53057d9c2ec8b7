-- Which base paths the host of a provider has, so that one provider key cannot be listed under many spellings of an address.

alter table provider
  -- Those beside the path of base_url, without a trailing slash. The empty text is the root.
  add column base_paths text[] not null default '{}' constraint provider_base_paths check (cardinality(base_paths) <= 16);

-- Paths that keys are listed under keep working where they are in the one spelling. Other spellings of a path are left out.
update provider p
set base_paths = (
  select coalesce(array_agg(path order by path), '{}')
  from (
    select distinct substring(c.base_url from '^https?://[^/]+(/.*)?$') as path
    from credential c
    where c.host = p.host
    union
    select distinct substring(o.base_url from '^https?://[^/]+(/.*)?$')
    from offer o
    where o.provider = p.id
  ) used
  where path ~ '^(/[a-z0-9][a-z0-9_.~-]{0,63}){1,8}$'
    and path <> coalesce(substring(p.base_url from '^https?://[^/]+(/.*)?$'), '')
  limit 16
);
