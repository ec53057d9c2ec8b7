-- The sum of a provider over its models had the offers of one model, with the back-offs of all. It has the offers of all.

update market_hour as total set offers = own.offers
from (select starts_at, provider, sum(offers)::int as offers from market_hour where model <> '*' group by 1, 2) own
where total.model = '*' and total.starts_at = own.starts_at and total.provider = own.provider
  and total.offers <> own.offers;

-- A day has the offers of its busiest hour, or those of all models where its hours are gone.
update market_day as total set offers = own.offers
from (
  select d.starts_at, d.provider, coalesce(
    (select max(h.offers) from market_hour h where h.model = '*' and h.provider = d.provider
      and h.starts_at >= d.starts_at and h.starts_at < d.starts_at + interval '1 day'),
    sum(d.offers))::int as offers
  from market_day d where d.model <> '*' group by 1, 2) own
where total.model = '*' and total.starts_at = own.starts_at and total.provider = own.provider
  and total.offers <> own.offers;
