-- Operators find accounts by the beginning of a key, and by a transaction of the chain.

create index api_key_by_prefix on api_key (key_prefix text_pattern_ops);
create index deposit_by_transaction on deposit (tx_hash) where tx_hash is not null;
create index treasury_transfer_by_transaction on treasury_transfer (tx_hash) where tx_hash is not null;
