import type { Action } from '../command.ts'
import { completionScript, SHELLS } from '../completion.ts'
import { usageError } from '../failure.ts'
import { text } from '../output.ts'
import { argument } from '../read-options.ts'

export const printCompletion: Action = async (_cli, given) => {
  const shell = SHELLS.find((known) => known === argument(given))
  if (shell === undefined) throw usageError(`Known shells: ${SHELLS.join(', ')}.`)
  const script = completionScript(shell)
  return { json: { shell, script }, blocks: [text(script.trimEnd())] }
}
