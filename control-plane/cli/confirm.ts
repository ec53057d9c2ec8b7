import type { Cli } from './command.ts'
import { CommandFailure, usageError } from './failure.ts'

/** Asks before a change. Without a terminal `--yes` is needed. */
export async function confirm({ terminal }: Cli, question: string, isConfirmed: boolean): Promise<void> {
  if (isConfirmed) return
  if (!terminal.canAsk) throw usageError('Not a terminal. Add --yes to confirm.')
  const answer = await terminal.ask(`${question} [y/N] `)
  if (!/^y(es)?$/i.test(answer.trim())) throw new CommandFailure('declined', 'Nothing changed.')
}
