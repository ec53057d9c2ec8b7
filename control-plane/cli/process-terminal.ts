import { Writable } from 'node:stream'
import { Secret } from '#shared/secret.ts'
import { usageError } from './failure.ts'
import type { Terminal } from './terminal.ts'

type TerminalOptions = { readonly allowsColor: boolean; readonly columns: number | undefined }

const STANDARD_COLUMNS = 80

/** Opens the terminal, pipe or file that this process was started with. */
export function openTerminal({ allowsColor, columns }: TerminalOptions): Terminal {
  const { stdin, stdout, stderr } = process
  const isOutTty = stdout.isTTY === true
  const interruption = new AbortController()
  // A second Ctrl-C ends the process at once.
  process.once('SIGINT', () => interruption.abort())
  // A reader of our answer may stop reading, as `head` does.
  stdout.on('error', () => process.exit(0))
  return {
    out: (text) => void stdout.write(text),
    err: (text) => void stderr.write(text),
    isOutTty,
    canAsk: stdin.isTTY === true && stderr.isTTY === true,
    looks: {
      width: isOutTty ? (columns ?? (stdout.columns || STANDARD_COLUMNS)) : undefined,
      hasColor: isOutTty && allowsColor,
    },
    interrupted: interruption.signal,
    async readInput(maxBytes) {
      const chunks: Buffer[] = []
      let size = 0
      for await (const chunk of stdin) {
        const part = Buffer.from(chunk)
        size += part.length
        if (size > maxBytes) throw usageError(`The input is longer than ${maxBytes} bytes.`)
        chunks.push(part)
      }
      return Buffer.concat(chunks).toString('utf8')
    },
    async ask(question) {
      const { createInterface } = await import('node:readline/promises')
      const lines = createInterface({ input: stdin, output: stderr })
      try {
        return await lines.question(question, { signal: interruption.signal })
      } finally {
        lines.close()
      }
    },
    async askSecret(question) {
      const { createInterface } = await import('node:readline/promises')
      // The terminal's own echo is off while a line is read. The reader's echo of the secret goes nowhere.
      const nowhere = new Writable({ write: (_chunk, _encoding, done) => done() })
      const lines = createInterface({ input: stdin, output: nowhere, terminal: true, historySize: 0 })
      try {
        const answer = lines.question('', { signal: interruption.signal })
        // The reader is up before the question is written, so an answer is never echoed.
        stderr.write(question)
        return new Secret(await answer)
      } finally {
        lines.close()
        stderr.write('\n')
      }
    },
  }
}
