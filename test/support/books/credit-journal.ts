import type { JournalReplay, OpenJournal } from '#data-plane/journal/journal.ts'
import type { CreditClaim } from '#data-plane/payment.ts'
import { CREDIT_RAIL } from '#shared/contract/rails.ts'

/** The journal as the credit rail uses it. */
export type CreditJournal = Omit<OpenJournal, 'capture'> &
  JournalReplay & { capture(of: Pick<CreditClaim, 'rid' | 'account'>, event: string): void }

export function asCreditJournal(journal: OpenJournal): CreditJournal {
  const capture: CreditJournal['capture'] = (of, event) => journal.capture({ ...of, rail: CREDIT_RAIL }, event)
  return { ...journal, ...journal.replay(CREDIT_RAIL), capture, unpostedCount: journal.unpostedCount }
}
