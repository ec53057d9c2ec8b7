import type { Cli } from './command.ts'
import { CommandFailure, usageError } from './failure.ts'

/** Asks before a change. Without a terminal nobody can be asked, and `--yes` is needed. */
export async function confirm({ terminal }: Cli, question: string, isConfirmed: boolean): Promise<void> {
  if (isConfirmed) return
  if (!terminal.canAsk) throw usageError('Nobody can be asked here: say --yes to go on.')
  const answer = await terminal.ask(`${question} [y/N] `)
  if (!/^y(es)?$/i.test(answer.trim())) throw new CommandFailure('declined', 'Nothing was changed.')
}
