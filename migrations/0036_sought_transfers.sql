-- When the chain was last looked through for a payment that was written off whole, and its time was over by then. Until
-- then it is looked for, however long nobody could.
alter table chain_payment add column sought_at timestamptz;
drop index chain_payment_given_up;
create index chain_payment_sought on chain_payment (valid_until)
  where state = 'written_off' and came is null and sought_at is null;
