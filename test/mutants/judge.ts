import type { Mutant, Noticer } from './mutant.ts'

/** The judgement of a mutant: whether it was noticed, and the test, the failed requirement or the seed that did. */
export type Verdict = { readonly is: 'caught' | 'MISSED' | 'NOT ENDED'; readonly by: string }
export type By<Kind extends Noticer['by']> = Extract<Noticer, { by: Kind }>

/** Tries mutants of one kind, one after the other. Close it at the end. */
export type Judge<Kind extends Noticer['by']> = {
  judge(mutant: Mutant, noticer: By<Kind>): Promise<Verdict>
  close(): Promise<void>
}
