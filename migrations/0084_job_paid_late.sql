-- A wallet's payment that was given up may come after all while its job runs. What the platform stood in for is then
-- paid by the payer, and is not given back a second time by the job's end.
create or replace function keep_job() returns trigger language plpgsql as $$
begin
  if (new.rid, new.account, new.seller_account, new.escrow_account, new.quote, new.payload_hash) is distinct from
     (old.rid, old.account, old.seller_account, old.escrow_account, old.quote, old.payload_hash)
     or (old.ended_at is not null and new.ended_at is distinct from old.ended_at)
     or new.paid < old.paid or (old.ended_at is not null and new.paid <> old.paid) then
    raise exception 'a job keeps what it is' using errcode = 'restrict_violation';
  end if;
  return new;
end $$;
