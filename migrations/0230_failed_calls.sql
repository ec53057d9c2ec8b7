-- Calls that failed at every provider, which name their providers only among their attempts.

create index settlement_failed_by_account on settlement (account, rid)
  where provider is null and outcome = 'failed';
