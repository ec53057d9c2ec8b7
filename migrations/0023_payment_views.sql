-- Payments whose calls have told their usage and are not booked: what payers and sellers are shown before the ledger
-- has it.

create index chain_payment_unbooked on chain_payment (account, rid) where booked_at is null and event is not null;
-- The seller of such a call, which only its event names.
create index chain_payment_sold on chain_payment (((event::jsonb) ->> 'sellerAccount'))
  where booked_at is null and event is not null;
