import fc from 'fast-check'
import { sql } from 'kysely'
import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import { insertHealthEvents } from '#control-plane/db/health-log.ts'
import type { IncidentRow } from '#control-plane/db/incidents.ts'
import { listIncidents } from '#control-plane/db/incidents.ts'
import type { HealthAction } from '#control-plane/db/tables/offers.ts'
import { rollUp } from '#control-plane/services/market/market-rollup.ts'
import { purgeHealthLog } from '#control-plane/services/offers/health-log.ts'
import { DAY, HOUR, MINUTE, systemClock } from '#shared/clock.ts'
import { fillMarket } from '#test/bench/market-history.ts'
import type { TestDatabase } from '#test/support/run/database.ts'
import { createTestDatabase } from '#test/support/run/database.ts'

const OFFERS = 12
const PLACES = { models: 2, providers: 2 }
const START = Date.now() - 10 * DAY
const LONGEST_MS = DAY
const QUIET_MS = 5 * MINUTE
let database: TestDatabase

beforeEach(async () => {
  database = await createTestDatabase()
  await fillMarket(database.db, { ...PLACES, sellers: 3, offers: OFFERS, calls: 20, hours: 1 })
})
afterEach(() => database?.drop())

type Happening = {
  readonly at: number
  readonly offer: number
  readonly action: HealthAction
  readonly minutes: number
}
const Happenings: fc.Arbitrary<Happening> = fc.record({
  at: fc.integer({ min: 0, max: (5 * DAY) / MINUTE }),
  offer: fc.integer({ min: 0, max: OFFERS - 1 }),
  action: fc.constantFrom('backed_off', 'backed_off', 'recovered', 'reset', 'delisted', 'restored', 'counted'),
  minutes: fc.integer({ min: 1, max: (2 * DAY) / MINUTE }),
})
const ENDS: ReadonlySet<HealthAction> = new Set(['recovered', 'reset', 'delisted', 'credential_rotated'])
const placeOf = (offer: number) => ({
  model: `model-${offer % PLACES.models}`,
  provider: `p${Math.floor(offer / PLACES.models) % PLACES.providers}`,
})

let stored = 0
/** Stores events. The next run of the worker skips old ones. */
async function store(events: readonly Happening[], isLongAgo: boolean): Promise<void> {
  const rows = events.map(({ at, offer, action, minutes }) => ({
    id: `hlt_${++stored}`,
    at,
    node: 'test',
    offer: `ofr_${offer}`,
    model: placeOf(offer).model,
    rid: null,
    statusCode: null,
    detail: '',
    errorClass: action === 'backed_off' ? ('timeout' as const) : null,
    action,
    backedOffUntil: action === 'backed_off' ? at + minutes * MINUTE : null,
  }))
  await insertHealthEvents(database.db, rows)
  await rollUp({ db: database.db, clock: systemClock }, 0)
  if (isLongAgo) await sql`update health_log set stored_at = stored_at - interval '1 hour'`.execute(database.db)
}

const list = (from = 0, to = Date.now()) =>
  listIncidents(database.db, { from, to, model: undefined, provider: undefined, after: undefined }, 10_000)

/** Finds incidents by their definition. */
function incidentsOf(events: readonly Happening[]) {
  const spells = events.flatMap(({ at, offer, action, minutes }) => {
    if (action !== 'backed_off') return []
    const ups = events.filter((other) => other.offer === offer && other.at > at && ENDS.has(other.action))
    const endsAt = Math.min(at + minutes * MINUTE, at + LONGEST_MS, ...ups.map((up) => up.at))
    return [{ ...placeOf(offer), at, offer, endsAt }]
  })
  const found: { model: string; provider: string; startedAt: number; endsAt: number; all: number[] }[] = []
  for (const { at, offer, endsAt, ...place } of spells.sort((left, right) => left.at - right.at)) {
    const last = found.findLast(({ model, provider }) => model === place.model && provider === place.provider)
    if (last !== undefined && at <= last.endsAt + QUIET_MS) {
      last.endsAt = Math.max(last.endsAt, endsAt)
      last.all.push(offer)
    } else found.push({ ...place, startedAt: at, endsAt, all: [offer] })
  }
  return found.map(({ all, ...rest }) => ({ ...rest, offers: new Set(all).size, backOffs: all.length })).sort(byPlace)
}

const shown = (rows: readonly IncidentRow[]) =>
  rows
    .map(({ model, provider, startedAt, endsAt, offers, backOffs }) => ({
      model,
      provider,
      startedAt: startedAt.getTime(),
      endsAt: endsAt.getTime(),
      offers,
      backOffs,
    }))
    .sort(byPlace)

type Placed = { readonly model: string; readonly provider: string; readonly startedAt: number }
function byPlace(left: Placed, right: Placed): number {
  return left.startedAt - right.startedAt || (left.model + left.provider < right.model + right.provider ? -1 : 1)
}

describe('incidents', () => {
  it('follow from the health log in any order of its events, and are the same when all are computed again', async () => {
    // Each event has an instant of its own. An incident that ends when it begins has no meaning.
    const events = fc
      .sample(Happenings, 400)
      .map((event, index) => ({ ...event, at: START + event.at * MINUTE + index }))
    for (let from = 0; from < events.length; from += 40) {
      await store(events.slice(from, from + 40), true)
      expect(shown(await list())).toEqual(incidentsOf(events.slice(0, from + 40)))
    }
    const kept = await list()
    expect(kept.length).toBeGreaterThan(2)
    expect(kept).toEqual(kept.toSorted((left, right) => (left.id < right.id ? 1 : -1)))
    await sql`truncate market_incident`.execute(database.db)
    await sql`update market_watermark set incidents_looked_at = null`.execute(database.db)
    await rollUp({ db: database.db, clock: systemClock }, 0)
    expect(await list()).toEqual(kept)
  })

  it('are listed whole for a period that cuts them', async () => {
    const at = START + 8 * DAY
    await store([{ at, offer: 0, action: 'backed_off', minutes: 60 }], false)
    const asked: readonly (readonly [number, number, number])[] = [
      [at - HOUR, at, 0],
      [at - HOUR, at + 1, 1],
      [at + 30 * MINUTE, at + 40 * MINUTE, 1],
      [at + 60 * MINUTE, at + 2 * HOUR, 1],
      [at + 61 * MINUTE, at + 2 * HOUR, 0],
    ]
    for (const [from, to, count] of asked) expect(await list(from, to)).toHaveLength(count)
    const [only] = await list(at + MINUTE, at + 2 * MINUTE)
    expect(only).toMatchObject({ ...placeOf(0), cause: 'timeout', endsAt: new Date(at + HOUR) })
  })

  it('are deleted with the log', async () => {
    await store([{ at: START, offer: 0, action: 'backed_off', minutes: 60 }], true)
    expect(await list()).toHaveLength(1)
    const clock = { ...systemClock, now: () => START + 100 * DAY }
    await purgeHealthLog({ db: database.db, clock })
    expect(await list()).toEqual([])
  })
})
