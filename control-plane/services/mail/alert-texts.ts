import { formatDollars } from '#shared/money.ts'
import { cleanLine } from '#shared/texts.ts'
import type { MailWords } from './mail-template.ts'

/** Longest text of one fact, such as the name of a key. */
const MAX_FACT_CHARS = 200
const UNKNOWN = 'unknown'
const DIGITS = /^\d{1,15}$/
const MICRO_DIGITS = /^-\d{1,15}$/

/** The facts of an event, as its body has them. */
type Facts = Readonly<Record<string, unknown>>
type Words = Pick<MailWords, 'subject' | 'lines'>

/** The mail's own facts beside those of the event. */
export type AlertFacts = {
  readonly host: string
  readonly alertsUrl: string
  readonly unsubscribeUrl: string
  /** Sentences about the daily limit of mails. */
  readonly notes: readonly string[]
}

/** The mail of an event. */
export function alertWords(
  event: string,
  data: Facts,
  { host, alertsUrl, unsubscribeUrl, notes }: AlertFacts,
): MailWords {
  const write = EVENTS[event]
  const { subject, lines } = write === undefined ? { subject: event, lines: [`Event: ${event}.`] } : write(data)
  return {
    subject,
    lines: [...lines, ...notes],
    action: { label: 'Open your alerts', url: alertsUrl },
    foot: [
      `You get this e-mail because your account on ${host} sends alerts to this address.`,
      `Unsubscribe: ${unsubscribeUrl}`,
    ],
  }
}

const EVENTS: Readonly<Record<string, (data: Facts) => Words>> = {
  'key.cap_reached': (data) => {
    const [key, period, percent] = [factOf(data, 'key_label'), factOf(data, 'period'), factOf(data, 'percent')]
    const used = `${key} has used ${dollars(data, 'used_usdc')} of ${dollars(data, 'cap_usdc')}, its budget for this ${period}.`
    const then =
      data['refusing'] === true
        ? `Calls with this key are refused until ${instant(data, 'resets_at')}. Raise the budget to go on.`
        : `The budget starts again on ${instant(data, 'resets_at')}.`
    return { subject: `${key}: ${percent}% of the budget for this ${period}`, lines: [used, then] }
  },
  'budget.reached': (data) => {
    const [name, team, percent] = [factOf(data, 'name'), factOf(data, 'organization_name'), factOf(data, 'percent')]
    const used = `${name} in ${team} has used ${dollars(data, 'used_usdc')} of ${dollars(data, 'limit_usdc')}, the budget for this month.`
    const then =
      data['refusing'] === true
        ? `Calls that do not fit are refused until ${instant(data, 'resets_at')}. An owner or admin can raise the budget.`
        : `The budget starts again on ${instant(data, 'resets_at')}.`
    return { subject: `${name}: ${percent}% of the budget for this month`, lines: [used, then] }
  },
  'balance.low': (data) => ({
    subject: `Low credit: ${dollars(data, 'balance_usdc')}`,
    lines: [
      `Your credit is ${dollars(data, 'balance_usdc')}, below the ${dollars(data, 'threshold_usdc')} that you chose.`,
      'Add credit before calls are refused.',
    ],
  }),
  'deposit.credited': (data) => ({
    subject: `${dollars(data, 'amount_usdc')} added to your credit`,
    lines: [`Your deposit of ${dollars(data, 'amount_usdc')} is credited.`, `Transaction: ${factOf(data, 'tx_hash')}`],
  }),
  'deposit.waiting': (data) => ({
    subject: 'A deposit is waiting',
    lines: [
      'A transfer from your wallet waits for a check by the operator. You do not need to do anything.',
      `Reason: ${factOf(data, 'reason')}. Transaction: ${factOf(data, 'tx_hash')}`,
    ],
  }),
  'job.succeeded': (data) => ({
    subject: `Job done: ${factOf(data, 'model')}`,
    lines: [`Your job ${factOf(data, 'job_id')} is done. It cost ${dollars(data, 'charge_usdc')}.`],
  }),
  'job.failed': (data) => ({
    subject: `Job failed: ${factOf(data, 'model')}`,
    lines: [`Your job ${factOf(data, 'job_id')} failed. It cost ${dollars(data, 'charge_usdc')}.`],
  }),
  'job.cancelled': (data) => ({
    subject: `Job cancelled: ${factOf(data, 'model')}`,
    lines: [`Your job ${factOf(data, 'job_id')} was cancelled. It cost ${dollars(data, 'charge_usdc')}.`],
  }),
  'payout.address_changed': (data) => ({
    subject: 'A payout address changed',
    lines: [
      `New address: ${factOf(data, 'to')}. Payouts to this address start on ${instant(data, 'paid_from')}.`,
      'If you did not make this change, sign in now and change it back.',
    ],
  }),
  'payout.held': (data) => ({
    subject: `Payout of ${dollars(data, 'amount_usdc')} is held`,
    lines: [`Your payout of ${dollars(data, 'amount_usdc')} waits for an operator. Reason: ${factOf(data, 'reason')}.`],
  }),
  'payout.paid': (data) => ({
    subject: `Payout of ${dollars(data, 'amount_usdc')} is paid`,
    lines: [
      `We sent ${dollars(data, 'amount_usdc')} to ${factOf(data, 'recipient')}.`,
      `Transaction: ${factOf(data, 'tx_hash')}`,
    ],
  }),
  'payout.returned': (data) => ({
    subject: `Payout of ${dollars(data, 'amount_usdc')} came back`,
    lines: [
      `Your payout of ${dollars(data, 'amount_usdc')} came back to your balance. Reason: ${factOf(data, 'reason')}.`,
    ],
  }),
  'webhook.test': () => ({
    subject: 'Test alert',
    lines: ['This is a test. Alerts reach this address.'],
  }),
}

/** A fact as a text of one line. */
function factOf(data: Facts, name: string): string {
  const value = data[name]
  if (typeof value === 'string') return cleanLine(value, MAX_FACT_CHARS)
  return typeof value === 'number' ? String(value) : UNKNOWN
}

/** A fact in micro-USD as dollars. */
function dollars(data: Facts, name: string): string {
  const value = data[name]
  if (typeof value === 'string' && MICRO_DIGITS.test(value)) return `-$${formatDollars(BigInt(value.slice(1)))}`
  return typeof value === 'string' && DIGITS.test(value) ? `$${formatDollars(BigInt(value))}` : UNKNOWN
}

/** A fact in Unix milliseconds as an instant in UTC. */
function instant(data: Facts, name: string): string {
  const value = data[name]
  if (typeof value !== 'number' || !Number.isSafeInteger(value) || Math.abs(value) > MAX_INSTANT) return UNKNOWN
  return `${new Date(value).toISOString().slice(0, 16).replace('T', ' ')} UTC`
}

/** The last instant of ECMAScript, in milliseconds. */
const MAX_INSTANT = 8.64e15
