-- The audit row of a debit, which the transaction that posts it writes. That may be later than the request, and in another
-- process, so the row has to stand beside the debit.

alter table ledger_debit add column audit jsonb;
-- Who asked for the debits of before was known only to the process that began them.
update ledger_debit set audit = jsonb_build_object(
  'actorKind', 'operator',
  'actor', 'unknown',
  'keyId', null,
  'operation', case kind when 'adjust' then 'ledger.adjust' when 'reverse' then 'ledger.reverse' else 'refund.fiat' end,
  'subject', account,
  'before', null,
  'after', jsonb_build_object('key', key, 'kind', kind, 'lines', (
    select jsonb_agg(jsonb_build_object('account', line -> 'account', 'amountMicro', line -> 'amount'))
    from jsonb_array_elements(entries) line
  )),
  'organization', null
);
alter table ledger_debit alter column audit set not null;
