-- What a call bought when it was no model: the kind, the resource, the good and the route. Null for a model.
alter table settlement add column sold jsonb check (sold ? 'kind' and sold ? 'id');
-- The sales and purchases of resources, for the figures of lent keys.
create index settlement_sold on settlement (rid) where sold is not null;
