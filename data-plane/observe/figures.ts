import type { Registry } from 'prom-client'
import { Counter, Gauge } from 'prom-client'
import type { Admission } from '#data-plane/http/admission.ts'
import type { WriterFigures } from '#data-plane/journal/writer.ts'
import type { Artifacts } from '#data-plane/store/artifacts.ts'
import type { KeyFigures } from '#data-plane/store/buyer-keys.ts'
import type { EventQueues } from '#data-plane/store/events.ts'
import type { CopyFigures } from '#data-plane/store/file-copies.ts'
import type { RateFigures } from '#data-plane/store/rate-limits.ts'
import type { SnapshotFigures } from '#data-plane/store/snapshot.ts'
import { SECOND } from '#shared/clock.ts'
import type { RefusedWork } from '#shared/refused-work.ts'
import type { UntrustedProxies } from '#shared/untrusted-proxies.ts'

/** Sources of figures that are read on demand. Nothing is counted twice, and a call does no work for them. */
export type FigureSources = {
  /** Calls under way, and streams that are read on without a buyer. */
  readonly open: { readonly count: number }
  readonly drains: { readonly count: number }
  readonly isDraining: () => boolean
  readonly offers: () => number
  readonly admission: Pick<Admission, 'delayMs' | 'refusals'>
  /** Large answers in memory, and calls that were refused because of them. */
  readonly answers: () => { readonly bytes: number; readonly waiting: number; readonly refused: number }
  readonly rates: () => RateFigures
  readonly refusedWork: RefusedWork['figures']
  readonly untrustedProxies: Pick<UntrustedProxies, 'count'>
  readonly keys: () => KeyFigures
  readonly snapshot: () => SnapshotFigures
  readonly health: () => { readonly backedOff: number; readonly suspect: number }
  readonly funds: { isOpen(): boolean; pending(): { openCalls: number; unsettled: number } }
  /** The epoch in which this process takes part; undefined while it takes part in none. */
  readonly epoch: () => number | undefined
  readonly journal: { figures(): WriterFigures; unpostedCount(): number; isWritable(): boolean }
  readonly artifacts: Artifacts['figures']
  readonly copies: () => CopyFigures
  readonly droppedEvents: EventQueues['dropped']
  /** Milliseconds by which this clock is ahead of each other clock. */
  readonly clockSkews: () => ReadonlyMap<string, number>
}

export function mountFigures(registry: Registry, sources: FigureSources): void {
  const figures = createFigures(registry)
  mountTraffic(figures, sources)
  mountMarket(figures, sources)
  mountMoney(figures, sources)
  mountArtifacts(figures, sources)
}

type Figures = ReturnType<typeof createFigures>
type Labelled = Iterable<readonly [label: string, value: number]>

/** Makes gauges and counters that are read on demand: one value, or one for each value of a label. */
function createFigures(registry: Registry) {
  const registers = [registry]
  return {
    gauge: (name: string, help: string, read: () => number) =>
      new Gauge({
        name,
        help,
        registers,
        collect() {
          this.set(read())
        },
      }),
    gauges: (name: string, help: string, label: string, read: () => Labelled) =>
      new Gauge({
        name,
        help,
        registers,
        labelNames: [label],
        collect() {
          for (const [value, figure] of read()) this.set({ [label]: value }, figure)
        },
      }),
    counter: (name: string, help: string, read: () => number) =>
      new Counter({
        name,
        help,
        registers,
        collect() {
          this.reset()
          this.inc(read())
        },
      }),
    counters: (name: string, help: string, label: string, read: () => Labelled) =>
      new Counter({
        name,
        help,
        registers,
        labelNames: [label],
        collect() {
          this.reset()
          for (const [value, figure] of read()) this.inc({ [label]: value }, figure)
        },
      }),
  }
}

function mountTraffic(to: Figures, sources: FigureSources): void {
  const { open, drains, isDraining, admission, answers, rates, refusedWork, untrustedProxies, keys } = sources
  to.gauge('market_open_calls', 'Calls under way', () => open.count)
  to.gauge('market_detached_streams', 'Streams that continue without a buyer', () => drains.count)
  to.gauge('market_draining', '1 while the process is about to end', () => Number(isDraining()))
  to.gauge(
    'market_event_loop_delay_seconds',
    'Lateness of the event loop in the last second, 99th percentile',
    () => admission.delayMs() / SECOND,
  )
  to.counters(
    'market_admission_refusals_total',
    'Requests refused for lack of capacity, by the exceeded limit',
    'source',
    admission.refusals,
  )
  to.gauge('market_large_answer_bytes', 'Bytes of large answers in memory', () => answers().bytes)
  to.gauge('market_large_answers_waiting', 'Large answers that wait for memory', () => answers().waiting)
  const noRoom = 'Calls for pictures that were refused for lack of memory'
  to.counter('market_large_answer_refusals_total', noRoom, () => answers().refused)
  to.counters('market_rate_refusals_total', 'Calls refused by a limit of their key', 'limit', () => [
    ['rate', rates().overRate],
    ['in_flight', rates().overInFlight],
  ])
  const spentWork = 'Requests refused because their address had used up its refused work'
  to.counter('market_refused_work_refusals_total', spentWork, () => refusedWork().refused)
  to.gauge('market_refused_work_addresses', 'Addresses with refused work in this minute', () => refusedWork().names)
  const missing = 'Proxies that pass requests on and are missing in TRUSTED_PROXIES'
  to.gauge('market_untrusted_proxies', missing, untrustedProxies.count)
  to.gauge('market_rate_callers', 'Callers whose rate is counted', () => rates().callers)
  to.gauge('market_known_keys', 'Keys in memory', () => keys().known)
  to.counters('market_key_finds_total', 'Keys found in memory, or looked up in Redis', 'where', () => [
    ['memory', keys().hits],
    ['redis', keys().lookups],
  ])
}

