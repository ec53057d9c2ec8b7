-- The least that a request is billed of what it uses: a transcript at some providers costs ten seconds or more.

alter table model_price add column minimums jsonb not null default '{}';
alter table model_price alter column minimums drop default;
comment on column model_price.minimums is 'The least of a class of usage that a request is billed, where it uses any of it: whole units by class.';
