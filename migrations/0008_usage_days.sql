-- What buyers used and sellers sold, summed by the UTC day of the request id for days that are over. All of it follows
-- from settlements and may be summed again at any time. A reader takes the sums of a day only while nothing was booked
-- into it since, in the same statement that looks for that, so that what it answers is what the settlements say.

-- The instant of a ULID, of which the first ten characters are enough.
create function ulid_time(ulid text) returns timestamptz language plpgsql immutable strict parallel safe as $$
declare
  ms bigint := 0;
begin
  for digit in 1..10 loop
    ms := ms * 32 + position(substr(ulid, digit, 1) in '0123456789ABCDEFGHJKMNPQRSTVWXYZ') - 1;
  end loop;
  return to_timestamp(ms / 1000.0);
end $$;
create function ulid_day(ulid text) returns date language sql immutable strict parallel safe as $$
  select (ulid_time(ulid) at time zone 'UTC')::date
$$;
create function day_floor(day date) returns text language sql immutable strict parallel safe as $$
  select ulid_floor(day::timestamp at time zone 'UTC')
$$;

create table buyer_day (
  account text collate "C" not null,
  day date not null,
  -- The day of the start, by which calls are shown: the same but for a call around midnight.
  started_on date not null,
  model text not null,
  key_id text collate "C",
  provider text,
  endpoint text not null,
  outcome text not null,
  served_by text,
  requests bigint not null,
  charge bigint not null,
  list_cost bigint not null,
  input_tokens bigint not null,
  cache_read_tokens bigint not null,
  cache_write_tokens bigint not null,
  audio_input_tokens bigint not null,
  output_tokens bigint not null,
  reasoning_tokens bigint not null,
  audio_output_tokens bigint not null
);
-- A window of a buyer.
create index buyer_day_by_account on buyer_day (account, day);
-- A day that is summed again.
create index buyer_day_by_day on buyer_day (day);

-- Calls that were paid, or served for nothing.
create table seller_day (
  account text collate "C" not null,
  day date not null,
  started_on date not null,
  model text not null,
  requests bigint not null,
  earned bigint not null,
  -- With cached tokens, and with reasoning.
  input_tokens bigint not null,
  output_tokens bigint not null,
  last_rid text collate "C" not null
);
-- A window of a seller.
create index seller_day_by_account on seller_day (account, day);
-- A day that is summed again.
create index seller_day_by_day on seller_day (day);

-- Every day before this one is summed; null before the first turn.
create table usage_summed (
  only_one boolean primary key default true check (only_one),
  before date,
  -- The day that is compared with its settlements next.
  compared_next date
);
insert into usage_summed default values;

-- Accounts that calls of a day that is over were booked for: their sums do not count until the day is summed again. Rows
-- are only added, so that no poster waits for another.
create table usage_late (
  id bigint generated always as identity primary key,
  account text collate "C" not null,
  day date not null
);
-- The late days of an account.
create index usage_late_by_account on usage_late (account, day);

create function note_late_usage() returns trigger language plpgsql as $$
declare
  today text := day_floor((now() at time zone 'UTC')::date);
begin
  insert into usage_late (account, day)
    select distinct side.account, ulid_day(a.rid)
    from added a cross join lateral (values (a.account), (a.seller_account)) side (account)
    where a.rid < today and side.account is not null;
  return null;
end $$;
create trigger settlement_late after insert on settlement referencing new table as added
  for each statement execute function note_late_usage();

-- The sums of a day as its settlements have them.
create function buyer_day_of(of_day date) returns setof buyer_day language sql stable as $$
  select account, of_day, (started_at at time zone 'UTC')::date, model, key_id, provider, endpoint, outcome, served_by,
    count(*), sum(charge)::bigint, sum(list_cost)::bigint, sum(input_tokens)::bigint, sum(cache_read_tokens)::bigint,
    sum(cache_write_tokens)::bigint, sum(audio_input_tokens)::bigint, sum(output_tokens)::bigint,
    sum(reasoning_tokens)::bigint, sum(audio_output_tokens)::bigint
  from settlement where rid >= day_floor(of_day) and rid < day_floor(of_day + 1)
  group by 1, 3, 4, 5, 6, 7, 8, 9
$$;
create function seller_day_of(of_day date) returns setof seller_day language sql stable as $$
  select seller_account, of_day, (started_at at time zone 'UTC')::date, model, count(*), sum(seller_net)::bigint,
    sum(input_tokens + cache_read_tokens + cache_write_tokens + audio_input_tokens)::bigint,
    sum(output_tokens + reasoning_tokens + audio_output_tokens)::bigint, max(rid)
  from settlement where rid >= day_floor(of_day) and rid < day_floor(of_day + 1) and seller_account is not null
    and (charge > 0 or outcome = 'succeeded')
  group by 1, 3, 4
$$;

-- Sums a day in place of what was summed of it. What is noted as late goes first: whoever books after that is seen by
-- the next statement, or is noted anew.
create function sum_usage_day(of_day date) returns void language plpgsql as $$
begin
  delete from usage_late where day = of_day;
  delete from buyer_day where day = of_day;
  delete from seller_day where day = of_day;
  insert into buyer_day select * from buyer_day_of(of_day) s order by s.account;
  insert into seller_day select * from seller_day_of(of_day) s order by s.account;
end $$;

-- True when the sums of a day are those of its settlements, or are known not to be.
create function is_usage_day_right(of_day date) returns boolean language sql stable as $$
  select exists (select 1 from usage_late where day = of_day)
    or not exists ((select * from buyer_day where day = of_day except all select * from buyer_day_of(of_day))
      union all (select * from buyer_day_of(of_day) except all select * from buyer_day where day = of_day))
    and not exists ((select * from seller_day where day = of_day except all select * from seller_day_of(of_day))
      union all (select * from seller_day_of(of_day) except all select * from seller_day where day = of_day))
$$;
