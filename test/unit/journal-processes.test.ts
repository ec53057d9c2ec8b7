import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { readFileSync } from 'node:fs'
import { Writable } from 'node:stream'
import { describe, expect, it } from 'vitest'
import { kernelProcesses } from '#data-plane/journal/processes.ts'
import { until } from '#test/support/run/until.ts'

describe('the owner of a journal', () => {
  it('lives while its process does; a later process with the same pid, and a process of another machine, is not the owner', async () => {
    const own = await kernelProcesses.own()
    expect(own.startTicks).toMatch(/^\d+$/)
    expect(await kernelProcesses.isAlive(own)).toBe(true)
    expect(await kernelProcesses.isAlive({ ...own, startTicks: '1' })).toBe(false)
    expect(await kernelProcesses.isAlive({ ...own, host: `not-${own.host}` })).toBeUndefined()
  })

  it('is dead although its parent has not reaped the process', async () => {
    // The shell becomes a program that reaps no child. The child may end only then.
    const parent = spawn('sh', ['-c', 'head -c 1 <&3 >&2 & echo $!; exec sleep 30'], {
      stdio: ['ignore', 'pipe', 'ignore', 'pipe'],
    })
    if (parent.stdout === null) throw new Error('no output')
    const [printed] = await once(parent.stdout, 'data')
    await until('the shell is replaced', 5_000, () => readFileSync(`/proc/${parent.pid}/comm`, 'utf8') === 'sleep\n')
    const release = parent.stdio[3]
    if (release instanceof Writable) release.end('x')
    const mark = { pid: Number(printed), startTicks: null, host: (await kernelProcesses.own()).host }
    await until('the child counts as dead', 5_000, async () => (await kernelProcesses.isAlive(mark)) === false)
    expect(process.kill(mark.pid, 0)).toBe(true)
    parent.kill('SIGKILL')
    await once(parent, 'exit')
    await until('it is gone', 5_000, async () => (await kernelProcesses.isAlive(mark)) === false)
  })
})
