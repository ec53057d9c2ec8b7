-- A buyer looks for a call by the transaction that has paid for it.
create index chain_payment_by_transaction on chain_payment (tx_hash) where tx_hash is not null;
