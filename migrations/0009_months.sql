-- The months of the ledger: their partitions, and what becomes of a month past its retention.

-- A statement trigger of a partitioned table does not fire for a statement that names the partition, so each partition
-- has the same triggers of its own.
create function guard_partition(parent text, part text) returns void language plpgsql as $$
begin
  execute format('create trigger %I before truncate on %I for each statement execute function refuse_change()',
    part || '_not_truncated', part);
  if parent = 'ledger_entry' then
    execute format('create trigger %I after insert on %I referencing new table as entries
      for each statement execute function check_entries()', part || '_checked', part);
  elsif parent = 'settlement' then
    execute format('create trigger %I after insert on %I referencing new table as added
      for each statement execute function note_late_usage()', part || '_late', part);
  end if;
end $$;

-- Makes the partitions of the UTC months from the one before `from_at` to `months_ahead` after it, where missing, and
-- answers the names of the new ones. Rows outside all months go to the default partitions, so nothing is ever refused.
create function make_month_partitions(from_at timestamptz, months_ahead int) returns setof text
language plpgsql as $$
declare
  parent text;
  part text;
  month timestamp;
begin
  foreach parent in array array['ledger_tx', 'ledger_entry', 'settlement'] loop
    for ahead in -1..months_ahead loop
      month := date_trunc('month', from_at at time zone 'UTC') + make_interval(months => ahead);
      part := parent || '_' || to_char(month, 'YYYY_MM');
      continue when to_regclass(part) is not null;
      -- Made alone and attached: that takes a weaker lock on the parent than creating it in place.
      execute format('create table %I (like %I including defaults including constraints)', part, parent);
      execute format('alter table %I attach partition %I for values from (%L) to (%L)',
        parent, part, ulid_floor(month at time zone 'UTC'), ulid_floor((month + interval '1 month') at time zone 'UTC'));
      perform guard_partition(parent, part);
      return next part;
    end loop;
  end loop;
end $$;

create table ledger_tx_default partition of ledger_tx default;
create table ledger_entry_default partition of ledger_entry default;
create table settlement_default partition of settlement default;
select guard_partition('ledger_tx', 'ledger_tx_default'),
  guard_partition('ledger_entry', 'ledger_entry_default'),
  guard_partition('settlement', 'settlement_default');
select make_month_partitions(now(), 3);

-- Months past their retention leave the partitioned tables and stay as tables of their own. Three things keep what they
-- guaranteed while they were attached: no row with an id below `archive_floor()` is taken by any table again; what the
-- entries of a month came to is carried per account; the detached tables refuse every change.
create table archived_month (
  -- The first day of the UTC month.
  month date primary key check (extract(day from month) = 1),
  -- The smallest id after it.
  ends_before text collate "C" not null,
  settlements bigint not null,
  charged numeric not null,
  entries bigint not null,
  archived_at timestamptz not null default now()
);
create trigger archived_month_kept before update or delete on archived_month
  for each row execute function refuse_change();

-- The sums of days of a month outlive its detached settlements, so they are made right before those go.
create function sum_before_archive() returns trigger language plpgsql as $$
declare
  next_month date := (new.month + interval '1 month')::date;
  summed date := (select coalesce(before, new.month) from usage_summed);
  of_day date;
begin
  for of_day in select day from generate_series(new.month, next_month - 1, interval '1 day') days(day)
    where day::date >= summed or exists (select 1 from usage_late l where l.day = days.day::date)
  loop
    perform sum_usage_day(of_day);
  end loop;
  update usage_summed set before = greatest(summed, next_month);
  return new;
end $$;
create trigger archived_month_summed before insert on archived_month
  for each row execute function sum_before_archive();

create table carried_total (
  month date not null references archived_month (month),
  account text collate "C" not null,
  -- Sum and number of the account's entries in the month.
  amount bigint not null,
  entries bigint not null check (entries > 0),
  primary key (account, month)
);
create trigger carried_total_kept before update or delete on carried_total for each row execute function refuse_change();

-- Everything that was ever booked, the detached months included.
create view every_ledger_tx as select id, kind, note, at from ledger_tx;
create view every_ledger_entry as select tx, account, amount from ledger_entry;
create view every_settlement as select rid, account, key_id, seller_account, hold_amount, charge, seller_net, fee, fee_bps,
  outcome, endpoint, output_tokens, reasoning_tokens, audio_output_tokens, payload_hash, posted_at from settlement;

-- Writes the views anew with every detached month.
create function write_archive_views() returns void language plpgsql as $$
declare
  part record;
  columns text;
begin
  for part in select * from (values ('ledger_tx', 'every_ledger_tx'), ('ledger_entry', 'every_ledger_entry'),
      ('settlement', 'every_settlement')) v(parent, name) loop
    select string_agg(quote_ident(attname), ', ' order by attnum) into columns
      from pg_attribute where attrelid = part.name::regclass and attnum > 0 and not attisdropped;
    execute format('create or replace view %I as select %s from %I%s', part.name, columns, part.parent,
      coalesce((select string_agg(format(' union all select %s from %I', columns,
        part.parent || '_' || to_char(month, 'YYYY_MM')), '' order by month) from archived_month), ''));
  end loop;
end $$;

-- Detaches the tables of one UTC month. Answers false when the month has none. Refuses a month that is not over, that is
-- not the oldest, or of whose ids something still waits.
create function archive_month(first_day date) returns boolean language plpgsql as $$
declare
  suffix text := to_char(first_day, 'YYYY_MM');
  floor_id text := ulid_floor(first_day::timestamp at time zone 'UTC');
  end_id text := ulid_floor((first_day + interval '1 month') at time zone 'UTC');
  parent text;
  part text;
  id_column text;
  older text;
begin
  if first_day + interval '1 month' > (now() at time zone 'UTC') then
    raise exception 'the month is not over' using errcode = 'object_not_in_prerequisite_state';
  end if;
  if not exists (select 1 from pg_inherits where inhrelid = to_regclass('settlement_' || suffix)) then
    return false;
  end if;
  select min(c.relname) into older from pg_inherits i join pg_class c on c.oid = i.inhrelid
    where i.inhparent = 'settlement'::regclass and c.relname ~ '_\d{4}_\d\d$' and c.relname < 'settlement_' || suffix;
  if older is not null then
    raise exception 'an older month is still attached: %', older using errcode = 'object_not_in_prerequisite_state';
  end if;
  if exists (select 1 from usage_poison where resolution is null and rid < end_id)
    or exists (select 1 from usage_conflict where resolved_at is null and rid < end_id) then
    raise exception 'events of this month wait for a person' using errcode = 'object_not_in_prerequisite_state';
  end if;
  -- Nobody writes into an old month; should somebody try, the sums below are what counts.
  execute format('lock table %I, %I, %I in share mode', 'settlement_' || suffix, 'ledger_tx_' || suffix,
    'ledger_entry_' || suffix);
  execute format('insert into archived_month (month, ends_before, settlements, charged, entries)
    select $1, $2, (select count(*) from %1$I), (select coalesce(sum(charge), 0) from %1$I),
      (select count(*) from %2$I)', 'settlement_' || suffix, 'ledger_entry_' || suffix) using first_day, end_id;
  execute format('insert into carried_total (month, account, amount, entries)
    select $1, account, sum(amount), count(*) from %I group by account', 'ledger_entry_' || suffix) using first_day;
  foreach parent in array array['settlement', 'ledger_tx', 'ledger_entry'] loop
    part := parent || '_' || suffix;
    id_column := case parent when 'settlement' then 'rid' when 'ledger_tx' then 'id' else 'tx' end;
    execute format('alter table %I detach partition %I', parent, part);
    -- The triggers of the parent went with it.
    execute format('create trigger %I before insert or update or delete on %I for each row
      execute function refuse_change()', part || '_closed', part);
    -- An id of that month could only go to the default partition now.
    execute format('alter table %I drop constraint if exists %I', parent || '_default', parent || '_archived');
    execute format('alter table %I add constraint %I check (%I >= %L)', parent || '_default', parent || '_archived',
      id_column, end_id);
  end loop;
  perform write_archive_views();
  return true;
end $$;

-- The smallest id that may still be booked.
create function archive_floor() returns text language sql stable as $$
  select coalesce(max(ends_before), '') from archived_month
$$;
