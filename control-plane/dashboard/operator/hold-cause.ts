import { words } from '#control-plane/dashboard/data/format.ts'

/** The cause of a hold on all payouts in words. Other causes keep their code. */
export function holdCause(reason: string): string {
  const [kind, detail = ''] = reason.split(':')
  if (kind === 'invariant') return `The money checker found invariant ${detail} broken`
  return words(reason).replaceAll(':', ' ')
}
