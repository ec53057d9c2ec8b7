-- What only Redis knew of a job: what its buyer did to it, and how its end is shown. Redis may be lost.
alter table job
  -- When it was noted here that its buyer had stopped it, and had deleted it.
  add column stopped_at timestamptz,
  add column deleted_at timestamptz,
  -- How its end is shown. It is sealed, because addresses in it may open files. It is set when the end is told, empty once
  -- the buyer has deleted the job, and null again when nobody may ask about the job any more.
  add column shown text;
create index job_shown on job (rid) where shown is not null;
