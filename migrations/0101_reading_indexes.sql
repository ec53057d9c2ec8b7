-- Days of a seller are read from their sums, so its index holds no columns any more; hours of a buyer are summed from the
-- calls themselves, so that index now does.

drop index settlement_by_seller;
create index settlement_by_seller on settlement (seller_account, rid) where seller_account is not null;

drop index settlement_by_account;
create index settlement_by_account on settlement (account, rid)
  include (started_at, model, key_id, provider, endpoint, outcome, served_by, charge, list_cost, input_tokens,
    cache_read_tokens, cache_write_tokens, audio_input_tokens, output_tokens, reasoning_tokens, audio_output_tokens);

-- The balance after an old line of a statement is the present one less all that is newer: amounts stand in the index.
drop index ledger_entry_by_account;
create index ledger_entry_by_account on ledger_entry (account, tx) include (amount);
