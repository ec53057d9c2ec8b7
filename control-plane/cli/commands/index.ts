import type { Command, CommandGroup, CommandRow } from '#control-plane/cli/command.ts'
import { describeCommand } from '#control-plane/cli/command.ts'
import { BUYER_COMMANDS } from './buyer.ts'
import { LENT_COMMANDS } from './lent-keys.ts'
import { OPERATOR_MARKET_COMMANDS } from './operator-market.ts'
import { OPERATOR_MONEY_COMMANDS } from './operator-money.ts'
import { OPERATOR_SYSTEM_COMMANDS } from './operator-system.ts'
import { SELLER_COMMANDS } from './seller.ts'
import { SESSION_COMMANDS } from './session.ts'

/** Words in front of other words. A parent stands before its children. */
export const GROUPS: readonly CommandGroup[] = [
  { name: 'keys', summary: 'Keys of a wallet.' },
  { name: 'allowance', summary: 'Payment from a wallet.' },
  { name: 'route', summary: 'How calls are routed.' },
  { name: 'offers', summary: 'Your offers.' },
  { name: 'bills', summary: 'What providers bill you.' },
  { name: 'payouts', summary: 'What a seller is paid.' },
  { name: 'lent', summary: 'Your lent keys.' },
  { name: 'operator', summary: 'Run the market: for operators.' },
  { name: 'operator catalog', summary: 'The catalogue of models.' },
  { name: 'operator aliases', summary: 'Names of models.' },
  { name: 'operator prices', summary: 'Reference prices.' },
  { name: 'operator providers', summary: 'The allow-list of providers.' },
  { name: 'operator resources', summary: 'Providers whose keys can be lent.' },
  { name: 'operator incidents', summary: 'What everybody is told of incidents.' },
  { name: 'operator credit', summary: 'Credit of buyers.' },
  { name: 'operator ledger', summary: 'The ledger.' },
  { name: 'operator shortfall', summary: 'Charges that no balance covered.' },
  { name: 'operator journal', summary: 'Journals of the data planes.' },
  { name: 'operator payout-holds', summary: 'What payouts wait for.' },
  { name: 'operator payments', summary: 'Payments by wallet.' },
  { name: 'operator payouts', summary: 'Payouts to sellers, and the treasury.' },
  { name: 'operator treasury', summary: 'What comes to the treasury.' },
  { name: 'operator features', summary: 'Switches of both planes.' },
  { name: 'operator limits', summary: 'Limits of calls.' },
  { name: 'operator holds', summary: 'Money that calls hold.' },
  { name: 'operator queues', summary: 'Background work.' },
  { name: 'operator snapshot', summary: 'What the data plane reads.' },
  { name: 'operator poison', summary: 'Events that could not be posted.' },
  { name: 'operator conflicts', summary: 'Events that contradict what is booked.' },
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
