-- Tokens written to a cache that lasts an hour or longer, which providers bill as a class of their own.

alter table settlement add column cache_write_long_tokens bigint not null default 0 check (cache_write_long_tokens >= 0);
comment on column settlement.cache_write_long_tokens is 'The part of cache_write_tokens that lasts an hour or longer.';
