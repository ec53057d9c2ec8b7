import type { Command, Option } from '#control-plane/cli/command.ts'

const REASON: Option = { flags: '--reason <text>', text: 'why, for the audit' }
const YES: Option = { flags: '--yes', text: 'do not ask' }
const PARTY: readonly Option[] = [
  { flags: '--wallet <address>', text: 'of this wallet' },
  { flags: '--account <id>', text: 'or of this account' },
  { flags: '--usd <dollars>', text: 'how much' },
]

/** Operators' commands for money. */
export const OPERATOR_MONEY_COMMANDS: readonly Command[] = [
  {
    name: 'operator credit grant',
    summary: 'Give a buyer credit.',
    options: [
      ...PARTY,
      { flags: '--ticket <id>', text: 'what makes it happen once' },
      { flags: '--note <text>', text: 'for the books' },
    ],
    examples: ['operator credit grant --wallet 0x… --usd 5 --ticket T-17'],
    load: async () => (await import('#control-plane/cli/actions/operator-money.ts')).grantCredit,
  },
  {
    name: 'operator credit deposit',
    summary: 'Book money that a payment provider received for a buyer.',
    options: [
      ...PARTY,
      { flags: '--event <id>', text: "the provider's id of the payment: what makes it happen once" },
      { flags: '--note <text>', text: 'for the books' },
    ],
    examples: ['operator credit deposit --wallet 0x… --usd 5 --event evt_123'],
    load: async () => (await import('#control-plane/cli/actions/operator-money.ts')).depositCredit,
  },
  {
    name: 'operator credit refund',
    summary: 'Book money that goes back to a buyer, of what he paid in.',
    options: [...PARTY, { flags: '--ticket <id>', text: 'what makes it happen once' }, YES],
    load: async () => (await import('#control-plane/cli/actions/operator-money.ts')).refundCredit,
  },
  {
    name: 'operator ledger read',
    summary: 'The lines under a ledger key or request id.',
    arguments: [{ name: '<key>', text: 'ledger key or request id' }],
    load: async () => (await import('#control-plane/cli/actions/operator-money.ts')).readTransaction,
  },
  {
    name: 'operator ledger reverse',
    summary: 'Book the opposite of a transaction, once.',
    arguments: [{ name: '<key>', text: 'ledger key or request id' }],
    options: [REASON, YES],
    load: async () => (await import('#control-plane/cli/actions/operator-money.ts')).reverseTransaction,
  },
  {
    name: 'operator ledger adjust',
    summary: 'Move money between an account and the books, by hand.',
    options: [
      ...PARTY,
      { flags: '--direction <way>', text: 'credit or debit' },
      { flags: '--counter <side>', text: 'what it is booked against: promo or shortfall' },
      { flags: '--ticket <id>', text: 'what makes it happen once' },
      REASON,
      YES,
    ],
    load: async () => (await import('#control-plane/cli/actions/operator-money.ts')).adjustLedger,
  },
  {
    name: 'operator shortfall list',
    summary: 'Charges that no balance covered.',
    load: async () => (await import('#control-plane/cli/actions/operator-money.ts')).listShortfall,
  },
  {
    name: 'operator shortfall explain',
    summary: 'Note the fault that a shortfall was traced to.',
    arguments: [{ name: '<transaction>', text: 'its id' }],
    options: [REASON],
    load: async () => (await import('#control-plane/cli/actions/operator-money.ts')).explainShortfall,
  },
  {
    name: 'operator journal repost',
    summary: 'Have the journals bring again what the ledger lost.',
    options: [{ flags: '--since <time>', text: 'since when, as 2026-11-21T10:00:00Z' }, REASON, YES],
    load: async () => (await import('#control-plane/cli/actions/operator-money.ts')).repostJournals,
  },
  {
    name: 'operator payout-holds list',
    summary: 'What payouts wait for.',
    load: async () => (await import('#control-plane/cli/actions/operator-money.ts')).listPayoutHolds,
  },
  {
    name: 'operator payout-holds clear',
    summary: 'Let payouts go on once the cause is mended.',
    arguments: [{ name: '<hold>', text: 'its id' }],
    options: [REASON, YES],
    load: async () => (await import('#control-plane/cli/actions/operator-money.ts')).clearPayoutHold,
  },
  {
    name: 'operator payments state',
    summary: 'How payments by wallet stand: open or not, what hangs, money for gas.',
    load: async () => (await import('#control-plane/cli/actions/operator-payments.ts')).readState,
  },
  {
    name: 'operator payments list',
    summary: 'Payments by wallet, newest first.',
    options: [
      { flags: '--state <state>', text: 'claimed, due, mined, confirmed, released or written_off' },
      { flags: '--payer <address>', text: 'of this wallet' },
      { flags: '--hanging', text: 'only those without a step for a minute' },
    ],
    examples: ['operator payments list --hanging'],
    load: async () => (await import('#control-plane/cli/actions/operator-payments.ts')).listPayments,
  },
  {
    name: 'operator payments debtors',
    summary: 'Wallets that owe for calls which they never paid, and are refused.',
    load: async () => (await import('#control-plane/cli/actions/operator-payments.ts')).listDebtors,
  },
  {
    name: 'operator payments forgive',
    summary: 'Forgive what a wallet owes by one payment.',
    arguments: [{ name: '<request>', text: 'its request id' }],
    options: [REASON, YES],
    load: async () => (await import('#control-plane/cli/actions/operator-payments.ts')).forgiveDebt,
  },
  {
    name: 'operator payouts state',
    summary: 'How the treasury stands, and what is on its way out of it.',
    load: async () => (await import('#control-plane/cli/actions/operator-payouts.ts')).readState,
  },
  {
    name: 'operator payouts list',
    summary: 'Payouts and sweeps, newest first.',
    options: [
      { flags: '--state <state>', text: 'scheduled, held, signed, mined, paid or returned' },
      { flags: '--wallet <address>', text: 'of this seller' },
    ],
    examples: ['operator payouts list --state held'],
    load: async () => (await import('#control-plane/cli/actions/operator-payouts.ts')).listTransfers,
  },
  {
    name: 'operator payouts drain',
    summary: 'Turn every balance above the threshold into payouts now.',
    options: [YES],
    load: async () => (await import('#control-plane/cli/actions/operator-payouts.ts')).drain,
  },
  {
    name: 'operator payouts hold',
    summary: 'Take a payout that is not signed out of the line.',
    arguments: [{ name: '<id>', text: 'the payout, pay_…' }],
    options: [REASON, YES],
    load: async () => (await import('#control-plane/cli/actions/operator-payouts.ts')).hold,
  },
  {
    name: 'operator payouts release',
    summary: 'Let a held payout go: approve a large one, or end a hold.',
    arguments: [{ name: '<id>', text: 'the payout, pay_…' }],
    options: [REASON, YES],
    load: async () => (await import('#control-plane/cli/actions/operator-payouts.ts')).release,
  },
  {
    name: 'operator payouts cancel',
    summary: 'Give the money of a payout that is not signed back to its seller.',
    arguments: [{ name: '<id>', text: 'the payout, pay_…' }],
    options: [REASON, YES],
    load: async () => (await import('#control-plane/cli/actions/operator-payouts.ts')).cancel,
  },
  {
    name: 'operator payouts stop-seller',
    summary: 'Pay a seller no more.',
    arguments: [{ name: '<wallet>', text: 'its wallet' }],
    options: [REASON, YES],
    load: async () => (await import('#control-plane/cli/actions/operator-payouts.ts')).stopSeller,
  },
  {
    name: 'operator payouts start-seller',
    summary: 'Pay a seller again.',
    arguments: [{ name: '<wallet>', text: 'its wallet' }],
    options: [REASON, YES],
    load: async () => (await import('#control-plane/cli/actions/operator-payouts.ts')).startSeller,
  },
  {
    name: 'operator payouts fund',
    summary: 'Book tokens that you brought to the treasury as its capital.',
    arguments: [{ name: '<transaction>', text: 'the transaction that brought them' }],
    options: [REASON, YES],
    load: async () => (await import('#control-plane/cli/actions/operator-payouts.ts')).fund,
  },
  {
    name: 'operator treasury moves',
    summary: 'What came to the treasury and what left it, newest first.',
    options: [{ flags: '--kind <kind>', text: 'new, deposit, payment, capital, payout, sweep or unknown' }],
    examples: ['operator treasury moves --kind unknown'],
    load: async () => (await import('#control-plane/cli/actions/operator-treasury.ts')).listMoves,
  },
  {
    name: 'operator treasury strays',
    summary: 'Other tokens that were sent to the treasury. Nobody is credited for them.',
    load: async () => (await import('#control-plane/cli/actions/operator-treasury.ts')).listStrays,
  },
  {
    name: 'operator treasury owing',
    summary: 'Accounts that pay from their wallets and owe, or whose wallets cannot pay.',
    load: async () => (await import('#control-plane/cli/actions/operator-treasury.ts')).listOwing,
  },
  {
    name: 'operator treasury reconcile',
    summary: 'Compare the treasury on the chain, its transfers, and the books.',
    options: [{ flags: '--reread', text: 'have the blocks since the last proof read again' }],
    load: async () => (await import('#control-plane/cli/actions/operator-treasury.ts')).reconcile,
  },
  {
    name: 'operator treasury assign',
    summary: 'Give what came from an unknown sender to a buyer.',
    arguments: [
      { name: '<transaction>', text: 'the transaction that brought it' },
      { name: '<wallet>', text: 'the wallet of the buyer' },
    ],
    options: [{ flags: '--place <place>', text: 'which of its transfers, from 0' }, REASON, YES],
    load: async () => (await import('#control-plane/cli/actions/operator-treasury.ts')).assign,
  },
  {
    name: 'operator treasury withdraw',
    summary: 'Book what you took out of the treasury as taken from its capital.',
    arguments: [{ name: '<transaction>', text: 'the transaction that took it' }],
    options: [{ flags: '--place <place>', text: 'which of its transfers, from 0' }, REASON, YES],
    load: async () => (await import('#control-plane/cli/actions/operator-treasury.ts')).withdraw,
  },
  {
    name: 'operator treasury payout',
    summary: 'Book what left without a name as a payout of a seller, whose account was lost.',
    arguments: [
      { name: '<transaction>', text: 'the transaction that took it' },
      { name: '<wallet>', text: 'the wallet of the seller' },
    ],
    options: [
      { flags: '--place <place>', text: 'which of its transfers, from 0' },
      { flags: '--treasury <treasury>', text: 'the treasury that it left, that of the settings unless named' },
      REASON,
      YES,
    ],
    load: async () => (await import('#control-plane/cli/actions/operator-treasury.ts')).assignDeparture,
  },
  {
    name: 'operator treasury chain',
    summary: 'Which chain the endpoint speaks for, and what is under way on the one that was read.',
    load: async () => (await import('#control-plane/cli/actions/operator-treasury.ts')).readChain,
  },
  {
    name: 'operator treasury accept-chain',
    summary: 'Accept a chain that was begun anew. What was under way on the one before ends.',
    arguments: [{ name: '<genesis>', text: 'the hash of its first block, as operator treasury chain shows it' }],
    options: [
      { flags: '--from-block <block>', text: 'the first block to read, the next one unless named' },
      REASON,
      YES,
    ],
    load: async () => (await import('#control-plane/cli/actions/operator-treasury.ts')).acceptChain,
  },
  {
    name: 'operator treasury await',
    summary: 'Name a former treasury that a restore lost, so that a held ledger waits for what left it.',
    arguments: [{ name: '<treasury>', text: 'its address' }],
    options: [REASON],
    load: async () => (await import('#control-plane/cli/actions/operator-treasury.ts')).awaitFormer,
  },
  {
    name: 'operator treasury retire',
    summary: 'Answer for a treasury of before, so that a held ledger waits for it no longer.',
    arguments: [{ name: '<treasury>', text: 'its address, as operator payouts state shows it' }],
    options: [REASON, YES],
    load: async () => (await import('#control-plane/cli/actions/operator-treasury.ts')).retire,
  },
]
