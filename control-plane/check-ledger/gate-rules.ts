import type { Finding } from './finding.ts'
import { findingOf } from './finding.ts'
import type { GateHold, GateState } from './gate-records.ts'
import type { JournalCapture, JournalFolder } from './journal-records.ts'
import type { LedgerFacts } from './ledger-facts.ts'

/** The three records of money, read in the order journals, gate, ledger. */
export type Evidence = {
  readonly journals: readonly JournalFolder[]
  readonly gate: GateState
  readonly facts: LedgerFacts
  /** Jobs of the usage queue by state. */
  readonly jobs: Readonly<Record<string, number>>
  /** Unix milliseconds of the reading. */
  readonly now: number
}

/** The longest time for which a capture may be in a journal alone, while Redis is away or slow. Milliseconds. */
const JOURNAL_GRACE_MS = 120_000

/** Checks the gate and the journals against the ledger. */
export function checkGate(evidence: Evidence): Finding[] {
  const { gate, journals } = evidence
  const captures = journals.flatMap((folder) => folder.captures)
  return [
    findingOf('I5', `${gate.accounts.size} accounts hold the sum of their calls`, wrongCounters(gate)),
    findingOf('I6', `${gate.holds.length} holds are in one state each`, wrongStates(evidence)),
    findingOf('I12', `${captures.length} captures of ${journals.length} journals are kept`, lostCaptures(evidence)),
    findingOf('I13', 'holds and look-ups show the amount that was booked', wrongAmounts(evidence)),
    findingOf('I14', 'the gate never shows more than the ledger leaves', wrongBalances(evidence)),
    findingOf('I18', `${evidence.facts.offerCaps.size} daily caps of offers hold`, wrongCaps(evidence)),
  ]
}

function sumBy(holds: readonly GateHold[], amount: (hold: GateHold) => bigint): Map<string, bigint> {
  const sums = new Map<string, bigint>()
  for (const hold of holds) sums.set(hold.account, (sums.get(hold.account) ?? 0n) + amount(hold))
  return sums
}

/** The counters that decide a reserve must be the sums of the calls behind them. */
function wrongCounters(gate: GateState): string[] {
  const held = sumBy(
    gate.holds.filter((hold) => hold.state === 'open'),
    (hold) => hold.amount,
  )
  const unposted = sumBy(
    gate.holds.filter((hold) => hold.state === 'captured'),
    (hold) => hold.used,
  )
  const names = new Set([...gate.accounts.keys(), ...held.keys(), ...unposted.keys()])
  return [...names].flatMap((name) => {
    const account = gate.accounts.get(name)
    const wrong: string[] = []
    if ((account?.held ?? 0n) !== (held.get(name) ?? 0n)) {
      wrong.push(`${name}: holds ${account?.held ?? 0n}, its open calls come to ${held.get(name) ?? 0n}`)
    }
    if ((account?.unposted ?? 0n) !== (unposted.get(name) ?? 0n)) {
      wrong.push(`${name}: ${account?.unposted ?? 0n} unposted, its captures come to ${unposted.get(name) ?? 0n}`)
    }
    return wrong
  })
}

const STATES = new Set(['open', 'captured', 'posted', 'released', 'expired'])

/** The amount that the ledger took for a request id at its capture. For a job it is the whole quote. */
function bookedFor(facts: LedgerFacts, rid: string): { readonly charge: bigint } | undefined {
  return facts.jobs.get(rid) ?? facts.settled.get(rid)
}

function wrongStates({ gate, facts }: Evidence): string[] {
  const wrong: string[] = []
  const open = new Set<string>()
  const captured = new Set<string>()
  for (const hold of gate.holds) {
    const { rid, state } = hold
    const row = bookedFor(facts, rid)
    if (!STATES.has(state)) wrong.push(`${rid} is in no known state (${state})`)
    if (state === 'open') open.add(rid)
    if (state === 'captured') captured.add(rid)
    if (state === 'open' && !gate.expiring.has(rid)) wrong.push(`${rid} is open and has no deadline`)
    if (state === 'captured' && !gate.waiting.has(rid)) wrong.push(`${rid} is captured and waits nowhere`)
    if (state === 'captured' && !hold.hasEvent) wrong.push(`${rid} is captured without its event`)
    if (state === 'posted' && row === undefined && !facts.discarded.has(rid))
      wrong.push(`${rid} is posted in the gate only`)
    if ((state === 'released' || state === 'expired') && row !== undefined && row.charge > 0n) {
      wrong.push(`${rid} is ${state} in the gate and charged ${row.charge} in the ledger`)
    }
  }
  for (const rid of gate.expiring) if (!open.has(rid)) wrong.push(`${rid} has a deadline and is not open`)
  for (const rid of gate.waiting) if (!captured.has(rid)) wrong.push(`${rid} waits for posting and is not captured`)
  return wrong
}

