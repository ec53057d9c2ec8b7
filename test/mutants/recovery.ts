import { JOB_SHARE } from '#test/sim/plan/plan.ts'
import type { Mutant } from './mutant.ts'
import { mutant, seeds } from './mutant.ts'

const INGEST = 'control-plane/services/booking/ingest.ts'
const TAKE_OVER = 'data-plane/journal/take-over.ts'
const JOURNAL = 'data-plane/journal/journal.ts'
const FUNDS_RECOVERY = 'data-plane/store/funds-recovery.ts'
const GATE_REBUILD = 'control-plane/services/gate/gate-rebuild.ts'

/** Mistakes in the posting of usage, and in the recovery after a death. */
export const RECOVERY_MUTANTS: readonly Mutant[] = [
  mutant('repeat_is_not_acknowledged', seeds(10, { jobs: JOB_SHARE }), `${INGEST}#postBatch`, {
    'await acknowledge(ctx, booked)':
      "await acknowledge(ctx, { ...booked, events: booked.events.filter(({ fate }) => fate === 'new') })",
  }),
  mutant('older_balance_is_told', seeds(30, { jobs: JOB_SHARE }), `${INGEST}#acknowledge`, {
    'if (known === undefined || row.version > known.version) newest.set(row.account, row)':
      'if (known === undefined) newest.set(row.account, row)',
  }),
  mutant('repeat_moves_money_again', seeds(10, { jobs: JOB_SHARE }), `${INGEST}#bookCalls`, {
    'const fresh = [...byRid.values()].filter((read) => inserted.has(read.event.rid))':
      'const fresh = [...byRid.values()]',
  }),
  mutant('ready_before_it_has_registered', seeds(60, { jobs: JOB_SHARE }), 'data-plane/store/gate-member.ts#step', {
    'await ports.register(membership)': `await connection.writes.hset(moneyKeys.ready(membership.epoch), name, clock.now())
      await ports.register(membership)`,
  }),
  mutant('last_segment_of_the_dead_is_skipped', seeds(15, { jobs: JOB_SHARE }), `${TAKE_OVER}#takeOver`, {
    'readSegments(files, segments, needed)': 'readSegments(files, segments.slice(0, -1), needed)',
  }),
  mutant('capture_behind_the_cursor_is_skipped', seeds(15, { jobs: JOB_SHARE }), `${TAKE_OVER}#takeOver`, {
    'if (seq <= postedSeq) continue': 'if (seq <= postedSeq + 1) continue',
  }),
  mutant('taken_over_without_a_sync', seeds(90, { jobs: JOB_SHARE }), `${TAKE_OVER}#takeOver`, {
    "await sync()\n  await files.write(finished, '')": "await files.write(finished, '')",
  }),
  mutant('cursor_is_one_too_far', seeds(15, { jobs: JOB_SHARE }), `${JOURNAL}#advance`, {
    '(unposted.firstCapture() ?? numbering.last + 1) - 1': 'unposted.firstCapture() ?? numbering.last',
  }),
  mutant('cursor_needs_nothing_before_it', seeds(15, { jobs: JOB_SHARE }), `${JOURNAL}#advance`, {
    'needed: unposted.firstNeeded(numbering.last), at: clock.now() }': 'needed: numbering.last + 1, at: clock.now() }',
  }),
  mutant('captures_in_memory_are_not_brought', seeds(45, { jobs: JOB_SHARE }), `${JOURNAL}#readUnposted`, {
    'for (const { seq, event } of inMemory) if (unposted.has(seq)) yield event': '',
  }),
  mutant('captures_are_not_brought', seeds(10, { jobs: JOB_SHARE }), `${FUNDS_RECOVERY}#bringAll`, {
    'await bringCaptures(ports, registrar)\n': '',
  }),
  mutant('takes_are_not_brought', seeds(90, { jobs: JOB_SHARE }), `${FUNDS_RECOVERY}#bringAll`, {
    'await ports.offerCaps.bringAll(membership)': '',
  }),
  mutant('holds_of_the_dead_are_kept', seeds(15, { jobs: JOB_SHARE }), `${FUNDS_RECOVERY}#endMember`, {
    'if (isFirstHand) {': 'if (Math.PI === 3) {',
  }),
  mutant('inheritance_is_never_crossed_off', seeds(10, { jobs: JOB_SHARE }), `${FUNDS_RECOVERY}#handOnAll`, {
    'journal.crossOff(inheritance)': '',
  }),
  mutant('holds_of_the_living_are_freed', seeds(5, { jobs: JOB_SHARE }), 'data-plane/store/left-holds.ts#releases', {
    'if (owner !== node || !account) return []': 'if (!account) return []',
  }),
  mutant('caps_begin_the_epoch_empty', seeds(15, { jobs: JOB_SHARE }), `${GATE_REBUILD}#rebuildGate`, {
    'await seedOffers(ctx, epoch, view.now)': '',
  }),
  mutant('sweeper_posts_nothing', seeds(5, { jobs: JOB_SHARE }), 'control-plane/services/booking/sweep.ts#sweepHolds', {
    'const { posted } = await postLeftBehind(ctx, unpostedAfterMs, ending)': 'const posted = 0',
  }),
]
