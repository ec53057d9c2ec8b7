import { closeSync, fdatasyncSync, mkdtempSync, openSync, rmSync, writeSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'

const SYNCS = 300
const RECORD = Buffer.alloc(2_048, 1)

/**
 * Measures the time in which this disk syncs one small write. Every paid call waits for the write of its capture and
 * for those of others. `TMPDIR` chooses the disk of the bench.
 */
export function measureDisk(): { figure: string; beside: string } {
  const folder = mkdtempSync(join(tmpdir(), 'market-disk-'))
  const file = openSync(join(folder, 'log'), 'a')
  const times: number[] = []
  for (let round = 0; round < SYNCS; round++) {
    const start = performance.now()
    writeSync(file, RECORD)
    fdatasyncSync(file)
    times.push(performance.now() - start)
  }
  closeSync(file)
  rmSync(folder, { recursive: true })
  const sorted = times.sort((left, right) => left - right)
  const at = (share: number) => `${(sorted[Math.floor((SYNCS - 1) * share)] ?? 0).toFixed(2)} ms`
  return { figure: `p50 ${at(0.5)}, p99 ${at(0.99)}`, beside: tmpdir() }
}
