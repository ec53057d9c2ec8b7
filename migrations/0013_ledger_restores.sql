-- A ledger that goes back in time: a restored backup, or a replica that was promoted without its tail. The gate and the
-- journals know more than such a ledger, so it has to be noticed, and what it lacks has to be booked again.

alter table money_epoch
  -- Rises once a second while a worker leads. The gate knows the newest one, so a lower one shows a step back.
  add column beat bigint not null default 0 check (beat >= 0),
  add column beat_at timestamptz not null default now(),
  -- The cluster and its timeline as they were seen last. Both are null before the first look.
  add column system_id text check (length(system_id) between 1 and 40),
  add column timeline integer check (timeline > 0),
  -- The instant to which the ledger went back, and when that was noticed.
  add column restored_to timestamptz,
  add column restored_at timestamptz,
  add constraint money_epoch_restored check ((restored_to is null) = (restored_at is null)),
  add constraint money_epoch_identity check ((system_id is null) = (timeline is null));
