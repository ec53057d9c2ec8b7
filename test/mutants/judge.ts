import type { Mutant, Noticer } from './mutant.ts'

/** The judgement of a mutant: whether it was noticed, and by which test, requirement or seed. */
export type Verdict = { readonly is: 'caught' | 'MISSED' | 'NOT ENDED'; readonly by: string }
export type By<Kind extends Noticer['by']> = Extract<Noticer, { by: Kind }>

/** Tries mutants of one kind, one after the other. Close it at the end. */
export type Judge<Kind extends Noticer['by']> = {
  judge(mutant: Mutant, noticer: By<Kind>): Promise<Verdict>
  close(): Promise<void>
}
