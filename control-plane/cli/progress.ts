import type { Terminal } from './terminal.ts'

const EVERY_MS = 80
const BAR_CELLS = 24
const CLEAR = '\r\u001b[K'

/** Shows the progress of long work: one changing line on a terminal, elsewhere a line for each tenth. */
export type ProgressLine = {
  update(done: number, total: number | undefined): void
  /** Clears the line. */
  end(): void
}

type Options = { readonly label: string; readonly isQuiet: boolean; readonly now: () => number }

export function startProgress(terminal: Terminal, { label, isQuiet, now }: Options): ProgressLine {
  const isLive = terminal.canAsk && terminal.looks.hasColor
  let drawnAt = Number.NEGATIVE_INFINITY
  let tenth = -1
  let isDrawn = false
  return {
    update(done, total) {
      if (isQuiet) return
      if (isLive) {
        const isLast = done === total
        if (!isLast && now() - drawnAt < EVERY_MS) return
        drawnAt = now()
        isDrawn = true
        terminal.err(`${CLEAR}${label} ${bar(done, total)}`)
        return
      }
      const reached = total === undefined || total === 0 ? 0 : Math.floor((done * 10) / total)
      if (reached <= tenth || total === undefined) return
      tenth = reached
      terminal.err(`${label} ${done}/${total}\n`)
    },
    end() {
      if (isDrawn) terminal.err(CLEAR)
    },
  }
}

function bar(done: number, total: number | undefined): string {
  if (total === undefined || total === 0) return String(done)
  const full = Math.min(BAR_CELLS, Math.round((done / total) * BAR_CELLS))
  return `[${'='.repeat(full)}${' '.repeat(BAR_CELLS - full)}] ${done}/${total}`
}
