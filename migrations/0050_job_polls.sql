-- The control plane asks about every open job on its own schedule, and tells of its end.

alter table job
  -- The provider that runs it, as its submit names it. Questions to one provider are counted together.
  add column provider text collate "C" not null default '',
  -- When its provider is asked next. While a worker asks: when another may do so in its place.
  add column poll_at timestamptz not null default now(),
  -- The worker that asks now.
  add column asker text,
  -- Questions so far, and those in a row that the provider answered with "no such job".
  add column polls int not null default 0 check (polls >= 0),
  add column unknown_polls int not null default 0 check (unknown_polls >= 0),
  -- The files that it made, once its end was told.
  add column artifacts int check (artifacts >= 0),
  add column told_at timestamptz;
update job set provider = coalesce(event::jsonb ->> 'provider', ''), told_at = ended_at;

-- A job past its deadline is a job that is due.
drop index job_running;
alter table job drop column asked_at;
create index job_polled on job (provider, poll_at) where ended_at is null;
create index job_asked on job (provider) where ended_at is null and asker is not null;
create index job_untold on job (ended_at) where ended_at is not null and told_at is null;
