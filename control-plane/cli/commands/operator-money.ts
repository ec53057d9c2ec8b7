import type { CommandRow, Option } from '#control-plane/cli/command.ts'

const REASON: Option = { flags: '--reason <text>', text: 'reason, for the audit log' }
/** The reason that the buyer sees in the ledger. */
const WHY: Option = { flags: '--note <text>', text: 'reason, for the ledger and the audit log' }
const YES: Option = { flags: '--yes', text: 'skip the confirmation' }
const PARTY: readonly Option[] = [
  { flags: '--wallet <address>', text: 'wallet of the account' },
  { flags: '--account <id>', text: 'account id, instead of the wallet' },
  { flags: '--usd <dollars>', text: 'amount' },
]

/** Operators' commands for money. */
export const OPERATOR_MONEY_COMMANDS: readonly CommandRow[] = [
  {
    name: 'operator credit grant',
    procedure: 'credit.grant',
    options: [...PARTY, { flags: '--ticket <id>', text: 'ticket; the ledger books each ticket once' }, WHY],
    examples: ["operator credit grant --wallet 0x… --usd 5 --ticket T-17 --note 'outage of Monday'"],
    load: async () => (await import('#control-plane/cli/actions/operator-money.ts')).grantCredit,
  },
  {
    name: 'operator credit deposit',
    procedure: 'deposit.recordFiat',
    options: [
      ...PARTY,
      { flags: '--event <id>', text: "the payment provider's id; the ledger books each id once" },
      { flags: '--note <text>', text: 'note for the ledger' },
    ],
    examples: ['operator credit deposit --wallet 0x… --usd 5 --event evt_123'],
    load: async () => (await import('#control-plane/cli/actions/operator-money.ts')).depositCredit,
  },
  {
    name: 'operator credit refund',
    procedure: 'refund.fiat',
    options: [...PARTY, { flags: '--ticket <id>', text: 'ticket; the ledger books each ticket once' }, WHY, YES],
    load: async () => (await import('#control-plane/cli/actions/operator-money.ts')).refundCredit,
  },
  {
    name: 'operator ledger read',
    procedure: 'ledger.read',
    arguments: [{ name: '<key>', text: 'ledger key or request id' }],
    load: async () => (await import('#control-plane/cli/actions/operator-money.ts')).readTransaction,
  },
  {
    name: 'operator ledger reverse',
    procedure: 'ledger.reverse',
    arguments: [{ name: '<key>', text: 'ledger key or request id' }],
    options: [REASON, YES],
    load: async () => (await import('#control-plane/cli/actions/operator-money.ts')).reverseTransaction,
  },
  {
    name: 'operator ledger adjust',
    procedure: 'ledger.adjust',
    options: [
      ...PARTY,
      { flags: '--direction <way>', text: 'credit or debit' },
      { flags: '--counter <side>', text: 'opposite account: promo or shortfall' },
      { flags: '--ticket <id>', text: 'ticket; the ledger books each ticket once' },
      REASON,
      YES,
    ],
    load: async () => (await import('#control-plane/cli/actions/operator-money.ts')).adjustLedger,
  },
  {
    name: 'operator shortfall list',
    procedure: 'shortfall.read',
    load: async () => (await import('#control-plane/cli/actions/operator-money.ts')).listShortfall,
  },
  {
    name: 'operator shortfall explain',
    procedure: 'shortfall.explain',
    arguments: [{ name: '<transaction>', text: 'id' }],
    options: [REASON],
    load: async () => (await import('#control-plane/cli/actions/operator-money.ts')).explainShortfall,
  },
  {
    name: 'operator journal repost',
    procedure: 'journal.repost',
    options: [{ flags: '--since <time>', text: 'start, e.g. 2026-11-21T10:00:00Z' }, REASON, YES],
    load: async () => (await import('#control-plane/cli/actions/operator-money.ts')).repostJournals,
  },
  {
    name: 'operator payout-holds list',
    summary: 'List the holds on payouts.',
    load: async () => (await import('#control-plane/cli/actions/operator-money.ts')).listPayoutHolds,
  },
  {
    name: 'operator payout-holds clear',
    procedure: 'payoutHold.clear',
    arguments: [{ name: '<hold>', text: 'id' }],
    options: [REASON, YES],
    load: async () => (await import('#control-plane/cli/actions/operator-money.ts')).clearPayoutHold,
  },
  {
    name: 'operator payments state',
    procedure: 'payments.state',
    load: async () => (await import('#control-plane/cli/actions/operator-payments.ts')).readState,
  },
  {
    name: 'operator payments list',
    procedure: 'payments.list',
    options: [
      { flags: '--state <state>', text: 'claimed, due, mined, confirmed, released or written_off' },
      { flags: '--payer <address>', text: 'wallet of the account' },
      { flags: '--hanging', text: 'only payments without progress for a minute' },
    ],
    examples: ['operator payments list --hanging'],
    load: async () => (await import('#control-plane/cli/actions/operator-payments.ts')).listPayments,
  },
  {
    name: 'operator payments debtors',
    procedure: 'payments.debtors',
    load: async () => (await import('#control-plane/cli/actions/operator-payments.ts')).listDebtors,
  },
  {
    name: 'operator payments forgive',
    procedure: 'payments.forgive',
    arguments: [{ name: '<request>', text: 'request id' }],
    options: [REASON, YES],
    load: async () => (await import('#control-plane/cli/actions/operator-payments.ts')).forgiveDebt,
  },
  {
    name: 'operator payouts state',
    procedure: 'payouts.state',
    load: async () => (await import('#control-plane/cli/actions/operator-payouts.ts')).readState,
  },
  {
    name: 'operator payouts list',
    procedure: 'payouts.list',
    options: [
      { flags: '--state <state>', text: 'scheduled, held, signed, mined, paid or returned' },
      { flags: '--wallet <address>', text: 'wallet of the seller' },
    ],
    examples: ['operator payouts list --state held'],
    load: async () => (await import('#control-plane/cli/actions/operator-payouts.ts')).listTransfers,
  },
  {
    name: 'operator payouts drain',
    procedure: 'payouts.drain',
    options: [YES],
    load: async () => (await import('#control-plane/cli/actions/operator-payouts.ts')).drain,
  },
  {
    name: 'operator payouts hold',
    procedure: 'payouts.hold',
    arguments: [{ name: '<id>', text: 'payout id (pay_…)' }],
    options: [REASON, YES],
    load: async () => (await import('#control-plane/cli/actions/operator-payouts.ts')).hold,
  },
  {
    name: 'operator payouts release',
    procedure: 'payouts.release',
    arguments: [{ name: '<id>', text: 'payout id (pay_…)' }],
    options: [REASON, YES],
    load: async () => (await import('#control-plane/cli/actions/operator-payouts.ts')).release,
  },
  {
    name: 'operator payouts cancel',
    procedure: 'payouts.cancel',
    arguments: [{ name: '<id>', text: 'payout id (pay_…)' }],
    options: [REASON, YES],
    load: async () => (await import('#control-plane/cli/actions/operator-payouts.ts')).cancel,
  },
  {
    name: 'operator payouts stop-seller',
    procedure: 'payouts.stopSeller',
    arguments: [{ name: '<wallet>', text: 'wallet of the seller' }],
    options: [REASON, YES],
    load: async () => (await import('#control-plane/cli/actions/operator-payouts.ts')).stopSeller,
  },
  {
    name: 'operator payouts start-seller',
    procedure: 'payouts.startSeller',
    arguments: [{ name: '<wallet>', text: 'wallet of the seller' }],
    options: [REASON, YES],
    load: async () => (await import('#control-plane/cli/actions/operator-payouts.ts')).startSeller,
  },
  {
    name: 'operator payouts fund',
    procedure: 'treasury.fund',
    arguments: [{ name: '<transaction>', text: 'transaction that brought the tokens' }],
    options: [REASON, YES],
    load: async () => (await import('#control-plane/cli/actions/operator-payouts.ts')).fund,
  },
  {
    name: 'operator treasury moves',
    procedure: 'treasury.moves',
    options: [{ flags: '--kind <kind>', text: 'new, deposit, payment, capital, payout, sweep or unknown' }],
    examples: ['operator treasury moves --kind unknown'],
    load: async () => (await import('#control-plane/cli/actions/operator-treasury.ts')).listMoves,
  },
  {
    name: 'operator treasury strays',
    procedure: 'treasury.strays',
    load: async () => (await import('#control-plane/cli/actions/operator-treasury.ts')).listStrays,
  },
  {
    name: 'operator treasury owing',
    procedure: 'allowance.owing',
    load: async () => (await import('#control-plane/cli/actions/operator-treasury.ts')).listOwing,
  },
  {
    name: 'operator treasury reconcile',
    procedure: 'treasury.reconcile',
    options: [{ flags: '--reread', text: 'read the blocks since the last proof again' }],
    load: async () => (await import('#control-plane/cli/actions/operator-treasury.ts')).reconcile,
  },
  {
    name: 'operator treasury assign',
    procedure: 'deposit.assign',
    arguments: [
      { name: '<transaction>', text: 'transaction that brought the deposit' },
      { name: '<wallet>', text: 'wallet of the buyer' },
    ],
    options: [{ flags: '--place <place>', text: 'number of the transfer in the transaction, from 0' }, REASON, YES],
    load: async () => (await import('#control-plane/cli/actions/operator-treasury.ts')).assign,
  },
  {
    name: 'operator treasury withdraw',
    procedure: 'treasury.withdraw',
    arguments: [{ name: '<transaction>', text: 'transaction that took the money' }],
    options: [{ flags: '--place <place>', text: 'number of the transfer in the transaction, from 0' }, REASON, YES],
    load: async () => (await import('#control-plane/cli/actions/operator-treasury.ts')).withdraw,
  },
  {
    name: 'operator treasury payout',
    procedure: 'treasury.payout',
    arguments: [
      { name: '<transaction>', text: 'transaction that took the money' },
      { name: '<wallet>', text: 'wallet of the seller' },
    ],
    options: [
      { flags: '--place <place>', text: 'number of the transfer in the transaction, from 0' },
      { flags: '--treasury <treasury>', text: 'treasury of the transfer; default that of the settings' },
      REASON,
      YES,
    ],
    load: async () => (await import('#control-plane/cli/actions/operator-treasury.ts')).assignDeparture,
  },
  {
    name: 'operator treasury chain',
    procedure: 'treasury.chain',
    load: async () => (await import('#control-plane/cli/actions/operator-treasury.ts')).readChain,
  },
  {
    name: 'operator treasury accept-chain',
    procedure: 'treasury.acceptChain',
    arguments: [{ name: '<genesis>', text: 'hash of the first block, from operator treasury chain' }],
    options: [{ flags: '--from-block <block>', text: 'first block to read; default the next one' }, REASON, YES],
    load: async () => (await import('#control-plane/cli/actions/operator-treasury.ts')).acceptChain,
  },
  {
    name: 'operator treasury await',
    procedure: 'treasury.await',
    arguments: [{ name: '<treasury>', text: 'address of the treasury' }],
    options: [REASON],
    load: async () => (await import('#control-plane/cli/actions/operator-treasury.ts')).awaitFormer,
  },
  {
    name: 'operator treasury retire',
    procedure: 'treasury.retire',
    arguments: [{ name: '<treasury>', text: 'address of the treasury, from operator payouts state' }],
    options: [REASON, YES],
    load: async () => (await import('#control-plane/cli/actions/operator-treasury.ts')).retire,
  },
]
