-- Times during which offers of a model at a provider were out of the rotation. Every row is computed from the health log and
-- the offers alone and may be computed again at any time: a place is replaced from an instant on.

create table market_incident (
  -- The beginning in Unix milliseconds and a hash of the place: the order of the list.
  id text collate "C" primary key,
  model text collate "C" not null,
  provider text collate "C" not null,
  started_at timestamptz not null,
  -- When the last offer was back, or will be tried again.
  ends_at timestamptz not null check (ends_at > started_at),
  -- Offers that were out at some time of it, and how often one of them was taken out.
  offers int not null check (offers > 0),
  back_offs int not null check (back_offs >= offers),
  -- The error that most of them had.
  cause text
);
create index market_incident_by_place on market_incident (model, provider, started_at);
create index market_incident_by_end on market_incident (ends_at);

-- How far the health log has been looked through for incidents, by the database's own clock.
alter table market_watermark add column incidents_looked_at timestamptz;

-- How many offers of a place are on sale.
create index offer_on_sale_by_place on offer (model, provider) where status = 'active';
