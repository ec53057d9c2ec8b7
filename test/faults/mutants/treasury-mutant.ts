/** A mistake in the code of the treasury: one place of one file is changed. */
export type TreasuryMutant = {
  readonly name: string
  readonly file: string
  readonly find: string
  readonly replace: string
  /** The test file that must fail because of it. */
  readonly caughtBy:
    | 'payouts'
    | 'payout-cover'
    | 'payout-faults'
    | 'replaced-chain'
    | 'replaced-chain-payments'
    | 'deposits'
    | 'deposit-faults'
    | 'allowances'
    | 'anybodys-transfers'
    | 'payment-claims'
    | 'payment-faults'
}
