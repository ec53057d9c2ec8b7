import type { LongMutant } from './long-mutants.ts'
import type { ProductMutant } from './product-mutants.ts'

const PENDING = 'data-plane/pipeline/pending-settlements.ts'
const STANDING = 'data-plane/pipeline/standing-claims.ts'
const CLAIM = 'control-plane/services/payments/claim-payment.ts'

const mutant = (name: string, mostSeeds: number, ...edits: ProductMutant['edits']): LongMutant => {
  return { name, edits, jobs: 0, restores: true, mostSeeds }
}

/** Mistakes around a ledger that goes back in time under payments by wallet. */
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
    file: 'control-plane/services/money/gate-watch.ts',
    find: '(await noticeLowBeat(ctx, record, view)) || record.isRestoreNew',
    replace: 'record.isRestoreNew || (await noticeLowBeat(ctx, record, view))',
  }),
]
