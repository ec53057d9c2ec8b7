import { execFile } from 'node:child_process'
import { mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { dirname, join } from 'node:path'
import { promisify } from 'node:util'
import { afterAll, describe, expect, it } from 'vitest'
import { z } from 'zod'
import { findTool } from '#dev/services/find-tool.ts'

const run = promisify(execFile)
const folder = mkdtempSync(join(tmpdir(), 'market-tools-'))
afterAll(() => rmSync(folder, { recursive: true, force: true }))
const Found = z.object({
  command: z.string().optional(),
  words: z.array(z.string()).optional(),
  error: z.string().optional(),
  told: z.array(z.string()),
})

/** Substitutes for programs of the distribution. They record their calls. */
const NOTE = 'echo "$(basename "$0") $*" >> "$CALLS"'
const PACKAGERS = {
  'apt-get': `case "$*" in *download*) touch some.deb;; esac`,
  'apt-cache': 'printf "rare-package\\n  Depends: librare1\\n  Depends: debconf\\n"',
  'dpkg-deb': `mkdir -p "$3/usr/bin"; printf '#!/bin/sh\\nexit 1\\n' > "$3/usr/bin/rare-tool"; chmod +x "$3/usr/bin/rare-tool"`,
}

function writeProgram(file: string, text: string): void {
  mkdirSync(dirname(file), { recursive: true })
  writeFileSync(file, `#!/bin/sh\n${NOTE}\n${text}\n`, { mode: 0o755 })
}

/** A system with some package tools, and a user with an empty cache. */
function createSystem(packagers: Partial<typeof PACKAGERS>, others = ['/bin']) {
  const root = mkdtempSync(join(folder, 'system-'))
  for (const [name, text] of Object.entries(packagers)) writeProgram(join(root, 'bin', name), text)
  const calls = join(root, 'calls')
  writeFileSync(calls, '')
  const env = {
    ...process.env,
    PATH: [join(root, 'bin'), ...others].join(':'),
    XDG_CACHE_HOME: join(root, 'cache'),
    CALLS: calls,
  }
  return {
    shelf: join(root, 'cache', 'inference-marketplace', 'rare'),
    calls: () => readFileSync(calls, 'utf8').trim().split('\n'),
    async find() {
      const args = ['--import', 'tsx', 'test/dev/fixtures/find-tool.ts']
      const { stdout } = await run(process.execPath, args, { env })
      return Found.parse(JSON.parse(stdout))
    },
  }
}

describe('a tool of the distribution', () => {
  it('is taken from the PATH where it exists', async () => {
    const tool = { programs: ['sh'], packages: ['no-such-package'], shelf: 'sh' } as const
    const path = `${join(folder, 'nothing')}:/bin`
    expect(await findTool(tool, { path })).toMatchObject({ command: '/bin/sh', words: ['/bin/sh'] })
  })

  it('is otherwise copied for the user only, with the libraries that the system lacks, and once', async () => {
    const system = createSystem(PACKAGERS)
    const first = await system.find()
    const command = join(system.shelf, 'usr', 'bin', 'rare-tool')
    expect(first.command).toBe(command)
    expect(first.words?.at(0)).toBe('/usr/bin/env')
    expect(first.words?.at(1)).toContain(`LD_LIBRARY_PATH=${system.shelf}`)
    expect(first.words?.at(2)).toBe(command)
    expect(first.told).toEqual(['fetching a private copy of rare-tool'])
    const download = system.calls().find((call) => call.includes(' download '))
    expect(download).toMatch(/ -o Dir::State=\S+ .* download rare-package librare1$/)
    const asked = system.calls().length
    expect(await system.find()).toEqual({ ...first, told: [] })
    expect(system.calls()).toHaveLength(asked)
  })

  it('is reported as missing, with the reason', async () => {
    expect(await createSystem({}, []).find()).toMatchObject({
      error: 'rare-tool is not on the PATH, and this system has no Debian packages',
    })
    expect(await createSystem({ ...PACKAGERS, 'apt-get': 'exit 100' }).find()).toMatchObject({
      error: 'rare-tool is not on the PATH, and its package could not be fetched',
    })
    expect(await createSystem({ ...PACKAGERS, 'dpkg-deb': 'exit 0' }).find()).toMatchObject({
      error: 'rare-tool is not on the PATH, and its package does not start here',
    })
  })
})
