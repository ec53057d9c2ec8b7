-- What buyers paid for a seller's calls of a day, beside what the seller earned.
alter table seller_day add column charge bigint;
comment on column seller_day.charge is
  'What buyers paid, in micro-USD. Null in days that were archived before the column was there.';

create or replace function seller_day_of(of_day date) returns setof seller_day language sql stable as $$
  select seller_account, of_day, (started_at at time zone 'UTC')::date, model, count(*), sum(seller_net)::bigint,
    sum(input_tokens + cache_read_tokens + cache_write_tokens + audio_input_tokens)::bigint,
    sum(output_tokens + reasoning_tokens + audio_output_tokens)::bigint, max(rid),
    sum(characters)::bigint, sum(images)::bigint, sum(images_2k)::bigint, sum(images_4k)::bigint, sum(pixels)::bigint,
    sum(milliseconds)::bigint, sum(milliseconds_1080p)::bigint, sum(milliseconds_4k)::bigint, sum(calls)::bigint,
    sum(image_input_tokens)::bigint, sum(image_output_tokens)::bigint, sum(charge)::bigint
  from settlement where rid >= day_floor(of_day) and rid < day_floor(of_day + 1) and seller_account is not null
    and (charge > 0 or outcome = 'succeeded')
  group by 1, 3, 4
$$;

-- Days that are summed count as late for their sellers, so they are read from the calls until they are summed again.
insert into usage_late (account, day)
  select distinct s.seller_account, ulid_day(s.rid) from settlement s
  where s.seller_account is not null and ulid_day(s.rid) < (select before from usage_summed);
