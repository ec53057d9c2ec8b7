-- The epoch of the spending gate, and the data-plane processes that must bring their calls into a new one.

create table money_epoch (
  is_only boolean primary key default true check (is_only),
  epoch bigint not null check (epoch >= 0),
  -- Unposted captures that older epochs left in Redis were taken over up to this one.
  harvested bigint not null default 0 check (harvested <= epoch),
  raised_at timestamptz not null default now()
);
insert into money_epoch (epoch) values (0);

-- An epoch only rises: Redis may hold records of every one that was ever given out.
create function keep_epoch_rising() returns trigger language plpgsql as $$
begin
  if new.epoch < old.epoch or new.harvested < old.harvested then
    raise exception 'the money epoch only rises' using errcode = 'restrict_violation';
  end if;
  return new;
end $$;
create trigger money_epoch_rises before update on money_epoch for each row execute function keep_epoch_rising();

create table node (
  id text primary key check (length(id) between 1 and 200),
  first_seen_at timestamptz not null default now(),
  last_seen_at timestamptz not null default now(),
  -- Set when the process ended with nothing left to settle, or by hand.
  retired_at timestamptz
);
