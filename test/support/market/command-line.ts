import { spawn } from 'node:child_process'
import { fileURLToPath } from 'node:url'
import { BUSY_MS } from '#test/support/run/until.ts'

const PROGRAM = fileURLToPath(new URL('../../../control-plane/cli/market.mjs', import.meta.url))

export type Ran = { readonly code: number | null; readonly out: string; readonly err: string }
export type Surroundings = {
  readonly env?: Readonly<Record<string, string>>
  /** The text on the standard input. */
  readonly input?: string
}

/** Runs the command line like a script, without a terminal. */
export function runMarket(args: readonly string[], surroundings: Surroundings = {}): Promise<Ran> {
  return run(process.execPath, [PROGRAM, ...args], { ...surroundings, answers: [] })
}

type InTerminal = Surroundings & {
  readonly columns?: number
  /** Texts to type, each when `when` appears in the output. */
  readonly answers?: readonly { readonly when: string; readonly type: string }[]
}

/** Runs the command line in a pseudo-terminal, like a person. Both streams arrive as one, `out`. */
export function runInTerminal(args: readonly string[], terminal: InTerminal = {}): Promise<Ran> {
  const words = [process.execPath, PROGRAM, ...args].map(quoted).join(' ')
  const command = `stty cols ${terminal.columns ?? 100} rows 40; exec ${words}`
  return run('script', ['-qefc', command, '/dev/null'], { ...terminal, answers: terminal.answers ?? [] })
}

function quoted(word: string): string {
  return `'${word.replaceAll("'", "'\\''")}'`
}

type Run = Surroundings & { readonly answers: readonly { readonly when: string; readonly type: string }[] }

function run(command: string, args: readonly string[], { env = {}, input, answers }: Run): Promise<Ran> {
  return new Promise((resolve, reject) => {
    const child = spawn(command, args, {
      // The test runner's own variables are left out, because some of them have a meaning for the program.
      env: { PATH: process.env['PATH'], HOME: process.env['HOME'], TERM: 'xterm-256color', ...env },
      stdio: ['pipe', 'pipe', 'pipe'],
    })
    const limit = setTimeout(() => child.kill('SIGKILL'), BUSY_MS)
    let out = ''
    let err = ''
    let answered = 0
    child.stdout.setEncoding('utf8').on('data', (text: string) => {
      out += text
      const next = answers[answered]
      if (next !== undefined && out.includes(next.when)) {
        answered += 1
        child.stdin.write(next.type)
      }
    })
    child.stderr.setEncoding('utf8').on('data', (text: string) => {
      err += text
    })
    child.stdin.on('error', () => undefined)
    child.once('error', reject)
    child.once('close', (code) => {
      clearTimeout(limit)
      resolve({ code, out, err })
    })
    if (answers.length === 0) child.stdin.end(input ?? '')
  })
}
