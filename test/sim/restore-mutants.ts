import type { LongMutant } from './long-mutant.ts'
import type { ProductMutant } from './product-mutants.ts'

const PENDING = 'data-plane/pipeline/claims/pending-settlements.ts'
const STANDING = 'data-plane/pipeline/claims/standing-claims.ts'
const CLAIM = 'control-plane/services/payments/claim-payment.ts'
const RECAPTURE = 'data-plane/journal/recapture.ts'
const RECOVER = 'data-plane/store/funds-recovery.ts'
const RESTORES = 'control-plane/services/gate/ledger-restores.ts'
const REBUILD = 'control-plane/services/gate/gate-rebuild.ts'

const mutant = (name: string, mostSeeds: number, ...edits: ProductMutant['edits']): LongMutant => {
  return { name, edits, jobs: 0, restores: true, mostSeeds }
}

/** Mistakes around a ledger that goes back in time. */
export const RESTORE_MUTANTS: readonly LongMutant[] = [
  mutant('lost_charges_are_not_told_again', 10, {
    file: PENDING,
    find: 'const isAll = recaptures !== rail.recaptures',
    replace: 'const isAll = recaptures < rail.recaptures',
  }),
  mutant('claims_are_not_kept_with_events', 10, {
    file: 'data-plane/rails/claim.ts',
    find: '{ ...recordOf(paid), claim }',
    replace: 'recordOf(paid)',
  }),
  mutant(
    'restored_ledgers_take_claims_at_once',
    60,
    { file: CLAIM, find: 'if (await isIncomplete(ctx, beat)) return closed(RESTORED)', replace: '' },
    { file: CLAIM, find: "if (standing === 'behind' || standing === 'joining') return closed(RESTORED)", replace: '' },
  ),
  mutant('standing_claims_are_not_told', 60, {
    file: STANDING,
    find: 'await desk.claimAgain(batch)\n    return',
    replace: 'return',
  }),
  mutant(
    'old_answers_cross_charges_off',
    120,
    {
      file: PENDING,
      find: 'const isOver = over.get(rid) === replay.recaptures()',
      replace: 'const isOver = over.has(rid)',
    },
    { file: PENDING, find: "if (state === 'pending' || isOld) {", replace: "if (state === 'pending') {" },
  ),
  mutant('restore_is_noticed_twice', 10, {
    file: 'control-plane/services/gate/gate-watch.ts',
    find: '(await noticeLowBeat(ctx, record, view)) || record.isRestoreNew',
    replace: 'record.isRestoreNew || (await noticeLowBeat(ctx, record, view))',
  }),
  mutant('lost_calls_are_not_captured_again', 10, {
    file: RECOVER,
    find: 'if (membership.restore !== undefined) await journal.recapture(membership.restore)',
    replace: '',
  }),
  mutant('only_calls_after_the_restore_are_captured_again', 10, {
    file: RECAPTURE,
    find: 'await captureAgain(parts, directory, step.to)',
    replace: 'await captureAgain(parts, directory, step.at)',
  }),
  mutant('lost_calls_of_the_dead_are_passed_over', 20, {
    file: RECAPTURE,
    find: 'await captureAgain(parts, left, restore.to)',
    replace: '',
  }),
  mutant(
    'lost_calls_are_not_in_the_new_gate',
    10,
    { file: RECOVER, find: 'await bringCaptures(ports, registrar)\n', replace: '' },
    {
      file: RECOVER,
      find: "if (!(await isInPhase(connection, membership, 'register'))) await bringCaptures(ports, registrar, { membership })",
      replace: '',
    },
  ),
  mutant('restored_gate_waits_for_nobody', 20, {
    file: REBUILD,
    find: 'waitMs: restore === undefined ? READY_WAIT_MS : RESTORED_WAIT_MS,',
    replace: 'waitMs: restore === undefined ? READY_WAIT_MS : 0,',
  }),
  mutant('restored_gate_is_not_rebuilt', 10, {
    file: 'control-plane/services/gate/gate-watch.ts',
    find: '(await noticeLowBeat(ctx, record, view)) || record.isRestoreNew',
    replace: '(await noticeLowBeat(ctx, record, view)) && record.epoch < 0',
  }),
  mutant(
    'lost_calls_are_sought_without_a_margin',
    20,
    {
      file: RESTORES,
      find: 'await ledger.markRestored(beatAt - CLOCK_MARGIN_MS)',
      replace: 'await ledger.markRestored(beatAt)',
    },
    {
      file: RESTORES,
      find: 'const restoredTo = record.beatAt - CLOCK_MARGIN_MS',
      replace: 'const restoredTo = record.beatAt',
    },
  ),
]
