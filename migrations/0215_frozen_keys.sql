-- Buyer keys that their owner has stopped for a while. A frozen key keeps its limits, its secrets and its count.

alter table api_key add column frozen_at timestamptz;
alter table api_key add constraint api_key_frozen check (frozen_at is null or type = 'buyer');
comment on column api_key.frozen_at is 'When the owner froze the key. Null for a key that works.';
