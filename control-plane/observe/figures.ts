import type { Registry } from 'prom-client'
import { Gauge } from 'prom-client'
import type { Database, PoolFigures } from '#control-plane/db/database.ts'
import { readOutboxes } from '#control-plane/db/outboxes.ts'
import type { Desk } from '#control-plane/ports/desk/desk.ts'
import type { Clock } from '#shared/clock.ts'
import { SECOND } from '#shared/clock.ts'
import type { ClockWatch } from '#shared/clock-skew.ts'
import type { UntrustedProxies } from '#shared/untrusted-proxies.ts'

/** Figures that need a query of a server are read at most this often, however often the metrics are read. */
const ASK_EVERY_MS = 5 * SECOND

type Sources = {
  readonly db: Database
  readonly pool: () => PoolFigures
  readonly desk: Pick<Desk, 'countJobs'>
  readonly clocks: Pick<ClockWatch, 'skews'>
  readonly untrustedProxies: Pick<UntrustedProxies, 'count'>
  readonly clock: Clock
}

/** Registers gauges that are read on request. A figure that cannot be read is left out; no old value is shown. */
export function mountFigures(registry: Registry, { db, pool, desk, clocks, untrustedProxies, clock }: Sources): void {
  const gauge = (name: string, help: string, labels: readonly string[], fill: (gauge: Gauge) => void | Promise<void>) =>
    new Gauge({
      name,
      help,
      registers: [registry],
      labelNames: [...labels],
      async collect() {
        this.reset()
        await fill(this)
      },
    })
  const outboxes = askedSeldom(clock, () => readOutboxes(db))
  const jobs = askedSeldom(clock, () => desk.countJobs())

  const missing = 'Proxies that pass requests on and are missing in TRUSTED_PROXIES'
  gauge('control_untrusted_proxies', missing, [], (to) => to.set(untrustedProxies.count()))
  gauge(
    'control_db_connections',
    'Connections to Postgres; waiting counts callers without a connection',
    ['state'],
    (to) => {
      for (const [state, count] of Object.entries(pool())) to.set({ state }, count)
    },
  )
  gauge('control_outbox_rows', 'Changes that the gate or the key store has not received', ['outbox'], async (to) => {
    for (const { outbox, rows } of (await outboxes()) ?? []) to.set({ outbox }, rows)
  })
  gauge(
    'control_outbox_age_seconds',
    'Age of the oldest change that the gate or the key store has not received, 0 for none',
    ['outbox'],
    async (to) => {
      for (const { outbox, ageSeconds } of (await outboxes()) ?? []) {
        if (ageSeconds !== null) to.set({ outbox }, ageSeconds)
      }
    },
  )
  gauge('control_queue_jobs', 'Jobs by queue and state', ['queue', 'state'], async (to) => {
    for (const { queue, ...states } of (await jobs()) ?? []) {
      for (const [state, count] of Object.entries(states)) to.set({ queue, state }, count)
    }
  })
  gauge('market_clock_skew_ms', 'Milliseconds by which this clock is ahead of another', ['against'], (to) => {
    for (const [against, skewMs] of clocks.skews()) to.set({ against }, skewMs)
  })
}

/** Reads at most once every {@link ASK_EVERY_MS} for all callers together. Returns undefined without an answer. */
function askedSeldom<Result>(clock: Clock, ask: () => Promise<Result>): () => Promise<Result | undefined> {
  let askedAt = Number.NEGATIVE_INFINITY
  let answer: Promise<Result | undefined> = Promise.resolve(undefined)
  return () => {
    if (clock.monotonic() - askedAt >= ASK_EVERY_MS) {
      askedAt = clock.monotonic()
      answer = ask().catch(() => undefined)
    }
    return answer
  }
}
