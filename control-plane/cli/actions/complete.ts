import type { Action } from '#control-plane/cli/command.ts'
import { completionScript, SHELLS } from '#control-plane/cli/completion.ts'
import { usageError } from '#control-plane/cli/failure.ts'
import { text } from '#control-plane/cli/output.ts'
import { argument } from '#control-plane/cli/read-options.ts'

export const printCompletion: Action = async ({ table }, given) => {
  const shell = SHELLS.find((known) => known === argument(given))
  if (shell === undefined) throw usageError(`Known shells: ${SHELLS.join(', ')}.`)
  const script = completionScript(shell, table)
  return { json: { shell, script }, blocks: [text(script.trimEnd())] }
}
