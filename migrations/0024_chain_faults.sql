-- Calls by wallet that cost nothing. Their payments are released, and they are booked all the same.
create index chain_payment_free on chain_payment (changed_at)
  where booked_at is null and state = 'released' and event is not null;
