-- A contract says by its own code whether a signature is its own, and may say so until it is to pay. What such payers
-- have open, and what they left unpaid of late, is bounded over all of them.
alter table chain_payment add column is_contract boolean not null default false;
create index chain_payment_unpaid on chain_payment (changed_at) where state = 'written_off' and cleared_at is null;

-- A claim counts what its payer's balance lost since it was read.
create index chain_payment_paid on chain_payment (payer, changed_at) where state = 'confirmed';