/** Captures that are in a journal and neither in the ledger, nor in the gate, nor with their payment. */
function journalOnly({ journals, gate, facts }: Evidence): JournalCapture[] {
  const inGate = new Set(gate.holds.filter((hold) => hold.state === 'captured').map((hold) => hold.rid))
  const all = new Map(journals.flatMap((folder) => folder.captures).map((capture) => [capture.rid, capture]))
  return [...all.values()].filter(
    ({ rid }) =>
      bookedFor(facts, rid) === undefined && !inGate.has(rid) && !facts.discarded.has(rid) && !facts.paying.has(rid),
  )
}

function lostCaptures(evidence: Evidence): string[] {
  const lostRids = journalOnly(evidence)
    .filter(({ endedAt, charge, isEnd }) => (charge > 0n || isEnd) && evidence.now - endedAt > JOURNAL_GRACE_MS)
    .map(({ rid, charge }) => `${rid}: ${charge} captured in a journal is nowhere else`)
  const other = evidence.journals
    .flatMap((folder) => folder.captures)
    .filter(({ isPresumed }) => !isPresumed)
    .filter(({ rid, charge }) => (bookedFor(evidence.facts, rid)?.charge ?? charge) !== charge)
    .map(({ rid, charge }) => `${rid}: captured ${charge}, settled ${bookedFor(evidence.facts, rid)?.charge}`)
  return [...lostRids, ...other]
}

/** The suffix that makes the id of a job's end from the job's id. The checker shares no code with the product. */
const JOB_END = '.end'

function wrongAmounts({ gate, facts }: Evidence): string[] {
  return gate.holds.flatMap((hold) => {
    const charge = bookedFor(facts, hold.rid)?.charge
    const wrong: string[] = []
    const isCharged = hold.state === 'captured' || hold.state === 'posted'
    if (isCharged && charge !== undefined && charge !== hold.used) {
      wrong.push(`${hold.rid}: the gate charged ${hold.used}, the ledger ${charge}`)
    }
    const job = hold.rid.endsWith(JOB_END) ? hold.rid.slice(0, -JOB_END.length) : undefined
    // The gate takes nothing for the end of a job, because its escrow pays.
    const usedMicro = job === undefined ? hold.used : facts.settled.get(job)?.charge
    if (isCharged && hold.lookupCost !== undefined && usedMicro !== undefined && hold.lookupCost !== usedMicro) {
      wrong.push(`${hold.rid}: the look-up says ${hold.lookupCost}, ${usedMicro} were charged`)
    }
    return wrong
  })
}

function wrongBalances(evidence: Evidence): string[] {
  const { gate, facts } = evidence
  const pending = new Map<string, bigint>()
  for (const { account, charge, isCredit } of journalOnly(evidence)) {
    // A wallet's debt comes from the chain, not from its credit.
    if (isCredit) pending.set(account, (pending.get(account) ?? 0n) + charge)
  }
  return [...gate.accounts.values()].flatMap((account) => {
    if (!account.isSeeded) return []
    const row = facts.balances.get(account.account)
    if (row === undefined) return [`${account.account} is no buyer account of the ledger`]
    if (account.version > row.version)
      return [`${account.account}: the gate is at a version the ledger has not reached`]
    if (account.version === row.version && account.posted !== row.balance) {
      return [`${account.account}: ${account.posted} in the gate, ${row.balance} in the ledger, at one version`]
    }
    const spendable = account.posted - account.held - account.unposted
    const left = row.balance - (pending.get(account.account) ?? 0n)
    return spendable > left ? [`${account.account}: ${spendable} spendable, ${left} left by the ledger`] : []
  })
}

function wrongCaps({ gate, facts, now }: Evidence): string[] {
  const today = new Date(now).toISOString().slice(0, 10)
  return [...facts.offerCaps].flatMap(([offer, cap]) => {
    const use = gate.offerUse.get(offer)
    if (use === undefined || use.day !== today || use.used <= cap) return []
    return [`${offer}: ${use.used} used or held today under a cap of ${cap}`]
  })
}

/** The reasons why the market is not at rest. Empty at rest. */
export function unrest({ gate, facts, jobs, journals }: Evidence): string[] {
  const wrong: string[] = []
  for (const { rid, state, expiresAt } of gate.holds) {
    if (state === 'open') wrong.push(`${rid} is open, until ${new Date(expiresAt).toISOString()} at the latest`)
    if (state === 'captured') wrong.push(`${rid} is captured`)
  }
  for (const account of gate.accounts.values()) {
    const { account: name, held, unposted } = account
    if (held !== 0n || unposted !== 0n) wrong.push(`${name} has ${held} held and ${unposted} unposted`)
    const row = facts.balances.get(name)
    if (account.isSeeded && (row?.balance !== account.posted || row.version !== account.version)) {
      wrong.push(`${name}: gate ${account.posted} at ${account.version}, ledger ${row?.balance} at ${row?.version}`)
    }
  }
  for (const [state, count] of Object.entries(jobs)) if (count > 0) wrong.push(`${count} usage jobs ${state}`)
  if (facts.unconfirmed > 0) wrong.push(`${facts.unconfirmed} balances the gate has not confirmed`)
  for (const { name, isLive, cursor, lastCapture } of journals) {
    if (isLive && cursor < lastCapture) wrong.push(`journal ${name}: cursor ${cursor} of ${lastCapture}`)
  }
  return wrong
}
