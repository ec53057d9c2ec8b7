-- What calls used beside tokens, as far as it was summed up so far: in settlements, in the sums of days, and in the
-- figures of the market.

-- Parts of columns that stand. The class that priced a part is then told from the class of the whole.
alter table settlement
  -- Of the tokens that were read and made.
  add column image_input_tokens bigint not null default 0 check (image_input_tokens >= 0),
  add column image_output_tokens bigint not null default 0 check (image_output_tokens >= 0),
  -- Of the images and of the time, those of larger resolutions where these have a price of their own.
  add column images_2k bigint not null default 0 check (images_2k >= 0),
  add column images_4k bigint not null default 0 check (images_4k >= 0),
  add column milliseconds_1080p bigint not null default 0 check (milliseconds_1080p >= 0),
  add column milliseconds_4k bigint not null default 0 check (milliseconds_4k >= 0);

-- A buyer's calls that used more than tokens. Most calls use tokens alone, so their index stays as narrow as it was, and
-- the units of an hour are summed from this one.
create index settlement_media_by_account on settlement (account, rid)
  include (started_at, model, key_id, provider, endpoint, outcome, served_by, characters, images, images_2k, images_4k,
    pixels, milliseconds, milliseconds_1080p, milliseconds_4k, calls, image_input_tokens, image_output_tokens)
  where characters + images + pixels + milliseconds + calls + image_input_tokens + image_output_tokens > 0;

alter table buyer_day
  add column characters bigint not null default 0,
  add column images bigint not null default 0,
  add column images_2k bigint not null default 0,
  add column images_4k bigint not null default 0,
  add column pixels bigint not null default 0,
  add column milliseconds bigint not null default 0,
  add column milliseconds_1080p bigint not null default 0,
  add column milliseconds_4k bigint not null default 0,
  add column calls bigint not null default 0,
  add column image_input_tokens bigint not null default 0,
  add column image_output_tokens bigint not null default 0;
alter table seller_day
  add column characters bigint not null default 0,
  add column images bigint not null default 0,
  add column images_2k bigint not null default 0,
  add column images_4k bigint not null default 0,
  add column pixels bigint not null default 0,
  add column milliseconds bigint not null default 0,
  add column milliseconds_1080p bigint not null default 0,
  add column milliseconds_4k bigint not null default 0,
  add column calls bigint not null default 0,
  add column image_input_tokens bigint not null default 0,
  add column image_output_tokens bigint not null default 0;

create or replace function buyer_day_of(of_day date) returns setof buyer_day language sql stable as $$
  select account, of_day, (started_at at time zone 'UTC')::date, model, key_id, provider, endpoint, outcome, served_by,
    count(*), sum(charge)::bigint, sum(list_cost)::bigint, sum(input_tokens)::bigint, sum(cache_read_tokens)::bigint,
    sum(cache_write_tokens)::bigint, sum(audio_input_tokens)::bigint, sum(output_tokens)::bigint,
    sum(reasoning_tokens)::bigint, sum(audio_output_tokens)::bigint,
    sum(characters)::bigint, sum(images)::bigint, sum(images_2k)::bigint, sum(images_4k)::bigint, sum(pixels)::bigint,
    sum(milliseconds)::bigint, sum(milliseconds_1080p)::bigint, sum(milliseconds_4k)::bigint, sum(calls)::bigint,
    sum(image_input_tokens)::bigint, sum(image_output_tokens)::bigint
  from settlement where rid >= day_floor(of_day) and rid < day_floor(of_day + 1)
  group by 1, 3, 4, 5, 6, 7, 8, 9
$$;
create or replace function seller_day_of(of_day date) returns setof seller_day language sql stable as $$
  select seller_account, of_day, (started_at at time zone 'UTC')::date, model, count(*), sum(seller_net)::bigint,
    sum(input_tokens + cache_read_tokens + cache_write_tokens + audio_input_tokens)::bigint,
    sum(output_tokens + reasoning_tokens + audio_output_tokens)::bigint, max(rid),
    sum(characters)::bigint, sum(images)::bigint, sum(images_2k)::bigint, sum(images_4k)::bigint, sum(pixels)::bigint,
    sum(milliseconds)::bigint, sum(milliseconds_1080p)::bigint, sum(milliseconds_4k)::bigint, sum(calls)::bigint,
    sum(image_input_tokens)::bigint, sum(image_output_tokens)::bigint
  from settlement where rid >= day_floor(of_day) and rid < day_floor(of_day + 1) and seller_account is not null
    and (charge > 0 or outcome = 'succeeded')
  group by 1, 3, 4
$$;

-- Days that are summed and had such calls count as late for both sides, so they are read from the calls until they are
-- summed again.
insert into usage_late (account, day)
  select distinct side.account, ulid_day(s.rid)
  from settlement s cross join lateral (values (s.account), (s.seller_account)) side (account)
  where s.characters + s.images + s.pixels + s.milliseconds + s.calls > 0 and side.account is not null
    and ulid_day(s.rid) < (select before from usage_summed);

-- Images, pixels, characters and milliseconds of an hour or a day, in this order. Null where nothing but tokens was used,
-- as in nearly all rows, so that a series reads no more than before.
alter table market_hour add column media double precision[] check (cardinality(media) = 4);
alter table market_day add column media double precision[] check (cardinality(media) = 4);
-- Hours with such calls are to be computed again.
insert into market_due (grain, starts_at)
  select distinct 'hour', date_trunc('hour', ulid_time(rid), 'UTC') from settlement
  where characters + images + pixels + milliseconds > 0
  on conflict do nothing;
