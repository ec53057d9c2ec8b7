-- Transactions that are no calls, by kind, for the operator's search. Calls are most of the ledger and need no index.

create index ledger_tx_by_kind on ledger_tx (kind, id) where kind <> 'settle';
