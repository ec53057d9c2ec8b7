-- Long jobs. Their whole quote leaves the buyer's balance for escrow when they are submitted; their end splits it to the
-- seller, the fee and what the buyer gets back.

create table job (
  -- The request id of the submit, also the id of its transaction and, once it ended, of its settlement.
  rid text collate "C" primary key check (rid ~ '^[0-7][0-9A-HJKMNP-TV-Z]{25}$'),
  account text collate "C" not null references account (id),
  seller_account text collate "C" references account (id),
  escrow_account text collate "C" not null references account (id),
  offer text collate "C",
  key_id text collate "C",
  provider_job text not null,
  quote bigint not null check (quote >= 0),
  -- What of the quote the buyer's balance covered; the rest stands against the shortfall and goes back there first.
  paid bigint not null check (paid between 0 and quote),
  -- The submit as it was captured.
  event text not null,
  payload_hash text not null check (length(payload_hash) = 64),
  deadline_at timestamptz not null,
  posted_at timestamptz not null default now(),
  -- When the provider was asked at the deadline; it is asked once.
  asked_at timestamptz,
  ended_at timestamptz
);
create index job_running on job (deadline_at) where ended_at is null;
create index job_by_account on job (account, rid);
create index job_escrowed on job (escrow_account) where ended_at is null;

create function keep_job() returns trigger language plpgsql as $$
begin
  if (new.rid, new.account, new.seller_account, new.escrow_account, new.quote, new.paid, new.payload_hash) is distinct from
     (old.rid, old.account, old.seller_account, old.escrow_account, old.quote, old.paid, old.payload_hash)
     or (old.ended_at is not null and new.ended_at is distinct from old.ended_at) then
    raise exception 'a job keeps what it is' using errcode = 'restrict_violation';
  end if;
  return new;
end $$;
create trigger job_keeps before update on job for each row execute function keep_job();
create trigger job_kept before delete on job for each row execute function refuse_change();

-- The inbox of ends. One that comes before its submit waits here.
create table job_end (
  -- The request id of the job.
  rid text collate "C" primary key,
  event text not null,
  payload_hash text not null check (length(payload_hash) = 64),
  source text not null,
  received_at timestamptz not null default now(),
  booked_at timestamptz
);
create index job_end_parked on job_end (received_at) where booked_at is null;
create trigger job_end_kept before delete on job_end for each row execute function refuse_change();
