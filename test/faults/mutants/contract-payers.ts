import type { TreasuryMutant } from './treasury-mutant.ts'

const CLAIM = 'control-plane/services/payments/claim-payment.ts'
const ROWS = 'control-plane/db/chain-payments.ts'
const caughtBy = 'payment-claims'

/** Mistakes with what contracts may have open and leave unpaid. */
export const CONTRACT_MUTANTS: readonly TreasuryMutant[] = [
  {
    name: 'one-contract-takes-the-share-of-all',
    file: CLAIM,
    find: '  if (own > limit / PAYER_SHARE) return true\n',
    replace: '  void PAYER_SHARE\n',
    caughtBy,
  },
  {
    name: 'new-contracts-take-the-share-of-known-ones',
    file: CLAIM,
    find: '  if (own > 0n && unsettled > limit / UNSETTLED_SHARE) return true\n',
    replace: '  void [unsettled, UNSETTLED_SHARE]\n',
    caughtBy,
  },
  {
    name: 'new-contracts-close-the-way-of-known-ones',
    file: CLAIM,
    find: 'if (own > 0n && unsettled',
    replace: 'if (unsettled',
    caughtBy,
  },
  {
    name: 'contracts-with-a-history-have-no-limit',
    file: CLAIM,
    find: '  return all > limit\n',
    replace: '  return all < 0n\n',
    caughtBy,
  },
  {
    name: 'what-others-settled-speaks-for-a-new-contract',
    file: ROWS,
    find: "where payer = exposed.payer and state = 'confirmed'",
    replace: "where state = 'confirmed'",
    caughtBy,
  },
  {
    name: 'a-history-has-no-end',
    file: ROWS,
    find: `order by changed_at desc limit \${MOST_SETTLED}`,
    replace: 'order by changed_at desc',
    caughtBy,
  },
  {
    name: 'what-contracts-left-unpaid-is-forgotten',
    file: ROWS,
    find: `union all select payer, \${LOSS} from chain_payment where is_contract and \${IS_LOST}`,
    replace: `union all select payer, \${LOSS} from chain_payment where is_contract and \${IS_LOST} and false`,
    caughtBy,
  },
  {
    name: 'a-claim-of-a-contract-adds-nothing',
    file: ROWS,
    find: `union all select \${payer}, \${amount}\n`,
    replace: `union all select \${payer}, \${amount} where false\n`,
    caughtBy,
  },
  {
    name: 'gas-of-open-payments-is-free',
    file: ROWS,
    find: `sum(greatest(micro, \${LEAST_LOSS_MICRO}))`,
    replace: 'sum(micro)',
    caughtBy,
  },
]
