-- A ledger that went back in time may lack transfers of a treasury that is not the settings' any more. Nothing leaves until
-- each such treasury was read, or an operator has answered for it.
alter table treasury_cursor
  add column retired_at timestamptz,
  -- False while nobody knows what the treasury had before its first block: that one is older than the ledger's loss, and
  -- endpoints may not tell balances of then.
  add column is_opening_known boolean not null default true;
