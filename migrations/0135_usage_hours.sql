-- What buyers used by the hour: kept by the same days, at the same time and by the same rule as the sums of days.

-- An hour tells its calls apart by what has few values, so that a month has hundreds of rows however many calls it had.
-- Models and keys have many values: an hour of one of them is read from the calls.
create table buyer_hour (
  account text collate "C" not null,
  -- The UTC day of the request ids.
  day date not null,
  -- The UTC hour of the start, which a call around midnight has on another day.
  hour timestamptz not null,
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
  audio_output_tokens bigint not null,
  characters bigint not null default 0,
  images bigint not null default 0,
  images_2k bigint not null default 0,
  images_4k bigint not null default 0,
  pixels bigint not null default 0,
  milliseconds bigint not null default 0,
  milliseconds_1080p bigint not null default 0,
  milliseconds_4k bigint not null default 0,
  calls bigint not null default 0,
  image_input_tokens bigint not null default 0,
  image_output_tokens bigint not null default 0
);
-- A window of a buyer.
create index buyer_hour_by_account on buyer_hour (account, day);
-- A day that is summed again.
create index buyer_hour_by_day on buyer_hour (day);

-- The sums of a day's hours as its settlements have them.
create function buyer_hour_of(of_day date) returns setof buyer_hour language sql stable as $$
  select account, of_day, date_trunc('hour', started_at, 'UTC'), provider, endpoint, outcome, served_by,
    count(*), sum(charge)::bigint, sum(list_cost)::bigint, sum(input_tokens)::bigint, sum(cache_read_tokens)::bigint,
    sum(cache_write_tokens)::bigint, sum(audio_input_tokens)::bigint, sum(output_tokens)::bigint,
    sum(reasoning_tokens)::bigint, sum(audio_output_tokens)::bigint,
    sum(characters)::bigint, sum(images)::bigint, sum(images_2k)::bigint, sum(images_4k)::bigint, sum(pixels)::bigint,
    sum(milliseconds)::bigint, sum(milliseconds_1080p)::bigint, sum(milliseconds_4k)::bigint, sum(calls)::bigint,
    sum(image_input_tokens)::bigint, sum(image_output_tokens)::bigint
  from settlement where rid >= day_floor(of_day) and rid < day_floor(of_day + 1)
  group by 1, 3, 4, 5, 6, 7
$$;

create or replace function sum_usage_day(of_day date) returns void language plpgsql as $$
begin
  delete from usage_late where day = of_day;
  delete from buyer_hour where day = of_day;
  delete from buyer_day where day = of_day;
  delete from seller_day where day = of_day;
  insert into buyer_hour select * from buyer_hour_of(of_day) s order by s.account, s.hour;
  insert into buyer_day select * from buyer_day_of(of_day) s order by s.account;
  insert into seller_day select * from seller_day_of(of_day) s order by s.account;
end $$;

create or replace function is_usage_day_right(of_day date) returns boolean language sql stable as $$
  select exists (select 1 from usage_late where day = of_day)
    or not exists ((select * from buyer_hour where day = of_day except all select * from buyer_hour_of(of_day))
      union all (select * from buyer_hour_of(of_day) except all select * from buyer_hour where day = of_day))
    and not exists ((select * from buyer_day where day = of_day except all select * from buyer_day_of(of_day))
      union all (select * from buyer_day_of(of_day) except all select * from buyer_day where day = of_day))
    and not exists ((select * from seller_day where day = of_day except all select * from seller_day_of(of_day))
      union all (select * from seller_day_of(of_day) except all select * from seller_day where day = of_day))
$$;

-- Days that are summed have no hours yet. They count as late for their buyers, so they are read from the calls until the
-- worker has summed them again, a hundred days a turn. The calls of detached months are gone, and so are their hours.
insert into usage_late (account, day)
  select distinct account, day from buyer_day where day_floor(day) >= archive_floor();
