import type { Command, CommandGroup, CommandRow, CommandSection } from '#control-plane/cli/command.ts'
import { describeCommand } from '#control-plane/cli/command.ts'
import { BUYER_COMMANDS } from './buyer.ts'
import { LENT_COMMANDS } from './lent-keys.ts'
import { OPERATOR_MARKET_COMMANDS } from './operator-market.ts'
import { OPERATOR_MONEY_COMMANDS } from './operator-money.ts'
import { OPERATOR_SYSTEM_COMMANDS } from './operator-system.ts'
import { SELLER_COMMANDS } from './seller.ts'
import { SESSION_COMMANDS } from './session.ts'

/** Sections of the help, and the words in each, in the order of a first day. */
export const SECTIONS: readonly CommandSection[] = [
  { of: '', title: 'Get started:', words: ['login', 'whoami', 'logout', 'completion'] },
  { of: '', title: 'Call models:', words: ['models', 'markets', 'book', 'route', 'chat', 'pay'] },
  { of: '', title: 'Credit and payment:', words: ['balance', 'deposit', 'deposits', 'allowance'] },
  {
    of: '',
    title: 'Keys, usage and jobs:',
    words: ['keys', 'key', 'caps', 'budgets', 'usage', 'request', 'jobs', 'cancel-job'],
  },
  {
    of: '',
    title: 'Sell:',
    words: ['sell', 'discover', 'test-provider', 'offers', 'health-log', 'earnings', 'payouts', 'bills', 'drift'],
  },
  { of: '', title: 'Lend keys:', words: ['lend', 'lent'] },
  { of: '', title: 'Operate:', words: ['operator'] },
  {
    of: 'operator',
    title: 'Catalogue and offers:',
    words: ['setup', 'catalog', 'aliases', 'prices', 'providers', 'resources', 'offers', 'delist', 'restore'],
  },
  {
    of: 'operator',
    title: 'Money:',
    words: ['credit', 'ledger', 'invariants', 'shortfall', 'payments', 'payouts', 'payout-holds', 'treasury', 'drift'],
  },
  {
    of: 'operator',
    title: 'System:',
    words: [
      'incidents',
      'audit',
      'nodes',
      'features',
      'limits',
      'holds',
      'queues',
      'snapshot',
      'journal',
      'poison',
      'conflicts',
    ],
  },
]

/** Groups of commands, each by the words in front of its commands. A group comes before the groups within it. */
export const GROUPS: readonly CommandGroup[] = [
  { name: 'keys', summary: 'Create, list and revoke API keys.' },
  { name: 'budgets', summary: 'List and set the budgets of an organisation.' },
  { name: 'allowance', summary: 'Pay from your wallet instead of credit.' },
  { name: 'route', summary: 'See how a call would be routed.' },
  { name: 'offers', summary: 'Manage your offers.' },
  { name: 'bills', summary: "Import your providers' bills." },
  { name: 'payouts', summary: 'List and request payouts.' },
  { name: 'lent', summary: 'Manage the keys that you lend.' },
  { name: 'operator', summary: 'Run the market. Needs an operator key.' },
  { name: 'operator catalog', summary: 'The catalogue of models.' },
  { name: 'operator aliases', summary: 'Names of models.' },
  { name: 'operator prices', summary: 'List prices.' },
  { name: 'operator providers', summary: 'The allow-list of providers.' },
  { name: 'operator resources', summary: 'Providers whose keys can be lent.' },
  { name: 'operator incidents', summary: 'Published incidents.' },
  { name: 'operator credit', summary: 'Credit of buyers.' },
  { name: 'operator ledger', summary: 'The ledger.' },
  { name: 'operator shortfall', summary: 'Charges without enough balance.' },
  { name: 'operator journal', summary: 'Journals of the data planes.' },
  { name: 'operator payout-holds', summary: 'Payouts on hold.' },
  { name: 'operator payments', summary: 'Payments by wallet.' },
  { name: 'operator payouts', summary: 'Payouts to sellers, and the treasury.' },
  { name: 'operator treasury', summary: 'Transfers to the treasury.' },
  { name: 'operator features', summary: 'Switches of both planes.' },
  { name: 'operator limits', summary: 'Limits of calls.' },
  { name: 'operator holds', summary: 'Money that calls hold.' },
  { name: 'operator queues', summary: 'Background work.' },
  { name: 'operator snapshot', summary: 'The snapshot that data planes read.' },
  { name: 'operator poison', summary: 'Events that could not be posted.' },
  { name: 'operator conflicts', summary: 'Events that contradict the ledger.' },
]

const ROWS: readonly CommandRow[] = [
  ...SESSION_COMMANDS,
  ...BUYER_COMMANDS,
  ...SELLER_COMMANDS,
  ...LENT_COMMANDS,
  ...OPERATOR_MARKET_COMMANDS,
  ...OPERATOR_MONEY_COMMANDS,
  ...OPERATOR_SYSTEM_COMMANDS,
]

/** All commands, in the order of help and of the reference page. */
export const COMMANDS: readonly Command[] = ROWS.map(describeCommand)