function mountMarket(to: Figures, { offers, snapshot, health }: FigureSources): void {
  to.gauge('market_offers', 'Offers in memory', offers)
  to.gauges('market_offers_unwell', 'Offers with a recorded failure, and offers that are backed off', 'state', () => [
    ['suspect', health().suspect],
    ['backed_off', health().backedOff],
  ])
  to.gauge(
    'market_snapshot_age_seconds',
    'Time since Redis was last asked for news of the snapshot, -1 before the first answer',
    () => {
      const { ageMs } = snapshot()
      return ageMs === undefined ? -1 : ageMs / SECOND
    },
  )
  to.gauge('market_snapshot_documents', 'Documents of the snapshot in memory', () => snapshot().held)
  to.gauge('market_snapshot_refused_documents', 'Documents whose newest version is not valid', () => snapshot().refused)
  to.counter('market_snapshot_swaps_total', 'Times that new data of the market came into use', () => snapshot().swaps)
  to.gauges(
    'market_snapshot_version',
    'Version of each document in memory; of offers, the newest',
    'document',
    () => snapshot().versions,
  )
}

function mountMoney(to: Figures, { funds, epoch, journal, droppedEvents, clockSkews }: FigureSources): void {
  to.gauge('market_gate_open', '1 while paid calls are admitted', () => Number(funds.isOpen()))
  to.gauge('market_gate_epoch', 'Money epoch this process takes part in, 0 for none', () => epoch() ?? 0)
  to.gauge('market_holds_open', 'Holds of this process that are not over', () => funds.pending().openCalls)
  to.gauge(
    'market_settlements_waiting',
    'Captures and releases without an answer of Redis',
    () => funds.pending().unsettled,
  )
  to.counter(
    'market_events_left_to_sweeper_total',
    'Usage events that could not be queued',
    () => droppedEvents().usage,
  )
  const help = 'Health events of offers that were not queued'
  to.counter('market_health_events_lost_total', help, () => droppedEvents().health)
  to.gauge('market_journal_writable', '1 while the journal takes records', () => Number(journal.isWritable()))
  to.counter('market_journal_written_bytes_total', 'Bytes written to the journal', () => journal.figures().writtenBytes)
  to.gauge(
    'market_journal_unsafe_bytes',
    'Journal bytes that are possibly not on the disk yet',
    () => journal.figures().unsafeBytes,
  )
  to.gauge(
    'market_journal_lag_seconds',
    'Longest time that journal bytes may have waited for the disk, 0 while all are safe',
    () => journal.figures().unsafeForMs / SECOND,
  )
  to.gauge('market_journal_unposted_captures', 'Captures not known to be posted', journal.unpostedCount)
  to.gauges('market_clock_skew_ms', 'Milliseconds by which this clock is ahead of another', 'against', clockSkews)
}

function mountArtifacts(to: Figures, { artifacts, copies }: FigureSources): void {
  to.gauge(
    'market_artifact_bytes',
    'Bytes of media files, including files that are being written',
    () => artifacts().bytes,
  )
  to.gauge('market_artifact_files', 'Media files that are kept', () => artifacts().files)
  to.gauge('market_artifact_downloads_open', 'Downloads of media files under way', () => artifacts().open)
  to.counter('market_artifact_downloads_total', 'Downloads of media files', () => artifacts().downloads)
  to.counter('market_artifacts_swept_total', 'Media files removed after their time', () => artifacts().swept)
  to.counters('market_artifact_refusals_total', 'Media files not kept, by bound', 'bound', () => artifacts().refused)
  to.gauge('market_artifact_copies_running', 'Files of jobs that are being copied', () => copies().running)
  to.gauge('market_artifact_copies_waiting', 'Files of jobs that wait to be copied', () => copies().waiting)
  to.counter('market_artifact_copies_total', 'Files of jobs that were copied', () => copies().copied)
  const failed = 'Files of jobs that were not copied, by the reason'
  to.counters('market_artifact_copy_failures_total', failed, 'reason', () => copies().failed)
}
